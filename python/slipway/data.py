"""Datasets: files referred to without copying them, by name and version."""

import os
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)
from urllib.parse import quote

from . import _html
from ._http import Json, query_text
from ._job import Place, texts
from ._named import Collection, NamedVersion
from ._snapshot import size_text
from ._transfer import RemoteFile, download_files, read_into
from .datastores import FILES_AT_ONCE, DataFile

if TYPE_CHECKING:
    pass


class DataInput(Place):
    """A dataset as an input of a job; from `Dataset.mount`, `Dataset.download_on_node` and `Dataset.direct`."""

    kind = "inputs"

    def __init__(self, dataset: str, mode: str, path: str = "", verify: bool = True) -> None:
        self.dataset = dataset
        self.mode = mode
        self._path = path
        self._verify = verify

    @property
    def wish(self) -> str:  # type: ignore[override]
        return self.dataset.partition(":")[0]

    @property
    def document(self) -> Json:
        return {"dataset": self.dataset, "mode": self.mode, "path": self._path, "verify": self._verify}

    def __repr__(self) -> str:
        return f"DataInput({self.dataset!r}, {self.mode})"


class DataOutput(Place):
    """A folder that a job writes, kept in a datastore, and registered as a dataset when asked."""

    kind = "outputs"

    def __init__(
        self,
        datastore: str = "",
        path: str = "",
        mode: str = "upload",
        register_as: str = "",
        overwrite: bool = False,
    ) -> None:
        self._document: Json = {
            "datastore": datastore,
            "path": path,
            "mode": mode,
            "register_as": register_as,
            "overwrite": overwrite,
        }

    @property
    def wish(self) -> str:  # type: ignore[override]
        return str(self._document["register_as"] or "output")

    @property
    def document(self) -> Json:
        return dict(self._document)

    def __repr__(self) -> str:
        return f"DataOutput({self._document})"


def output(
    datastore: str = "", path: str = "", mode: str = "upload", register_as: str = "", overwrite: bool = False
) -> DataOutput:
    """A folder for a job to write: `ws.submit(..., outputs={"model": slipway.output(register_as="digits-model")})`.

    Left out, the datastore is the workspace's default and the path `dataset/{run-id}/{output-name}`.
    """
    return DataOutput(datastore, path, mode, register_as, overwrite)


class Dataset(NamedVersion):
    """One version of a dataset; from `ws.data("mnist")`."""

    @property
    def reference(self) -> str:
        """How a job names it: "mnist:2"."""
        return f"{self.name}:{self.version}"

    @property
    def tags(self) -> Dict[str, str]:
        return dict(self._document.get("tags", {}))

    def _path(self, below: str = "") -> str:
        return self._workspace.path("/data/" + quote(self.reference, safe="") + below)

    # -- for jobs -------------------------------------------------------------------------------------------

    def mount(self, path: str = "", verify: bool = True) -> DataInput:
        """As an input whose files appear in a folder and are fetched when they are read. `path` is where, relative to
        the working folder; left out, Slipway chooses. Without `verify`, content that has changed is used as it is."""
        return DataInput(self.reference, "mount", path, verify)

    def download_on_node(self, path: str = "", verify: bool = True) -> DataInput:
        """As an input whose files are all fetched before the job starts."""
        return DataInput(self.reference, "download", path, verify)

    def direct(self) -> DataInput:
        """As an input that is only named: the job gets the reference as it is."""
        return DataInput(self.reference, "direct")

    # -- here -----------------------------------------------------------------------------------------------

    def files(self) -> List[DataFile]:
        """Its files, at the paths they have below a mount."""
        items = self._workspace.transport.items(self._path("/files"), {"limit": FILES_AT_ONCE})
        return [DataFile(i["path"], int(i["size"]), i.get("digest")) for i in items]

    def download(self, to: str = ".", overwrite: bool = True) -> List[str]:
        """Brings all its files into a folder of this machine; gives their paths."""
        remote = [
            RemoteFile(f.path, self._path("/content") + query_text({"path": f.path}), f.size, f.digest or "")
            for f in self.files()
        ]
        return download_files(self._workspace.transport, remote, os.path.expanduser(to), overwrite)

    def read(self, path: str) -> bytes:
        """The content of one file."""
        pieces: List[bytes] = []

        def attempt(_: int) -> None:
            pieces.clear()
            target = self._path("/content") + query_text({"path": path})
            read_into(self._workspace.transport, target, 0, pieces.append)

        self._workspace.transport.repeat(attempt)
        return b"".join(pieces)

    def preview(self, rows: int = 10) -> Json:
        """The first rows of a table, or a summary of the files by type and size."""
        return self._workspace.transport.get(self._path("/preview") + query_text({"rows": rows}))

    def versions(self) -> "List[Dataset]":
        """Newest first."""
        path = self._workspace.path("/data/" + quote(self.name, safe="") + "/versions")
        return [Dataset(self._workspace, item) for item in self._workspace.transport.items(path)]

    def diff(self, other: "Dataset") -> Json:
        """Which files were added, removed or modified from this version to the other."""
        query = query_text({"from": self.reference, "to": other.reference})
        return self._workspace.transport.get(self._workspace.path("/data-diff" + query))

    def tag(self, tags: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        self._document = self._workspace.transport.call(
            "PATCH", self._path(), {"tags": texts({**(tags or {}), **more})}
        )

    def untag(self, *names: str) -> None:
        self._document = self._workspace.transport.call(
            "PATCH", self._path(), {"tags": {name: None for name in names}}
        )

    def describe(self, description: str) -> None:
        self._document = self._workspace.transport.call("PATCH", self._path(), {"description": description})

    def delete(self) -> None:
        """This version; the files themselves stay where they are."""
        self._workspace.transport.remove(self._path())

    # -- others made of it ----------------------------------------------------------------------------------

    def _derived(self, name: str, *operations: Json) -> "Dataset":
        definition = {"from": self.reference, "operations": list(operations)}
        return self._workspace.data.define(name, definition)

    def take(self, name: str, count: int) -> "Dataset":
        """Registers its first files as a dataset of its own."""
        return self._derived(name, {"op": "take", "count": count})

    def skip(self, name: str, count: int) -> "Dataset":
        """Registers all but its first files."""
        return self._derived(name, {"op": "skip", "count": count})

    def sample(self, name: str, fraction: float, seed: int = 0) -> "Dataset":
        """Registers a part of its files, chosen by chance; the same seed chooses the same."""
        return self._derived(name, {"op": "sample", "fraction": fraction, "seed": seed})

    def split(self, first: str, second: str, fraction: float, seed: int = 0) -> "Tuple[Dataset, Dataset]":
        """Registers two parts that have no file in common; the first has that fraction of them."""
        both = [
            self._derived(name, {"op": "split", "fraction": fraction, "seed": seed, "part": part})
            for name, part in ((first, "first"), (second, "second"))
        ]
        return both[0], both[1]

    def to_pandas(self) -> Any:
        """The rows of a tabular dataset as a DataFrame; needs pandas, and pyarrow for Parquet."""
        from ._tables import read_table

        return read_table(self)

    def __repr__(self) -> str:
        return f"Dataset({self.reference!r}, {self._document.get('files')} files)"

    def _repr_html_(self) -> str:
        return dataset_table([self])


def dataset_table(datasets: Sequence[Dataset]) -> str:
    rows = []
    for dataset in datasets:
        about = dataset.document
        rows.append((dataset.reference, about["files"], size_text(about["bytes"]), about.get("description")))
    return _html.table(("Dataset", "Files", "Size", ""), rows)


class Datasets(Collection[Dataset]):
    """The datasets of a workspace.

    ws.data("mnist"), ws.data("mnist", 2), ws.data["mnist:2"]
    ws.data.create("mnist", ["http://host/train-images.gz", "http://host/train-labels.gz"])
    ws.data.create("images", "images:train/**/*.jpg")       # of a datastore
    ws.data.upload("notes", "./folder")                     # copied to the workspace's own store
    """

    _kind = Dataset
    _folder = "/data"

    def __call__(self, name: str, version: Optional[int] = None) -> Dataset:
        return self[name if version is None else f"{name}:{version}"]

    def list(self) -> "List[Dataset]":
        """The newest version of each."""
        return [Dataset(self._workspace, item) for item in self._workspace.transport.items(self._path())]

    def create(
        self,
        name: str,
        paths: Union[str, Sequence[str]],
        description: str = "",
        tags: Optional[Mapping[str, Any]] = None,
        table: Optional[Json] = None,
    ) -> Dataset:
        """Registers files by reference: addresses, DATASTORE:PATH with `*` and `**`, folders. Paths that yield no file
        are an error that names them. The same files again are the same version; others are the next one.

        `table` says how rows come out of the files: {"format": "delimited", "parquet" or "json_lines", "keep": [...]}.
        """
        listed = [paths] if isinstance(paths, str) else [str(path) for path in paths]
        definition: Json = {"paths": listed, "kind": "file" if table is None else "table"}
        if table is not None:
            definition["table"] = dict(table)
        return self.define(name, definition, description, tags)

    def define(
        self, name: str, definition: Json, description: str = "", tags: Optional[Mapping[str, Any]] = None
    ) -> Dataset:
        """Registers a dataset from a whole definition (docs/data.md)."""
        body: Json = {"name": name, "definition": definition, "tags": texts(tags or {})}
        if description:
            body["description"] = description
        return Dataset(self._workspace, self._workspace.transport.create(self._path(), body))

    def upload(
        self,
        name: str,
        folder: str,
        path: str = "",
        description: str = "",
        tags: Optional[Mapping[str, Any]] = None,
    ) -> Dataset:
        """Copies a folder, or a file, to the workspace's own store and registers it."""
        store = self._workspace.datastores.default()
        target = path or f"uploads/{name}"
        store.upload(folder, target, existing="replace")
        return self.create(name, f"{store.name}:{target}", description, tags)

    def __repr__(self) -> str:
        return f"Datasets({[dataset.reference for dataset in self.list()]})"

    def _repr_html_(self) -> str:
        return dataset_table(self.list())
