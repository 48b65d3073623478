"""An experiment: a name that gathers runs."""

from typing import TYPE_CHECKING, Any, List, Optional
from urllib.parse import quote

from . import _html
from ._http import Json
from .run import Run, Runs

if TYPE_CHECKING:
    from ._workspace import Workspace


class Experiment:
    """Comes to be with its first run; `ws.experiment("digits")` names one whether it has runs or not."""

    def __init__(self, workspace: "Workspace", name: str, document: Optional[Json] = None) -> None:
        self._workspace = workspace
        self.name = name
        self._document = document

    @property
    def document(self) -> Json:
        """{"name", "created_at", "runs", "last_run_at"}; NotFoundError before its first run."""
        if self._document is None:
            path = "/experiments/" + quote(self.name, safe="")
            self._document = self._workspace.transport.get(self._workspace.path(path))
        return self._document

    def runs(
        self, state: Optional[str] = None, tag: Optional[str] = None, limit: Optional[int] = None
    ) -> Runs:
        """Newest first."""
        return self._workspace.runs(experiment=self.name, state=state, tag=tag, limit=limit)

    def submit(self, script: Optional[str] = None, **job: Any) -> Run:
        """As `Workspace.submit`, for this experiment."""
        return self._workspace.submit(script, experiment=self.name, **job)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r})"

    def _repr_html_(self) -> str:
        return self.runs(limit=20)._repr_html_()


class Experiments(List[Experiment]):
    """A list of experiments that shows itself as a table in notebooks."""

    def _repr_html_(self) -> str:
        rows = ((e.name, e.document.get("runs"), e.document.get("last_run_at")) for e in self)
        return _html.table(("Experiment", "Runs", "Last run"), rows)
