"""Runs: of this job, of the workspace, or offline."""

import os

from azureml._service import translated
from azureml._support import no_effect, refused, reject_unknown, without_effect
from azureml.core._run_files import RunFiles
from azureml.core._run_logging import RunLogging
from azureml.core._run_search import filtered, rehydrated
from azureml.core._run_states import RUNNING_STATES, RunStatus
from azureml.exceptions import RunEnvironmentException, UserErrorException

__all__ = ["Run", "RunStatus", "get_run"]

_SECRETS = "Slipway keeps no secrets for jobs; give them as environment variables of the run"

_current = None


class Run(RunLogging, RunFiles):
    """A run by its id. `Run.get_context()` gives the one this process is part of."""

    @without_effect(outputs="./outputs is kept when a job ends; upload_folder keeps others")
    def __init__(self, experiment, run_id, outputs=None, **kwargs):
        self._known = kwargs.pop("_slipway_run", None)
        self._in_job = kwargs.pop("_in_job", False)
        reject_unknown("Run", kwargs, {})
        if not run_id:
            raise UserErrorException("A run has an id; None was given")
        self._experiment = experiment
        self._id = str(run_id)
        from azureml.core._sinks import JobSink, SlipwaySink

        self._sink = JobSink() if self._in_job else SlipwaySink(lambda: self._slipway_run)

    # -- identity -------------------------------------------------------------------------------------------

    @property
    def _slipway_run(self):
        if self._known is None:
            with translated(UserErrorException):
                self._known = self.experiment.workspace._slipway.run(self._id)
        return self._known

    @property
    def _record(self):
        """The record as the server has it now; one of an ended run is asked for once."""
        run = self._slipway_run
        with translated():
            return run.refresh().document

    @property
    def id(self):
        return self._id

    @property
    def experiment(self):
        return self._experiment

    @property
    def number(self):
        return self._record.get("number") or self._record.get("seq") or 1

    @property
    def name(self):
        return self._record.get("display_name") or self._id

    @property
    def display_name(self):
        return self._record.get("display_name") or self._id

    @display_name.setter
    def display_name(self, value):
        with translated(UserErrorException):
            self._slipway_run.rename(value)

    @property
    def description(self):
        return self._record.get("description") or None

    @description.setter
    def description(self, value):
        self._change({"description": value or ""})

    @property
    def type(self):
        return "azureml.scriptrun" if self._record.get("job", {}).get("command") else None

    @property
    def parent(self):
        parent = self._record.get("parent")
        return None if parent is None else Run.get(self.experiment.workspace, parent)

    @property
    def status(self):
        return self.get_status()

    @property
    def tags(self):
        return self.get_tags()

    @property
    def properties(self):
        return self.get_properties()

    def __repr__(self):
        record = self._record
        kind = self.type
        return f"Run(Experiment: {self.experiment.name},\nId: {self._id},\nType: {kind},\nStatus: {record['state']})"

    __str__ = __repr__

    def _repr_html_(self):
        from azureml._html import table

        record = self._record
        return table(
            [
                ("Experiment", self.experiment.name),
                ("Id", self._id),
                ("Type", self.type),
                ("Status", record["state"]),
                ("Details Page", ("Link to Slipway", self.get_portal_url())),
                ("Docs Page", ("Link to Documentation", self.experiment.get_docs_url())),
            ]
        )

    def __eq__(self, other):
        return isinstance(other, Run) and other._id == self._id

    def __hash__(self):
        return hash(self._id)

    def get_portal_url(self):
        run = self._slipway_run
        return f"{run.transport.connection.url}/runs/{self._id}?workspace={self.experiment.workspace.name}"

    # -- finding --------------------------------------------------------------------------------------------

    @staticmethod
    def get(workspace, run_id):
        from azureml.core.experiment import Experiment

        with translated(UserErrorException):
            found = workspace._slipway.run(run_id)
        return rehydrated(Experiment(workspace, found.experiment, _create_in_cloud=False), found)

    @staticmethod
    def list(experiment, type=None, tags=None, properties=None, status=None, include_children=False,
             _rehydrate_runs=True):  # fmt: skip
        with translated():
            found = experiment.workspace._slipway.runs(experiment=experiment.name)
        return filtered(experiment, found, type, tags, properties, status, include_children)

    @staticmethod
    def list_by_compute(compute, type=None, tags=None, properties=None, status=None):
        from azureml.core.experiment import Experiment

        with translated():
            found = compute.workspace._slipway.runs()
        wanted = status or RUNNING_STATES
        runs = [run for run in found if run.job.get("compute") == compute.name]
        for run in runs:
            experiment = Experiment(compute.workspace, run.experiment, _create_in_cloud=False)
            yield from filtered(experiment, [run], type, tags, properties, wanted, True)

    @classmethod
    @without_effect(used_for_context_manager="nothing has to be begun for it")
    def get_context(cls, allow_offline=True, used_for_context_manager=False, **kwargs):
        return cls._get_context(allow_offline)

    @classmethod
    def _get_context(cls, allow_offline=True):
        global _current
        if os.environ.get("SLIPWAY_RUN_ID") and os.environ.get("SLIPWAY_URL"):
            if _current is None:
                from azureml.core import _job

                _current = _job.current_run()
            return _current
        if not allow_offline:
            raise RunEnvironmentException(
                "This process is no job of Slipway, so it has no run; submit the script, or allow an offline run"
            )
        from azureml.core._offline import OfflineRun

        return OfflineRun()

    @classmethod
    def get_submitted_run(cls, **kwargs):
        return cls._get_context(allow_offline=False)

    @staticmethod
    @no_effect("every kind of run is known here")
    def add_type_provider(runtype, run_factory):
        return None

    # -- state ----------------------------------------------------------------------------------------------

    def get_status(self):
        return self._record["state"]

    def get_detailed_status(self):
        record = self._record
        return {
            "status": record["state"],
            "details": record.get("waiting_because") or record.get("reason") or "",
        }

    def get_details(self):
        from azureml.core import _run_details

        return _run_details.details(self, self._record)

    def get_details_with_logs(self):
        details = self.get_details()
        logs = {}
        for name, log in self._logs().items():
            with translated():
                logs[name] = self._slipway_run.read_log(log.name, log.attempt, log.rank).decode(
                    "utf-8", "replace"
                )
        details["logFiles"] = logs
        return details

    @without_effect(wait_post_processing="a run has ended when its files are kept")
    def wait_for_completion(self, show_output=False, wait_post_processing=False, raise_on_error=True):
        from azureml.core import _run_watch

        return _run_watch.wait_for_completion(self, show_output, raise_on_error)

    def start(self):
        """A run is running when it is made."""

    def complete(self, _set_status=True):
        if self._in_job:
            return  # the job's exit code says how it ended
        with translated(UserErrorException):
            self._slipway_run.complete()

    def fail(self, error_details=None, error_code=None, _set_status=True):
        if self._in_job:
            print(f"Run {self._id}: {error_details or 'failed'}")
            return
        with translated(UserErrorException):
            self._slipway_run.fail(str(error_details or "the run said that it failed"), str(error_code or ""))

    def cancel(self):
        with translated(UserErrorException):
            self._slipway_run.cancel()

    def flush(self, timeout_seconds=300):
        with translated():
            self._sink.flush(timeout_seconds)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self._in_job:
            return
        if kind is None:
            self.complete()
        else:
            self.fail(error_details=f"{kind.__name__}: {error}", error_code=kind.__name__)

    # -- tags and properties --------------------------------------------------------------------------------

    def _change(self, document):
        run = self._slipway_run
        with translated(UserErrorException):
            run._document = run.transport.call("PATCH", run.path(), document)

    def get_tags(self):
        return dict(self._record.get("tags") or {})

    def tag(self, key, value=None):
        self.set_tags({key: value})

    def set_tags(self, tags):
        self._change({"tags": {str(key): "" if value is None else str(value) for key, value in tags.items()}})

    def remove_tags(self, tags):
        names = [tags] if isinstance(tags, str) else list(tags)
        self._change({"tags": {str(name): None for name in names}})

    def get_properties(self):
        from azureml.core import _run_details

        return _run_details.properties(self._record)

    def add_properties(self, properties):
        self._change({"properties": {str(key): str(value) for key, value in properties.items()}})

    # -- children -------------------------------------------------------------------------------------------

    def child_run(self, name=None, run_id=None, outputs=None):
        from azureml.core import _children

        return _children.begin(self, [{"display_name": name or ""}])[0]

    def create_children(self, count=None, tag_key=None, tag_values=None):
        from azureml.core import _children

        if (count is None) == (tag_key is None or tag_values is None):
            raise UserErrorException("Give count, or tag_key with tag_values, not both")
        if count is not None:
            return _children.begin(self, [{} for _ in range(int(count))])
        return _children.begin(self, [{"tags": {tag_key: str(value)}} for value in tag_values])

    def get_children(
        self, recursive=False, tags=None, properties=None, type=None, status=None, _rehydrate_runs=True
    ):
        from azureml.core import _children

        found = _children.of(self, recursive)
        return filtered(self.experiment, found, type, tags, properties, status, True)

    def submit_child(self, config, tags=None, **kwargs):
        from azureml.core import _submission

        return _submission.submit(self.experiment, config, tags, kwargs, parent=self)

    # -- source, environment, models ------------------------------------------------------------------------

    def get_snapshot_id(self):
        return self._record.get("job", {}).get("snapshot") or None

    def restore_snapshot(self, snapshot_id=None, path=None):
        from azureml.core import _snapshots

        return _snapshots.restore(self, snapshot_id, path)

    def take_snapshot(self, file_or_folder_path):
        with translated(UserErrorException):
            return self.experiment.workspace._slipway.send_folder(file_or_folder_path)

    def get_environment(self):
        from azureml.core import _environments

        return _environments.of_run(self)

    def register_model(
        self,
        model_name,
        model_path=None,
        tags=None,
        properties=None,
        model_framework=None,
        model_framework_version=None,
        description=None,
        datasets=None,
        sample_input_dataset=None,
        sample_output_dataset=None,
        resource_configuration=None,
        **kwargs,
    ):
        from azureml.core import _models
        from azureml.core.model import Model

        reject_unknown("Run.register_model", kwargs, {})
        workspace = self.experiment.workspace
        document = _models.facts(
            workspace, model_name, tags, properties, description, datasets, model_framework, model_framework_version,
            sample_input_dataset, sample_output_dataset, resource_configuration)  # fmt: skip
        return Model(workspace, _record=_models.register_of_run(self, model_path or model_name, document))

    @refused(_SECRETS)
    def get_secret(self, name):
        pass

    @refused(_SECRETS)
    def get_secrets(self, secrets):
        pass

    @no_effect("Slipway removes what a run leaves on its node")
    def clean(self):
        return []


def get_run(experiment, run_id, rehydrate=True):
    return Run.get(experiment.workspace, run_id)
