"""Files of this machine into a run, by digest."""

import os
import tempfile


class UploadResult:
    """`artifacts` of what was uploaded, by name."""

    def __init__(self, names):
        self.artifacts = {name: name for name in names}
        self.artifact_content_information = {}


def send(run, files):
    """{name in the run: path or stream}; what the server has already is not sent again."""
    with tempfile.TemporaryDirectory(prefix="upload-") as folder:
        here = {
            name: os.path.realpath(_as_file(source, os.path.join(folder, str(place))))
            for place, (name, source) in enumerate(files.items())
        }
        run.upload_files(here)
    return UploadResult(list(files))


def _as_file(source, target):
    if not hasattr(source, "read"):
        if not os.path.isfile(source):
            from azureml.exceptions import UserErrorException

            raise UserErrorException(f"There is no file {os.path.abspath(source)} to upload")
        return source
    content = source.read()
    with open(target, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return target
