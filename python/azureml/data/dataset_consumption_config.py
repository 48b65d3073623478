"""How a run takes a dataset."""

import uuid

from azureml.data.data_reference import check_identifier
from azureml.exceptions import UserErrorException

_MODES = ("direct", "mount", "download")


class DatasetConsumptionConfig:
    """A dataset with the name and the mode a run takes it by."""

    def __init__(self, name, dataset, mode="direct", path_on_compute=None):
        name = name or f"input__{uuid.uuid4().hex[:8]}"
        check_identifier(name, "an input")
        if str(mode).lower() not in _MODES:
            raise UserErrorException(f"A dataset's mode is {', '.join(_MODES)}, not '{mode}'")
        self.name = name
        self.dataset = dataset
        self.mode = str(mode).lower()
        self.path_on_compute = path_on_compute

    def as_mount(self, path_on_compute=None):
        return self._as("mount", path_on_compute)

    def as_download(self, path_on_compute=None):
        return self._as("download", path_on_compute)

    def as_hdfs(self):
        raise UserErrorException("There is no HDFS here; use as_mount() or as_download()")

    def _as(self, mode, path_on_compute):
        if self.dataset._is_tabular:
            raise UserErrorException(
                "A tabular dataset has rows, not files: it can be neither mounted nor downloaded"
            )
        return DatasetConsumptionConfig(self.name, self.dataset, mode, path_on_compute)
