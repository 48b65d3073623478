"""Environments: what a script needs, described once, built once for each content, cached."""

import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import quote

from . import _html
from ._http import Json, query_text
from ._job import texts
from ._named import Collection, NamedVersion
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .run import Run


class Environment(NamedVersion):
    """One version of an environment; from `ws.environments`."""

    @property
    def reference(self) -> str:
        """How a job names it: "tf:3", "curated/tensorflow"."""
        return str(self._document["reference"])

    @property
    def definition(self) -> Json:
        """{"python", "pip": [], "conda": [], "variables": {}, "container": {...}, ...}"""
        return dict(self._document["definition"])

    def _path(self, below: str = "") -> str:
        return self._workspace.path("/environments/" + quote(self.reference, safe="") + below)

    def locks(self) -> List[Json]:
        """What its builds resolved to, one for each platform, with the version of every package."""
        return self._workspace.transport.items(self._path("/locks"))

    def forget_locks(self) -> None:
        """Lets the next build resolve anew: packages without a pinned version move on."""
        self._workspace.transport.remove(self._path("/locks"))

    def clone(self, name: str, **changes: Any) -> "Environment":
        """Registers the same definition under another name, with what is given changed (as in `create`)."""
        return self._workspace.environments.create(name, definition=self.definition, **changes)

    def build(self, compute: Any = None) -> "Run":
        """Builds it now: a run that does nothing once its environment is there. Follow it to see the log."""
        return self._workspace.submit(
            command=["true"], source=None, environment=self, compute=compute, name=f"build {self.reference}"
        )

    def delete(self) -> None:
        self._workspace.transport.remove(self._path())

    def __repr__(self) -> str:
        return f"Environment({self.reference!r})"

    def _repr_html_(self) -> str:
        return environment_table([self])


def environment_table(environments: Sequence[Environment]) -> str:
    rows = []
    for environment in environments:
        about = environment.document["definition"]
        packages = [*about.get("conda", []), *about.get("pip", [])]
        shown = ", ".join(packages[:6]) + (" ..." if len(packages) > 6 else "")
        rows.append(
            (environment.reference, about.get("python") or "", shown, environment.document.get("description"))
        )
    return _html.table(("Environment", "Python", "Packages", ""), rows)


class Environments(Collection[Environment]):
    """The environments of a workspace.

    ws.environments["tf"], ws.environments["tf:2"], ws.environments["curated/tensorflow"]
    ws.environments.create("tf", pip=["tensorflow-cpu"], python="3.11")
    ws.environments.create("old", conda_file="environment.yml")
    """

    _kind = Environment
    _folder = "/environments"

    def list(self, curated: bool = False) -> "List[Environment]":
        """The newest version of each; with `curated`, those that Slipway brings."""
        query = {"curated": "true" if curated else None}
        items = self._workspace.transport.items(self._path(), query)
        return [Environment(self._workspace, item) for item in items]

    def versions(self, name: str) -> "List[Environment]":
        """Newest first."""
        items = self._workspace.transport.items(self._path("/" + quote(name, safe="") + "/versions"))
        return [Environment(self._workspace, item) for item in items]

    def create(
        self,
        name: str,
        pip: Optional[Sequence[str]] = None,
        conda: Optional[Sequence[str]] = None,
        python: Optional[str] = None,
        channels: Optional[Sequence[str]] = None,
        variables: Optional[Mapping[str, Any]] = None,
        image: Optional[str] = None,
        dockerfile: Optional[str] = None,
        requirements_file: Optional[str] = None,
        conda_file: Optional[str] = None,
        pyproject_file: Optional[str] = None,
        description: str = "",
        tags: Optional[Mapping[str, Any]] = None,
        definition: Optional[Json] = None,
    ) -> Environment:
        """Registers an environment. The same content under the same name is the same version; another one is the next.

        Packages are given as lists, or in files of the usual kinds. `image` or `dockerfile` (a path, or the text) run
        the job in a container. `definition` is a whole one to begin with.
        """
        wanted: Json = dict(definition or {})
        lists: Dict[str, Any] = {"pip": pip, "conda": conda, "conda_channels": channels}
        wanted.update(
            {key: [str(word) for word in value] for key, value in lists.items() if value is not None}
        )
        if python is not None:
            wanted["python"] = str(python)
        if variables is not None:
            wanted["variables"] = texts(variables)
        if image is not None and dockerfile is not None:
            raise InvalidArgumentError("an environment has an image or a Dockerfile, and not both")
        if image is not None:
            wanted["container"] = {"enabled": True, "image": image}
        if dockerfile is not None:
            wanted["container"] = {"enabled": True, "dockerfile": _text_of(dockerfile)}
        files = {"conda": conda_file, "requirements": requirements_file, "pyproject": pyproject_file}
        body: Json = {"name": name, "definition": wanted}
        body["files"] = {kind: _read(path) for kind, path in files.items() if path is not None}
        if description:
            body["description"] = description
        if tags:
            body["tags"] = texts(tags)
        return Environment(self._workspace, self._workspace.transport.create(self._path(), body))

    def diff(self, one: str, other: str) -> Json:
        """What changed between two: packages, Python, variables, container."""
        query = query_text({"from": one, "to": other})
        return self._workspace.transport.get(self._workspace.path("/environment-diff" + query))

    def __repr__(self) -> str:
        return f"Environments({[environment.reference for environment in self.list()]})"

    def _repr_html_(self) -> str:
        return environment_table(self.list())


def _read(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise InvalidArgumentError(f"cannot read {path}: {error.strerror}") from None


def _text_of(dockerfile: str) -> str:
    """A Dockerfile given by its path, or by its text, which has more than one line or begins with FROM."""
    if "\n" in dockerfile or dockerfile.upper().startswith("FROM "):
        return dockerfile
    return _read(dockerfile)
