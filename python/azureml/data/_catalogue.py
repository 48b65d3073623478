"""Datasets and datastores at the server."""

import os
import re
import subprocess
import tempfile

from azureml._service import translated
from azureml._support import warn_once
from azureml.exceptions import UserErrorException

ANONYMOUS = "anonymous-"
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$")
_MOUNT_SECONDS = 30


def check_dataset_name(name):
    if not isinstance(name, str) or not _NAME.match(name) or name.startswith(ANONYMOUS):
        raise UserErrorException(
            f"'{name}' is not a name for a dataset: letters, digits, '.', '_' and '-', beginning with a letter or digit"
        )


def any_workspace():
    """The workspace of the job this is, or the one that was last opened; data by address alone names none."""
    from azureml.core import workspace

    found = workspace.latest()
    if found is None:
        raise UserErrorException("Open the workspace first: Workspace.from_config(), or Workspace.get(name)")
    return found


# -- datasets -----------------------------------------------------------------------------------------------


def create(workspace, name, definition, description=None, tags=None):
    """The version of that definition; the same definition and files are the same version."""
    document = {"name": name, "definition": definition}
    if description:
        document["description"] = description
    if tags:
        document["tags"] = {str(key): str(value) for key, value in tags.items()}
    with translated(UserErrorException):
        return workspace._post("/data", document)


def version(workspace, name, number):
    return _found(workspace, f"{name}:{number}")


def newest(workspace, name):
    return _found(workspace, name)


def _found(workspace, reference):
    from slipway.errors import NotFoundError

    try:
        with translated(UserErrorException):
            return workspace._get("/data/{}", reference)
    except UserErrorException as error:
        if isinstance(error.inner_exception, NotFoundError):
            return None
        raise


def all_newest(workspace):
    with translated(UserErrorException):
        records = workspace._items("/data")
    return {r["name"]: dataset_of(workspace, r) for r in records if not r["name"].startswith(ANONYMOUS)}


def dataset_of(workspace, record):
    from azureml.data.file_dataset import FileDataset
    from azureml.data.tabular_dataset import TabularDataset

    kind = TabularDataset if record["definition"].get("table") else FileDataset
    return kind(record["definition"], workspace, record)


def change(workspace, record, wanted):
    with translated(UserErrorException):
        return workspace._patch("/data/{}", wanted, f"{record['name']}:{record['version']}")


def remove(workspace, name):
    with translated(UserErrorException):
        workspace._delete("/data/{}", name)


def _files(workspace, record):
    with translated(UserErrorException):
        return workspace._items("/data/{}/files", f"{record['name']}:{record['version']}")


def paths(workspace, record):
    return [file["path"] for file in _files(workspace, record)]


def download(workspace, record, folder):
    from slipway.data import Dataset

    with translated(UserErrorException):
        Dataset(workspace._slipway, record).download(folder)


class Mounted:
    """A mount that the program `slipway` keeps, or a folder that was downloaded."""

    def __init__(self, process=None):
        self._process = process

    def stop(self):
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_MOUNT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def mount(workspace, record, folder):
    """By FUSE where the machine has it, else by bringing the files here."""
    process, why = _start_mount(workspace, record, folder)
    if process is None:
        warn_once("mount", f"The dataset is downloaded instead of mounted: {why}")
        download(workspace, record, folder)
    return Mounted(process)


def _start_mount(workspace, record, folder):
    """(the process that keeps the mount, None), or (None, why there is none)."""
    from azureml.core.compute.compute import poll_until
    from slipway.errors import NotFoundError
    from slipway.program import find_program

    try:
        program = find_program()
    except NotFoundError as error:
        return None, error.message
    connection = workspace._api.connection
    environ = dict(os.environ, SLIPWAY_URL=connection.url, SLIPWAY_TOKEN=connection.token or "")
    reference = f"{record['name']}:{record['version']}"
    command = [program, "--workspace", connection.workspace, "data", "mount", reference, folder]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=said)
        poll_until(lambda: os.path.ismount(folder) or process.poll() is not None, _MOUNT_SECONDS, 0.02)
        if process.poll() is None and os.path.ismount(folder):
            return process, None
        Mounted(process).stop()
        said.seek(0)
        return None, said.read().decode("utf-8", "replace").strip() or "the mount did not come up in time"


# -- datastores ---------------------------------------------------------------------------------------------


def datastore(workspace, name=None):
    with translated(UserErrorException):
        return workspace._get("/datastores/{}", name or "default")


def datastores(workspace):
    with translated(UserErrorException):
        return workspace._items("/datastores")


def set_default_datastore(workspace, name):
    with translated(UserErrorException):
        workspace._post("/datastores/{}/default", {}, name)


def _slipway_store(store):
    from slipway.datastores import Datastore

    return Datastore(store.workspace._slipway, store._record)


def _stored(store, prefix):
    with translated(UserErrorException):
        found = _slipway_store(store).files(prefix)
    below = prefix + "/" if prefix else ""
    return [file for file in found if not prefix or file.path == prefix or file.path.startswith(below)]


def stored_paths(store, prefix):
    return {file.path for file in _stored(store, prefix)}


def upload(store, files):
    """{path in the datastore: path here}; replaces what is there."""
    paths = {path: os.path.realpath(local) for path, local in files.items()}
    if paths:
        with translated(UserErrorException):
            _slipway_store(store).upload_files(paths, existing="replace")


def download_stored(store, folder, prefix, overwrite):
    """How many files were brought here; ones that are there already are left unless `overwrite`."""
    wanted = [file.path for file in _stored(store, prefix)]
    if not overwrite:
        wanted = [path for path in wanted if not os.path.exists(os.path.join(folder, path))]
    with translated(UserErrorException):
        for path in wanted:
            _slipway_store(store).download(path, to=folder)
    return len(wanted)
