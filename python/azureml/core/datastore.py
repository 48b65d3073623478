"""Datastores: where files of a workspace are."""

import os

from azureml._service import translated
from azureml._support import refused
from azureml.data import _catalogue
from azureml.exceptions import UserErrorException

_LATER = "Slipway's datastores are folders, http addresses and its own store; other kinds come with a later version"
DEFAULT_NAME = "workspaceblobstore"
FILE_NAME = "workspacefilestore"


class Datastore:
    """A place for files. `Datastore(workspace)` is the default one, `workspaceblobstore`."""

    def __init__(self, workspace, name=None, _record=None):
        self.workspace = workspace
        if _record is None:
            _record = _catalogue.datastore(workspace, name)
        self._record = _record

    @property
    def name(self):
        return self._record["name"]

    @property
    def datastore_type(self):
        return "AzureBlob" if self._record.get("kind") == "workspace" else "Custom"

    @property
    def is_default(self):
        return bool(self._record.get("default"))

    @property
    def container_name(self):
        return self.name

    @property
    def account_name(self):
        return "slipway"

    def __repr__(self):
        return str({"name": self.name, "datastore_type": self.datastore_type, "is_default": self.is_default})

    # -- finding --------------------------------------------------------------------------------------------

    @staticmethod
    def get(workspace, datastore_name):
        return Datastore(workspace, datastore_name)

    @staticmethod
    def get_default(workspace):
        return Datastore(workspace)

    @staticmethod
    def _all(workspace):
        return {
            record["name"]: Datastore(workspace, _record=record)
            for record in _catalogue.datastores(workspace)
        }

    def set_as_default(self):
        _catalogue.set_default_datastore(self.workspace, self.name)

    def unregister(self):
        if self.name in (DEFAULT_NAME, FILE_NAME):
            raise UserErrorException(
                f"The datastore '{self.name}' belongs to every workspace and cannot be removed"
            )
        with translated(UserErrorException):
            self.workspace._delete("/datastores/{}", self.name)

    # -- files ----------------------------------------------------------------------------------------------

    def upload(self, src_dir, target_path=None, overwrite=False, show_progress=True):
        if not os.path.isdir(src_dir):
            raise UserErrorException(f"There is no folder {os.path.abspath(src_dir)} to upload")
        files = {}
        for folder, _, names in sorted(os.walk(src_dir)):
            for name in sorted(names):
                full = os.path.join(folder, name)
                files[os.path.relpath(full, src_dir).replace(os.sep, "/")] = full
        return self._upload(files, target_path, overwrite, show_progress)

    def upload_files(self, files, relative_root=None, target_path=None, overwrite=False, show_progress=True):
        for path in files:
            if not os.path.isfile(path):
                raise UserErrorException(f"There is no file {os.path.abspath(path)} to upload")
        paths = [os.path.abspath(path) for path in files]
        root = (
            os.path.abspath(relative_root)
            if relative_root
            else os.path.commonpath([os.path.dirname(p) for p in paths])
        )
        named = {os.path.relpath(path, root).replace(os.sep, "/"): path for path in paths}
        outside = [name for name in named if name.startswith("../")]
        if outside:
            raise UserErrorException(f"{named[outside[0]]} is not below relative_root {root}")
        return self._upload(named, target_path, overwrite, show_progress)

    def _upload(self, files, target_path, overwrite, show_progress):
        prefix = (target_path or "").strip("/")
        wanted = {f"{prefix}/{name}" if prefix else name: path for name, path in files.items()}
        there = set() if overwrite else _catalogue.stored_paths(self, prefix)
        kept = [name for name in wanted if name in there]
        sent = {name: path for name, path in wanted.items() if name not in there}
        if show_progress:
            print(f"Uploading {len(sent)} of {len(wanted)} files to {self.name}")
            if kept:
                print(f"{len(kept)} are there already and are left as they are; overwrite=True replaces them")
        _catalogue.upload(self, sent)
        if show_progress:
            print(f"Uploaded {len(sent)} files")
        return self.path(prefix)

    def download(self, target_path, prefix=None, overwrite=False, show_progress=True):
        count = _catalogue.download_stored(self, target_path, (prefix or "").strip("/"), overwrite)
        if show_progress:
            print(f"Downloaded {count} files from {self.name}")
        return count

    # -- in runs --------------------------------------------------------------------------------------------

    def path(self, path=None, data_reference_name=None):
        from azureml.data.data_reference import DataReference

        return DataReference(self, data_reference_name, (path or "").strip("/") or None)

    def as_mount(self):
        return self.path().as_mount()

    def as_download(self, path_on_compute=None):
        return self.path().as_download(path_on_compute)

    def as_upload(self, path_on_compute=None):
        return self.path().as_upload(path_on_compute)

    # -- registering ----------------------------------------------------------------------------------------

    @staticmethod
    @refused(_LATER)
    def register_azure_blob_container(
        workspace,
        datastore_name,
        container_name,
        account_name,
        sas_token=None,
        account_key=None,
        protocol=None,
        endpoint=None,
        overwrite=False,
        create_if_not_exists=False,
        skip_validation=False,
        blob_cache_timeout=None,
        grant_workspace_access=False,
        subscription_id=None,
        resource_group=None,
    ):
        pass

    @staticmethod
    @refused(_LATER)
    def register_azure_file_share(
        workspace,
        datastore_name,
        file_share_name,
        account_name,
        sas_token=None,
        account_key=None,
        protocol=None,
        endpoint=None,
        overwrite=False,
        create_if_not_exists=False,
        skip_validation=False,
    ):
        pass

    @staticmethod
    @refused(_LATER)
    def register_azure_data_lake_gen2(
        workspace,
        datastore_name,
        filesystem,
        account_name,
        tenant_id=None,
        client_id=None,
        client_secret=None,
        resource_url=None,
        authority_url=None,
        protocol=None,
        endpoint=None,
        overwrite=False,
        subscription_id=None,
        resource_group=None,
        grant_workspace_access=False,
    ):
        pass

    @staticmethod
    @refused(_LATER)
    def register_azure_sql_database(
        workspace,
        datastore_name,
        server_name,
        database_name,
        tenant_id=None,
        client_id=None,
        client_secret=None,
    ):
        pass


AzureBlobDatastore = Datastore
