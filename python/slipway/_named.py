"""What the objects of a workspace have in common: a name, and the record the server keeps of them."""

from typing import TYPE_CHECKING, Generic, Iterator, List, Type, TypeVar
from urllib.parse import quote

from ._http import Json
from .errors import NotFoundError

if TYPE_CHECKING:
    from ._workspace import Workspace


class Named:
    """A named object of a workspace, as last seen."""

    def __init__(self, workspace: "Workspace", document: Json) -> None:
        self._workspace = workspace
        self._document = document

    @property
    def name(self) -> str:
        return str(self._document["name"])

    @property
    def document(self) -> Json:
        """The whole record, in the shape of api/openapi.yaml."""
        return self._document


class NamedVersion(Named):
    """One version of a named object."""

    @property
    def version(self) -> int:
        return int(self._document["version"])


Item = TypeVar("Item", bound=Named)


class Collection(Generic[Item]):
    """The named objects of one kind in a workspace: found by name, or by NAME:VERSION where they have versions."""

    _kind: Type[Item]
    _folder: str  # where they are in the HTTP API, below the workspace

    def __init__(self, workspace: "Workspace") -> None:
        self._workspace = workspace

    def _path(self, below: str = "") -> str:
        return self._workspace.path(self._folder + below)

    def __getitem__(self, reference: str) -> Item:
        path = self._path("/" + quote(reference, safe=""))
        return self._kind(self._workspace, self._workspace.transport.get(path))

    def __contains__(self, reference: object) -> bool:
        try:
            self[str(reference)]
        except NotFoundError:
            return False
        return True

    def __iter__(self) -> Iterator[Item]:
        return iter(self.list())

    def list(self) -> "List[Item]":
        return [self._kind(self._workspace, item) for item in self._workspace.transport.items(self._path())]
