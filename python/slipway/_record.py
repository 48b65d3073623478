"""The record of a run: what the server knows of it."""

from datetime import datetime
from typing import TYPE_CHECKING, List, Optional, TypeVar
from urllib.parse import quote

from ._http import Json, Transport
from ._times import parse_time

if TYPE_CHECKING:
    from ._workspace import Workspace

FINAL_STATES = ("Completed", "Failed", "Canceled")
Self = TypeVar("Self", bound="RunRecord")


class RunRecord:
    """What may change is asked of the server anew each time, until the run has ended."""

    def __init__(self, workspace: "Workspace", document: Json) -> None:
        self._workspace = workspace
        self._document = document

    @property
    def id(self) -> str:
        return str(self._document["id"])

    @property
    def workspace(self) -> "Workspace":
        return self._workspace

    @property
    def transport(self) -> Transport:
        return self._workspace.transport

    def path(self, below: str = "") -> str:
        """Of the run in the HTTP API."""
        return self.transport.connection.in_workspace("/runs/" + quote(self.id, safe="") + below)

    @property
    def document(self) -> Json:
        """The whole record as last seen, in the shape of api/openapi.yaml; asks nothing."""
        return self._document

    def refresh(self: Self) -> Self:
        """Asks the server for the record; gives the run itself."""
        self._document = self.transport.get(self.path())
        return self

    def _now(self) -> Json:
        if self._document.get("state") not in FINAL_STATES:
            self.refresh()
        return self._document

    @property
    def experiment(self) -> str:
        return str(self._document["experiment"])

    @property
    def display_name(self) -> str:
        return str(self._document.get("display_name") or "")

    @property
    def job(self) -> Json:
        """What was asked for: command, compute, environment, inputs, resources."""
        return dict(self._document.get("job", {}))

    @property
    def state(self) -> str:
        """Queued, Preparing, Running, ..., Completed, Failed or Canceled (docs/run-states.md)."""
        return str(self._now()["state"])

    @property
    def ended(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def exit_code(self) -> Optional[int]:
        code = self._now().get("exit_code")
        return None if code is None else int(code)

    @property
    def reason(self) -> str:
        """Why it is in its state, or why it waits."""
        now = self._now()
        return str(now.get("reason") or now.get("waiting_because") or "")

    @property
    def warnings(self) -> List[str]:
        return list(self._now().get("warnings", []))

    @property
    def submitted_at(self) -> Optional[datetime]:
        return parse_time(self._document.get("submitted_at"))

    @property
    def started_at(self) -> Optional[datetime]:
        return parse_time(self._now().get("started_at"))

    @property
    def ended_at(self) -> Optional[datetime]:
        return parse_time(self._now().get("ended_at"))

    @property
    def duration(self) -> Optional[float]:
        """Seconds."""
        seconds = self._now().get("duration_seconds")
        return None if seconds is None else float(seconds)

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self._document.get('state', 'unknown')})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunRecord) and (self.id, self._workspace.name) == (
            other.id,
            other._workspace.name,
        )

    def __hash__(self) -> int:
        return hash(self.id)
