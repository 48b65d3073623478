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
    from slipway._snapshot import Entry, hash_file
    from slipway._transfer import Uploader

    with tempfile.TemporaryDirectory(prefix="upload-") as folder:
        entries, listed = [], []
        for place, (name, source) in enumerate(files.items()):
            path = os.path.realpath(_as_file(source, os.path.join(folder, str(place))))
            size, digest = hash_file(os.fsencode(path))
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            # The uploader reads below one folder; the root holds whatever the user names.
            entries.append(Entry(path.lstrip("/"), mode, size, digest))
            listed.append({"path": name, "digest": digest, "size": size, "mode": mode})
        Uploader(run.transport, "/").send(entries)
        run.transport.create(run.path("/files"), {"files": listed})
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
