"""The files of a run."""

import io
import os
import tempfile
from typing import Dict, List, Mapping, NamedTuple

from ._http import query_text
from ._record import RunRecord
from ._snapshot import Entry, hash_file
from ._transfer import RemoteFile, Uploader, check_path, download_files, read_into
from .errors import NotFoundError

FILES_AT_ONCE = 5000


class RunFile(NamedTuple):
    """A file that a run has left."""

    path: str
    size: int
    digest: str
    mode: int = 0o644


class RunFiles(RunRecord):
    def files(self, prefix: str = "") -> List[RunFile]:
        """What the run has left, by path: its ./outputs and whatever it kept."""
        items = self.transport.items(self.path("/files"), {"prefix": prefix})
        return [RunFile(i["path"], int(i["size"]), i["digest"], int(i.get("mode", 0o644))) for i in items]

    def read(self, path: str) -> bytes:
        """The content of one file."""
        found = io.BytesIO()
        target = self.path("/files/content") + query_text({"path": path})

        def attempt(_: int) -> None:
            found.seek(0)
            found.truncate()
            read_into(self.transport, target, 0, found.write)

        self.transport.repeat(attempt)
        return found.getvalue()

    def download(self, path: str = "", to: str = ".", overwrite: bool = True) -> str:
        """Brings a file, or all below a folder, here; gives where it lies then. Files keep their paths below `to`;
        ones that are there with the same content are left, and an interrupted download goes on where it stopped."""
        wanted = path.strip("/")
        files = [
            f for f in self.files(wanted) if not wanted or f.path == wanted or f.path.startswith(wanted + "/")
        ]
        if not files:
            raise NotFoundError(f"run {self.id} has left no file {path!r}", next="run.files() lists them")
        remote = [
            RemoteFile(
                f.path, self.path("/files/content") + query_text({"path": f.path}), f.size, f.digest, f.mode
            )
            for f in files
        ]
        download_files(self.transport, remote, to, overwrite)
        return os.path.join(to, wanted) if wanted else to

    def upload(self, file: str, path: str = "", overwrite: bool = False) -> str:
        """Adds a file to the run, under `path` or its own name; gives the path. A path that is taken by other content
        is a ConflictError unless `overwrite`."""
        return self.upload_files({path or os.path.basename(file): file}, overwrite)[0]

    def upload_folder(self, folder: str, prefix: str = "", overwrite: bool = False) -> List[str]:
        """Adds every file below a folder, at the same places below `prefix`."""
        names: Dict[str, str] = {}
        for here, _, files in os.walk(folder):
            for name in files:
                full = os.path.join(here, name)
                below = os.path.relpath(full, folder).replace(os.sep, "/")
                names["/".join(filter(None, (prefix.strip("/"), below)))] = full
        return self.upload_files(names, overwrite)

    def upload_files(self, files: Mapping[str, str], overwrite: bool = False) -> List[str]:
        """Path in the run -> file here."""
        entries: List[Entry] = []
        sources: Dict[str, str] = {}
        for path, file in files.items():
            size, digest = hash_file(os.fsencode(file))
            mode = 0o755 if os.access(file, os.X_OK) else 0o644
            entries.append(Entry(check_path(path), mode, size, digest))
            sources[path] = os.path.abspath(file)
        Uploader(self.transport, sources.__getitem__).send(entries)
        named = [dict(entry._asdict()) for entry in entries]
        for start in range(0, len(named), FILES_AT_ONCE):
            body = {"files": named[start : start + FILES_AT_ONCE], "replace": overwrite}
            self.transport.call("POST", self.path("/files"), body)
        return [entry.path for entry in entries]

    def upload_content(self, contents: Mapping[str, bytes], overwrite: bool = False) -> None:
        """Path in the run -> its bytes."""
        with tempfile.TemporaryDirectory(prefix="slipway-") as folder:
            files: Dict[str, str] = {}
            for number, (path, content) in enumerate(contents.items()):
                files[path] = os.path.join(folder, str(number))
                with open(files[path], "wb") as file:
                    file.write(content)
            self.upload_files(files, overwrite)
