"""What file and tabular datasets have in common.

A dataset is a definition: paths and operations. The server resolves it to a version, which is how a path that yields no
file is found at once. One that was not registered has a name made from its definition, so that the same one is the same
version.
"""

import copy
import hashlib
import json

from azureml.data import _catalogue
from azureml.data.dataset_consumption_config import DatasetConsumptionConfig
from azureml.exceptions import UserErrorException


class AbstractDataset:
    """A version of data, known to the server or about to be."""

    _is_tabular = False

    def __init__(self, definition, workspace=None, record=None):
        self._definition = definition
        self._workspace = workspace
        self._record = record  # of the registered version, or None

    # -- the version at the server --------------------------------------------------------------------------

    def _anonymous_name(self):
        text = json.dumps(self._definition, sort_keys=True)
        return _catalogue.ANONYMOUS + hashlib.sha256(text.encode()).hexdigest()[:16]

    def _resolved(self, workspace=None):
        """The version's record; makes the anonymous version where there is none."""
        workspace = workspace or self._workspace or _catalogue.any_workspace()
        if self._record is None or (self._workspace is not None and workspace.name != self._workspace.name):
            record = _catalogue.create(workspace, self._anonymous_name(), self._definition)
            self._workspace, self._record = workspace, record
        return self._record

    def _reference(self, workspace):
        record = self._resolved(workspace)
        return f"{record['name']}:{record['version']}"

    def _derived(self, operation):
        definition = copy.deepcopy(self._definition)
        definition.setdefault("operations", []).append(operation)
        return type(self)(definition, self._workspace)

    # -- what it is -----------------------------------------------------------------------------------------

    @property
    def _registered(self):
        return self._record is not None and not self._record["name"].startswith(_catalogue.ANONYMOUS)

    @property
    def id(self):
        record = self._resolved()
        return f"{record['name']}:{record['version']}"

    @property
    def name(self):
        return self._record["name"] if self._registered else None

    @property
    def version(self):
        return self._record["version"] if self._registered else None

    @property
    def description(self):
        return (self._record.get("description") or None) if self._registered else None

    @property
    def tags(self):
        return dict(self._record.get("tags") or {}) if self._registered else {}

    @property
    def data_changed_time(self):
        from slipway._times import parse_time

        return parse_time(self._resolved().get("created_at"))

    def __repr__(self):
        shown = {"source": self._definition["paths"], "definition": self._definition.get("operations", [])}
        if self._registered:
            shown["registration"] = {
                "id": self.id,
                "name": self.name,
                "version": self.version,
                "description": self.description,
                "tags": self.tags,
            }
        return f"{type(self).__name__}\n{json.dumps(shown, indent=2)}"

    # -- the registry ---------------------------------------------------------------------------------------

    def register(self, workspace, name, description=None, tags=None, create_new_version=False):
        _catalogue.check_dataset_name(name)
        mine = self._resolved(workspace)
        before = _catalogue.newest(workspace, name)
        if before is not None and (before["definition"], before["manifest"]) == (
            mine["definition"],
            mine["manifest"],
        ):
            return type(self)(self._definition, workspace, before)
        if before is not None and not create_new_version:
            raise UserErrorException(
                f"There is a dataset '{name}' already, and it is another one; give create_new_version=True to register "
                "this as a new version of it"
            )
        record = _catalogue.create(workspace, name, self._definition, description, tags)
        return type(self)(self._definition, workspace, record)

    def update(self, description=None, tags=None):
        self._change({"description": description, "tags": tags})
        return self

    def add_tags(self, tags=None):
        self._change({"tags": tags or {}})
        return self.tags

    def remove_tags(self, tags=None):
        self._change({"tags": {name: None for name in tags or []}})
        return self.tags

    def _change(self, change):
        if not self._registered:
            raise UserErrorException(
                "A dataset has tags and a description once it is registered: dataset.register(...)"
            )
        change = {key: value for key, value in change.items() if value is not None}
        self._record = _catalogue.change(self._workspace, self._record, change)

    def unregister_all_versions(self):
        if not self._registered:
            raise UserErrorException("This dataset is not registered")
        _catalogue.remove(self._workspace, self._record["name"])
        self._record = None

    def as_named_input(self, name):
        return DatasetConsumptionConfig(name, self)

    @staticmethod
    def get_by_name(workspace, name, version="latest", **kwargs):
        from azureml.core.dataset import Dataset

        return Dataset.get_by_name(workspace, name, version)

    @staticmethod
    def get_by_id(workspace, id, **kwargs):
        from azureml.core.dataset import Dataset

        return Dataset.get_by_id(workspace, id)

    @staticmethod
    def get_all(workspace):
        from azureml.core.dataset import Dataset

        return Dataset.get_all(workspace)
