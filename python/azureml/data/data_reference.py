"""The older way to give a run a path of a datastore."""

import re

from azureml.exceptions import UserErrorException


class DataReference:
    """`str()` of it is the variable that holds the path in the run."""

    def __init__(
        self,
        datastore,
        data_reference_name=None,
        path_on_datastore=None,
        mode="mount",
        path_on_compute=None,
        overwrite=False,
    ):
        if mode not in ("mount", "download", "upload"):
            raise UserErrorException(f"A data reference's mode is mount, download or upload, not '{mode}'")
        self.datastore = datastore
        self.data_reference_name = data_reference_name or self._made_name(path_on_datastore)
        self.path_on_datastore = path_on_datastore
        self.mode = mode
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite

    def _made_name(self, path):
        import hashlib

        name = getattr(self.datastore, "name", "datastore")
        if not path:
            return name
        return f"{name}_{hashlib.sha256(path.encode()).hexdigest()[:8]}"

    def __str__(self):
        return f"$AZUREML_DATAREFERENCE_{self.data_reference_name}"

    __repr__ = __str__

    def _changed(self, **values):
        made = DataReference(
            self.datastore,
            self.data_reference_name,
            self.path_on_datastore,
            self.mode,
            self.path_on_compute,
            self.overwrite,
        )
        for name, value in values.items():
            setattr(made, name, value)
        return made

    def as_mount(self):
        return self._changed(mode="mount")

    def as_download(self, path_on_compute=None, overwrite=False):
        return self._changed(mode="download", path_on_compute=path_on_compute, overwrite=overwrite)

    def as_upload(self, path_on_compute=None, overwrite=False):
        return self._changed(mode="upload", path_on_compute=path_on_compute, overwrite=overwrite)

    def path(self, path=None, data_reference_name=None):
        joined = "/".join(piece.strip("/") for piece in (self.path_on_datastore or "", path or "") if piece)
        made = self._changed(path_on_datastore=joined)
        made.data_reference_name = data_reference_name or made._made_name(joined)
        return made

    def to_config(self):
        from azureml.core.runconfig import DataReferenceConfiguration

        made = DataReferenceConfiguration(
            self.datastore.name, self.mode, self.path_on_datastore, self.path_on_compute, self.overwrite
        )
        made._datastore = self.datastore
        return made


def check_identifier(name, what):
    if not re.match(r"^[A-Za-z_][A-Za-z0-9_]{0,254}$", str(name)):
        raise UserErrorException(
            f"'{name}' is not a name for {what}: letters, digits and '_', not beginning with a digit, 255 at most"
        )
