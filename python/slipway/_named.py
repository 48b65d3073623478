"""What the objects of a workspace have in common: a name, and the record the server keeps of them."""

from typing import TYPE_CHECKING

from ._http import Json

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
