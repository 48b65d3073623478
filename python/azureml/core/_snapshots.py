"""The source folder a run was submitted with."""

import io
import os
import zipfile

from azureml._service import translated
from azureml.exceptions import SnapshotException, UserErrorException


def restore(run, snapshot_id=None, path=None):
    """Writes the snapshot as a zip file below `path` and gives the zip's path, as the SDK does."""
    digest = snapshot_id or run.get_snapshot_id()
    if not digest:
        raise UserErrorException(f"Run {run.id} has no snapshot of a source folder")
    folder = os.path.abspath(path or ".")
    if not os.path.isdir(folder):
        raise UserErrorException(f"There is no folder {folder} for the snapshot")
    transport = run._slipway_run.transport
    base = transport.connection.in_workspace(f"/snapshots/{digest}")
    with translated(SnapshotException):
        manifest = transport.get(base)
        target = os.path.join(folder, f"{digest[:16]}.zip")
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in manifest["files"]:
                body = transport.send("GET", f"{base}/blobs/{file['digest']}").body if file["size"] else b""
                archive.writestr(file["path"], body)
    with open(target, "wb") as file:
        file.write(content.getvalue())
    return target
