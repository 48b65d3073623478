"""Files of this machine into a run."""

import os
import tempfile

from azureml._service import translated
from azureml.exceptions import UserErrorException


class UploadResult:
    """`artifacts` of what was uploaded, by name."""

    def __init__(self, names):
        self.artifacts = {name: name for name in names}
        self.artifact_content_information = {}


def send(run, files):
    """{name in the run: path or stream}; what the server has already is not sent again."""
    with tempfile.TemporaryDirectory(prefix="upload-") as folder:
        paths = {
            name: _as_file(source, os.path.join(folder, str(place)))
            for place, (name, source) in enumerate(files.items())
        }
        with translated(UserErrorException):
            run.upload_files(paths)
    return UploadResult(list(files))


def _as_file(source, target):
    if not hasattr(source, "read"):
        if not os.path.isfile(source):
            raise UserErrorException(f"There is no file {os.path.abspath(source)} to upload")
        return source
    content = source.read()
    with open(target, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return target
