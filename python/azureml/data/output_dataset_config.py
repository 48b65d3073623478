"""Folders that a run writes and a datastore keeps."""

import uuid

from azureml._support import without_effect
from azureml.data.data_reference import check_identifier
from azureml.exceptions import UserErrorException


class OutputDatasetConfig:
    """The parent of the outputs."""

    def __init__(self, mode, name=None):
        self.name = name or f"output_{uuid.uuid4().hex[:8]}"
        check_identifier(self.name, "an output")
        self.mode = mode


class OutputFileDatasetConfig(OutputDatasetConfig):
    """By default below `dataset/{run-id}/{output-name}` in the default datastore."""

    @without_effect(partition_format="files keep the paths the run gave them")
    def __init__(self, name=None, destination=None, source=None, partition_format=None):
        super().__init__("mount", name)
        if destination is not None and not (isinstance(destination, (tuple, list)) and len(destination) == 2):
            raise UserErrorException("A destination is a datastore and a path: (datastore, 'path')")
        self.destination = destination
        self.source = source
        self._overwrite = False
        self._registered = None

    def _copy(self, **values):
        made = OutputFileDatasetConfig(self.name, self.destination, self.source)
        for name in ("mode", "_overwrite", "_registered"):
            setattr(made, name, values.get(name, getattr(self, name)))
        return made

    @without_effect(disable_metadata_cache="Slipway's mounts are always current")
    def as_mount(self, disable_metadata_cache=False):
        return self._copy(mode="mount")

    @without_effect(source_globs="all files below the folder are kept")
    def as_upload(self, overwrite=False, source_globs=None):
        return self._copy(mode="upload", _overwrite=overwrite)

    @without_effect(
        description="a dataset made by a run is described by the run", tags="tag the dataset once it is there"
    )
    def register_on_complete(self, name, description=None, tags=None):
        return self._copy(_registered=name)

    def as_input(self, name=None):
        raise UserErrorException(
            "An output becomes an input in pipelines only; register_on_complete makes it a dataset for other runs"
        )

    def _document(self):
        datastore, path = self.destination or (None, "")
        return {
            "datastore": getattr(datastore, "name", datastore) or "",
            "path": path or "",
            "mode": self.mode,
            "register_as": self._registered or "",
            "overwrite": bool(self._overwrite),
        }
