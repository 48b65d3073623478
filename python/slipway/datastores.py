"""Datastores: places where files are."""

import os
from typing import Any, List, Mapping, NamedTuple, Optional
from urllib.parse import quote

from . import _html
from ._http import query_text
from ._named import Collection, Named
from ._snapshot import Entry, hash_file, take_snapshot
from ._transfer import RemoteFile, Uploader, check_path, download_files
from .errors import InvalidArgumentError, NotFoundError

FILES_AT_ONCE = 5000


class DataFile(NamedTuple):
    """A file of a dataset or a datastore."""

    path: str
    size: int
    digest: Optional[str]


class Datastore(Named):
    """A place where files are: a folder, a web server, or the workspace's own store; from `ws.datastores`."""

    def _path(self, below: str = "") -> str:
        return self._workspace.path("/datastores/" + quote(self.name, safe="") + below)

    def files(self, prefix: str = "") -> List[DataFile]:
        items = self._workspace.transport.items(
            self._path("/files"), {"prefix": prefix, "limit": FILES_AT_ONCE}
        )
        return [DataFile(i["path"], int(i["size"]), i.get("digest")) for i in items]

    def upload(self, source: str, path: str = "", existing: str = "refuse") -> List[str]:
        """Copies a folder below `path`, or a file to it; gives the paths in the datastore. `existing` says what becomes
        of files that are there with other content: "refuse", "skip" or "replace"."""
        source = os.path.expanduser(source)
        if os.path.isdir(source):
            found = {entry.path: os.path.join(source, entry.path) for entry in take_snapshot(source).entries}
            names = {"/".join(filter(None, (path.strip("/"), below))): file for below, file in found.items()}
        elif os.path.isfile(source):
            names = {path.strip("/") or os.path.basename(source): source}
        else:
            raise InvalidArgumentError(f"there is no file or folder {source}")
        return self.upload_files(names, existing)

    def upload_files(self, files: Mapping[str, str], existing: str = "refuse") -> List[str]:
        """Path in the datastore -> file here."""
        if self._document["kind"] == "workspace":
            self._add_by_digest(files, existing)
        else:
            self._put_each(files, existing)
        return sorted(files)

    def _add_by_digest(self, names: Mapping[str, str], existing: str) -> None:
        entries = []
        for path, file in names.items():
            size, digest = hash_file(os.fsencode(file))
            entries.append(Entry(check_path(path), 0o644, size, digest))
        Uploader(self._workspace.transport, names.__getitem__).send(entries)
        listed = [{"path": e.path, "digest": e.digest, "size": e.size} for e in entries]
        for start in range(0, len(listed), FILES_AT_ONCE):
            body = {"files": listed[start : start + FILES_AT_ONCE], "existing": existing}
            self._workspace.transport.call("POST", self._path("/files"), body)

    def _put_each(self, names: Mapping[str, str], existing: str) -> None:
        there = {file.path for file in self.files()} if existing == "skip" else set()
        for path, file in names.items():
            if path in there:
                continue
            query = {"path": check_path(path), "overwrite": "true" if existing == "replace" else None}
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Length": str(os.path.getsize(file)),
            }

            def attempt(_: int, file: str = file, query: Any = query, headers: Any = headers) -> None:
                with open(file, "rb") as content:
                    target = self._path("/content") + query_text(query)
                    self._workspace.transport.exchange("PUT", target, content, headers)

            self._workspace.transport.repeat(attempt)

    def download(self, prefix: str = "", to: str = ".", overwrite: bool = True) -> List[str]:
        """Brings the files below a prefix here, at the same paths below `to`."""
        wanted = prefix.strip("/")
        files = [
            f for f in self.files(wanted) if not wanted or f.path == wanted or f.path.startswith(wanted + "/")
        ]
        if not files:
            raise NotFoundError(f"the datastore {self.name} has no file {prefix!r}")
        remote = [
            RemoteFile(f.path, self._path("/content") + query_text({"path": f.path}), f.size, f.digest or "")
            for f in files
        ]
        return download_files(self._workspace.transport, remote, os.path.expanduser(to), overwrite)

    def remove(self, path: str) -> None:
        """A file of the workspace's own store."""
        self._workspace.transport.remove(self._path("/files") + query_text({"path": path}))

    def make_default(self) -> "Datastore":
        self._document = self._workspace.transport.call("POST", self._path("/default"))
        return self

    def delete(self) -> None:
        """Forgets the datastore; what lies in it stays."""
        self._workspace.transport.remove(self._path())

    def __repr__(self) -> str:
        return f"Datastore({self.name!r}, {self._document['kind']})"


class Datastores(Collection[Datastore]):
    """The datastores of a workspace: `ws.datastores["images"]`, `ws.datastores.add("images", path="/srv/images")`."""

    _kind = Datastore
    _folder = "/datastores"

    def default(self) -> Datastore:
        """The one that is meant when none is named."""
        return next(store for store in self.list() if store.document["default"])

    def add(
        self,
        name: str,
        path: Optional[str] = None,
        url: Optional[str] = None,
        credentials: Optional[str] = None,
        description: str = "",
    ) -> Datastore:
        """A folder that the server can read, or a web server. Credentials are never shown again."""
        body = {
            "name": name,
            "path": path,
            "url": url,
            "credentials": credentials,
            "description": description or None,
        }
        made = {key: value for key, value in body.items() if value is not None}
        return Datastore(self._workspace, self._workspace.transport.create(self._path(), made))

    def __repr__(self) -> str:
        return f"Datastores({[store.name for store in self.list()]})"

    def _repr_html_(self) -> str:
        known = [store.document for store in self]
        rows = ((d["name"], d["kind"], d["location"], "default" if d["default"] else "") for d in known)
        return _html.table(("Datastore", "Kind", "Location", ""), rows)
