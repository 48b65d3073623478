"""What is said about a run after the fact, and the runs below it."""

import json
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence

from ._http import Json
from ._job import texts
from ._run_metrics import RunMetrics

if TYPE_CHECKING:
    from .models import Model
    from .run import Run, Runs

_TEXTS = ("tags", "properties")


class RunHistory(RunMetrics):
    def _change(self, changes: Json) -> None:
        self._document = self.transport.call("PATCH", self.path(), changes)

    @property
    def tags(self) -> Dict[str, str]:
        """A copy; `tag` and `untag` change them."""
        return dict(self.refresh()._document.get("tags", {}))

    def tag(self, tags: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        """Sets tags: `run.tag(owner="me")`, or `run.tag({"any name": 1})`."""
        self._change({"tags": texts({**(tags or {}), **more})})

    def untag(self, *names: str) -> None:
        """Removes tags."""
        self._change({"tags": {name: None for name in names}})

    @property
    def properties(self) -> Dict[str, str]:
        """A copy; `set_properties` adds to them."""
        return dict(self.refresh()._document.get("properties", {}))

    def set_properties(self, properties: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        """Sets properties, each once: another value for one that is set is a ConflictError."""
        self._change({"properties": texts({**(properties or {}), **more})})

    def rename(self, display_name: str) -> None:
        self._change({"display_name": display_name})

    @property
    def description(self) -> str:
        return str(self._document.get("description") or "")

    def describe(self, description: str) -> None:
        self._change({"description": description})

    # -- interactive runs -----------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """`job`, carried out by nodes, or `interactive`, kept by a program such as this one."""
        return str(self._document.get("type", "job"))

    def complete(self) -> "Run":
        """Ends an interactive run well, once all that was logged is stored."""
        self.flush()
        self._document = self.transport.call("POST", self.path("/complete"))
        return self._as_run()

    def fail(self, reason: str = "", code: str = "") -> "Run":
        """Ends an interactive run as failed."""
        self.flush()
        said = {key: value for key, value in (("reason", reason), ("code", code)) if value}
        self._document = self.transport.call("POST", self.path("/fail"), said)
        return self._as_run()

    def _as_run(self) -> "Run":
        from .run import Run

        assert isinstance(self, Run)
        return self

    def __enter__(self) -> "Run":
        return self._as_run()

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        """An interactive run ends with the block: completed, or failed with the exception's words."""
        if self.type != "interactive" or self.ended:
            return
        if error is None:
            self.complete()
        else:
            self.fail(f"{type(error).__name__}: {error}"[:16000])

    # -- models ---------------------------------------------------------------------------------------------

    def register_model(self, name: str, path: str = "outputs", **facts: Any) -> "Model":
        """Registers files that the run has kept, one or a folder, as the next version of a model. No byte moves.

        Facts: `framework` ("tensorflow", "keras", "onnx", "pytorch", "scikit-learn", "custom"), `framework_version`,
        `environment`, `description`, `tags`, `properties`, `datasets` (role -> dataset; the run's inputs are known),
        `sample_input` and `sample_output` (datasets), `cpus`, `memory`, `gpus` (what it needs when it is served),
        `trial=False` to leave out the trial load.

            model = run.register_model("digits", path="outputs/model", framework="tensorflow")
            model.wait_for_trial()["serves"]
        """
        from .models import new_model

        document = new_model(self._workspace, name, path=path, **facts)
        return self._workspace.models.create(document, self._as_run())

    def models(self) -> Json:
        """{"registered": [...], "used": [...]}: the models that came of this run and those it was given."""
        return self.transport.get(self.path("/models"))

    # -- children -------------------------------------------------------------------------------------------

    def child(self, name: str = "", tags: Optional[Mapping[str, Any]] = None) -> "Run":
        """Begins an interactive run below this one."""
        return self.begin_children([{"display_name": name, "tags": tags or {}}])[0]

    def begin_children(self, children: Sequence[Mapping[str, Any]]) -> "Runs":
        """Several at once, all or none: {"display_name", "description", "tags", "properties"} each."""
        wanted = []
        for child in children:
            pairs: Json = {key: texts(child[key]) for key in _TEXTS if child.get(key)}
            plain = {key: str(child[key]) for key in ("display_name", "description") if child.get(key)}
            wanted.append({**plain, **pairs})
        made = self.transport.create(self.path("/children"), {"children": wanted})
        return self._workspace.runs_of(made["items"])

    def submit_child(self, script: Optional[str] = None, **job: Any) -> "Run":
        """Submits a job below this run; takes what `Workspace.submit` takes."""
        job.setdefault("experiment", self.experiment)
        return self._workspace.submit(script, parent=self._as_run(), **job)

    def children(
        self,
        recursive: bool = False,
        state: Optional[str] = None,
        type: Optional[str] = None,
        tags: Optional[Mapping[str, Optional[str]]] = None,
        properties: Optional[Mapping[str, Optional[str]]] = None,
    ) -> "Runs":
        """The runs below this one, newest first; None in `tags` and `properties` means any value."""
        query: Json = {"recursive": "true" if recursive else None, "state": state, "type": type}
        query["tags"] = json.dumps(dict(tags)) if tags else None
        query["properties"] = json.dumps(dict(properties)) if properties else None
        return self._workspace.runs_of(self.transport.items(self.path("/children"), query))

    @property
    def parent(self) -> "Optional[Run]":
        """The run this one is a child of."""
        parent = self.refresh()._document.get("parent")
        return self._workspace.run(parent) if parent else None
