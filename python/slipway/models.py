"""Models: files that were registered under a name, in versions, with where they came from."""

import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import quote

from . import _html
from ._http import Json, query_text
from ._job import resources_of, texts
from ._named import Collection, NamedVersion
from ._snapshot import Entry, Snapshot, hash_file, size_text
from ._transfer import RemoteFile, download_files, send_snapshot
from .datastores import FILES_AT_ONCE, DataFile
from .errors import InvalidArgumentError, TimedOutError

if TYPE_CHECKING:
    from ._workspace import Workspace
    from .run import Run

TRIAL_PAUSE = 0.2


class Model(NamedVersion):
    """One version of a model; from `ws.models("digits")`."""

    @property
    def reference(self) -> str:
        """How a service or a job names it: "digits:3"."""
        return f"{self.name}:{self.version}"

    @property
    def framework(self) -> str:
        return str(self._document["framework"])

    @property
    def tags(self) -> Dict[str, str]:
        return dict(self._document.get("tags", {}))

    @property
    def properties(self) -> Dict[str, str]:
        return dict(self._document.get("properties", {}))

    def _path(self, below: str = "") -> str:
        return self._workspace.path("/models/" + quote(self.reference, safe="") + below)

    def refresh(self) -> "Model":
        """Asks the server for the record; gives the model itself."""
        self._document = self._workspace.transport.get(self._path())
        return self

    # -- does it serve --------------------------------------------------------------------------------------

    @property
    def trial(self) -> Json:
        """What the trial load came to: {"state", "serves", "reason", "signature", ...}."""
        if self._document["trial"]["state"] == "running":
            self.refresh()
        return dict(self._document["trial"])

    def wait_for_trial(self, timeout: float = 600) -> Json:
        """Waits until it is known whether the model serves; gives `trial`."""
        end = time.monotonic() + timeout
        while self.trial["state"] == "running":
            if time.monotonic() > end:
                raise TimedOutError(f"the trial load of {self.reference} did not end in {timeout:g} s")
            time.sleep(TRIAL_PAUSE)
        return self.trial

    def try_again(self) -> Json:
        """Loads it once more and asks it; gives `trial` when that has ended."""
        self._document = self._workspace.transport.call("POST", self._path("/trial"))
        return self.wait_for_trial()

    # -- where it comes from --------------------------------------------------------------------------------

    @property
    def run(self) -> "Optional[Run]":
        """The run whose files these are."""
        found = self._document.get("run")
        return self._workspace.run(found) if found else None

    @property
    def datasets(self) -> Dict[str, str]:
        """What it was made from: role -> NAME:VERSION."""
        return dict(self._document.get("datasets", {}))

    @property
    def services(self) -> List[str]:
        """The services that serve it."""
        return list(self.refresh()._document.get("services", []))

    def versions(self) -> "List[Model]":
        """Newest first."""
        path = self._workspace.path("/models/" + quote(self.name, safe="") + "/versions")
        return [Model(self._workspace, item) for item in self._workspace.transport.items(path)]

    def diff(self, other: "Model") -> Json:
        """Which files and facts differ from this version to the other."""
        query = query_text({"from": self.reference, "to": other.reference})
        return self._workspace.transport.get(self._workspace.path("/model-diff" + query))

    # -- its files ------------------------------------------------------------------------------------------

    def files(self) -> List[DataFile]:
        items = self._workspace.transport.items(self._path("/files"), {"limit": FILES_AT_ONCE})
        return [DataFile(i["path"], int(i["size"]), i["digest"]) for i in items]

    def download(self, to: str = ".", overwrite: bool = True) -> List[str]:
        """Brings its files into a folder of this machine; gives their paths."""
        remote = [
            RemoteFile(f.path, self._path("/content") + query_text({"path": f.path}), f.size, f.digest or "")
            for f in self.files()
        ]
        return download_files(self._workspace.transport, remote, os.path.expanduser(to), overwrite)

    # -- changes --------------------------------------------------------------------------------------------

    def change(self, **facts: Any) -> "Model":
        """Changes what is said about it: description, framework, framework_version, environment, resources,
        sample_input, sample_output, properties (new ones)."""
        self._document = self._workspace.transport.call("PATCH", self._path(), facts)
        return self

    def tag(self, tags: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        self.change(tags=texts({**(tags or {}), **more}))

    def untag(self, *names: str) -> None:
        self.change(tags={name: None for name in names})

    def delete(self) -> None:
        """This version; refused while a service uses it."""
        self._workspace.transport.remove(self._path())

    def __repr__(self) -> str:
        return f"Model({self.reference!r}, {self.framework})"

    def _repr_html_(self) -> str:
        return model_table([self])


def model_table(models: Sequence[Model]) -> str:
    rows = []
    for model in models:
        about = model.document
        rows.append(
            (
                model.reference,
                model.framework,
                about["files"],
                size_text(about["bytes"]),
                about["description"],
            )
        )
    return _html.table(("Model", "Framework", "Files", "Size", ""), rows)


class Models(Collection[Model]):
    """The models of a workspace.

    ws.models("digits"), ws.models("digits", 3), ws.models["digits:3"]
    ws.models.register("digits", "./digits.onnx", framework="onnx")
    """

    _kind = Model
    _folder = "/models"

    def __call__(self, name: str, version: Optional[int] = None) -> Model:
        return self[name if version is None else f"{name}:{version}"]

    def list(
        self,
        name: Optional[str] = None,
        framework: Optional[str] = None,
        run: Optional[str] = None,
        dataset: Optional[str] = None,
        tags: Optional[Mapping[str, Optional[str]]] = None,
        properties: Optional[Mapping[str, Optional[str]]] = None,
        latest: bool = True,
        limit: Optional[int] = None,
    ) -> "List[Model]":
        """The newest version of each model that fits, or with `latest=False` all of them; None in `tags` and
        `properties` means any value."""
        query: Json = {"name": name, "framework": framework, "run": run, "dataset": dataset}
        query["latest"] = "true" if latest else None
        query["tags"] = json.dumps(dict(tags)) if tags else None
        query["properties"] = json.dumps(dict(properties)) if properties else None
        items = self._workspace.transport.items(self._path(), query, limit)
        return [Model(self._workspace, item) for item in items]

    def register(self, name: str, path: str, **facts: Any) -> Model:
        """Registers a file or a folder of this machine as the next version; takes the facts of `Run.register_model`.

        ws.models.register("digits", "./digits.onnx", framework="onnx", tags={"stage": "trial"})
        """
        snapshot = send_files(self._workspace, path)
        return self.create(new_model(self._workspace, name, snapshot=snapshot, **facts))

    def create(self, document: Json, run: "Optional[Run]" = None) -> Model:
        """Registers what a whole document describes (NewModel in api/openapi.yaml)."""
        target = self._path() if run is None else run.path("/models")
        return Model(self._workspace, self._workspace.transport.create(target, document))

    def __repr__(self) -> str:
        return f"Models({[model.reference for model in self.list()]})"

    def _repr_html_(self) -> str:
        return model_table(self.list())


def send_files(workspace: "Workspace", path: str) -> str:
    """Makes the files of a model known to the server, all of them: rules about what a source leaves out do not apply.
    Their paths begin with the name of the file or folder. Gives the snapshot's id."""
    given = os.path.abspath(os.path.expanduser(path))
    above = os.path.dirname(given)
    if os.path.isfile(given):
        found = [given]
    elif os.path.isdir(given):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(given) for name in names]
    else:
        raise InvalidArgumentError(f"there is no file or folder {path}", next="name what is to be registered")
    entries = []
    for file in sorted(found):
        status = os.stat(file)
        if stat.S_ISREG(status.st_mode):
            size, digest = hash_file(os.path.realpath(file).encode())
            mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
            entries.append(Entry(os.path.relpath(file, above), mode, size, digest))
    if not entries:
        raise InvalidArgumentError(f"the folder {path} has no files", next="name one with a model in it")
    entries.sort(key=lambda entry: entry.path.encode())
    return send_snapshot(workspace.transport, above, Snapshot(entries, []))


def new_model(
    workspace: "Workspace",
    name: str,
    path: Optional[str] = None,
    snapshot: Optional[str] = None,
    framework: Optional[str] = None,
    framework_version: Optional[str] = None,
    environment: Any = None,
    description: str = "",
    tags: Optional[Mapping[str, Any]] = None,
    properties: Optional[Mapping[str, Any]] = None,
    datasets: Optional[Mapping[str, Any]] = None,
    sample_input: Any = None,
    sample_output: Any = None,
    cpus: Optional[float] = None,
    memory: Any = None,
    gpus: Optional[int] = None,
    trial: bool = True,
) -> Json:
    """The document that registers a model."""
    document: Json = {"name": name, "trial": trial}
    optional: Json = {
        "path": path,
        "snapshot": snapshot,
        "framework": framework,
        "framework_version": framework_version,
        "environment": getattr(environment, "reference", environment),
        "description": description or None,
        "tags": texts(tags) if tags else None,
        "properties": texts(properties) if properties else None,
        "datasets": {role: getattr(d, "reference", d) for role, d in datasets.items()} if datasets else None,
        "sample_input": sample_of(sample_input),
        "sample_output": sample_of(sample_output),
        "resources": resources_of(cpus, memory, gpus),
    }
    document.update((key, value) for key, value in optional.items() if value is not None)
    return document


def sample_of(sample: Any) -> Optional[Json]:
    """A dataset, by itself or by its reference."""
    return None if sample is None else {"dataset": str(getattr(sample, "reference", sample))}
