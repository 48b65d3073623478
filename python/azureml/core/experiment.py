"""Experiments: a name that gathers runs."""

from azureml._service import check_name, translated
from azureml._support import no_effect, reject_unknown
from azureml.exceptions import ExperimentNotFoundException, UserErrorException

_DOCS = "https://docs.microsoft.com/azure/machine-learning/"
_NO_TAGS = "experiments have a name and no tags; tag their runs"
_STAYS = "an experiment stays listed while it has runs"


class Experiment:
    """Comes to be with its first run."""

    def __init__(
        self,
        workspace,
        name,
        _skip_name_validation=False,
        _id=None,
        _archived_time=None,
        _create_in_cloud=True,
        _experiment_dto=None,
        **kwargs,
    ):
        reject_unknown("Experiment", kwargs, {})
        if not _skip_name_validation:
            check_experiment_name(name)
        self._workspace = workspace
        self._name = name

    def __repr__(self):
        return f"Experiment(Name: {self._name},\nWorkspace: {self._workspace.name})"

    def _repr_html_(self):
        from azureml._html import table

        return table(
            [
                ("Name", self._name),
                ("Workspace", self._workspace.name),
                ("Report Page", ("Link to Slipway", self.get_portal_url())),
                ("Docs Page", ("Link to Documentation", self.get_docs_url())),
            ]
        )

    def __eq__(self, other):
        return isinstance(other, Experiment) and (other._name, other._workspace.name) == (
            self._name,
            self._workspace.name,
        )

    def __hash__(self):
        return hash(self._name)

    # -- what it is -----------------------------------------------------------------------------------------

    @property
    def name(self):
        return self._name

    @property
    def id(self):
        return self._name

    @property
    def workspace(self):
        return self._workspace

    @property
    def workspace_object(self):
        return self._workspace

    @property
    def archived_time(self):
        return None

    @property
    def tags(self):
        return {}

    def get_docs_url(self):
        return _DOCS

    @staticmethod
    def get_runs_docs_url():
        return _DOCS

    def get_portal_url(self):
        return (
            f"{self._workspace._api.connection.url}/experiments/{self._name}?workspace={self._workspace.name}"
        )

    # -- runs -----------------------------------------------------------------------------------------------

    def submit(self, config, tags=None, **kwargs):
        from azureml.core import _submission

        return _submission.submit(self, config, tags, kwargs)

    def start_logging(self, *args, **kwargs):
        """Takes snapshot_directory (the working folder; None for none) and display_name."""
        from azureml.core import _children

        snapshot = kwargs.pop("snapshot_directory", ".")
        name = kwargs.pop("display_name", None)
        reject_unknown(
            "Experiment.start_logging", kwargs, {"outputs": "upload_folder keeps a folder with the run"}
        )
        return _children.start_logging(self, snapshot, name)

    def get_runs(self, type=None, tags=None, properties=None, include_children=False):
        from azureml.core.run import Run

        return Run.list(self, type=type, tags=tags, properties=properties, include_children=include_children)

    # -- finding --------------------------------------------------------------------------------------------

    @staticmethod
    def list(workspace, experiment_name=None, view_type="ActiveOnly", tags=None):
        with translated(UserErrorException):
            names = [item["name"] for item in workspace._items("/experiments")]
        wanted = [name for name in names if experiment_name in (None, name)]
        if view_type == "ArchivedOnly" or tags:
            wanted = []
        return [Experiment(workspace, name, _skip_name_validation=True) for name in wanted]

    @staticmethod
    def from_directory(path, auth=None):
        import os

        from azureml.core.workspace import Workspace

        return Experiment(Workspace.from_config(path), os.path.basename(os.path.abspath(path)))

    @staticmethod
    def delete(workspace, experiment_id):
        with translated(UserErrorException, missing=ExperimentNotFoundException):
            workspace._get("/experiments/{}", experiment_id)
            runs = workspace._slipway.runs(experiment=experiment_id)
        if runs:
            raise UserErrorException(
                f"The experiment '{experiment_id}' has {len(runs)} runs; an experiment with runs is not deleted"
            )

    @no_effect(_STAYS)
    def archive(self):
        return None

    @no_effect(_STAYS)
    def reactivate(self, new_name=None):
        return None

    def refresh(self):
        """It holds nothing that could be out of date."""

    @no_effect(_NO_TAGS)
    def tag(self, key, value=None):
        return None

    @no_effect(_NO_TAGS)
    def set_tags(self, tags):
        return None

    @no_effect(_NO_TAGS)
    def remove_tags(self, tags):
        return None

    @no_effect(_NO_TAGS)
    def add_properties(self, properties):
        return None


def check_experiment_name(name):
    check_name(
        name,
        "an experiment",
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$",
        "1 to 255 letters, digits, '.', '_' and '-', beginning with a letter or digit",
    )
