"""A run: one submission of a job, with its history."""

import io
import os
import sys
import time
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional
from urllib.parse import quote

from . import _follow, _html
from ._events import LogPiece, Stream, log_pieces
from ._http import Json, Transport, query_text
from ._metrics import Metrics, Series, number_for_json, number_from_json
from ._times import duration_text, parse_time
from ._transfer import RemoteFile, download_files, read_into
from .errors import InvalidArgumentError, NotFoundError, RunFailedError, TimedOutError

if TYPE_CHECKING:
    from .workspace import Workspace

FINAL_STATES = ("Completed", "Failed", "Canceled")


class RunFile(NamedTuple):
    """A file that a run has left."""

    path: str
    size: int
    digest: str
    mode: int = 0o644


class LogFile(NamedTuple):
    """A log of a run: one for each attempt and node."""

    name: str
    attempt: int
    rank: int
    size: int


class Run:
    """One run. What may change is asked of the server anew each time, until the run has ended.

    Runs come from `Workspace.submit`, `Workspace.run` and `Workspace.runs`.
    """

    def __init__(self, workspace: "Workspace", document: Json) -> None:
        self._workspace = workspace
        self._document = document

    # -- what it is -----------------------------------------------------------------------------------------

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

    def refresh(self) -> "Run":
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
    def tags(self) -> Dict[str, str]:
        """A copy; `tag` and `untag` change them."""
        return dict(self.refresh()._document.get("tags", {}))

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
        return isinstance(other, Run) and (self.id, self._workspace.name) == (other.id, other._workspace.name)

    def __hash__(self) -> int:
        return hash(self.id)

    def _repr_html_(self) -> str:
        return run_table([self])

    # -- watching -------------------------------------------------------------------------------------------

    def follow(
        self,
        file: Optional[IO[str]] = None,
        raise_on_failure: bool = True,
        timeout: Optional[float] = None,
        phases: bool = True,
    ) -> "Run":
        """Shows states and log until the run has ended, across restarts of the server; Ctrl-C leaves the run alone.

        In a notebook one output is drawn anew in place; elsewhere, and when a `file` is given, text is written to it.
        `phases=False` shows what the job prints and nothing else. Raises RunFailedError when it did not complete.
        """
        view: Any = _follow.NotebookView() if file is None and _follow.in_notebook() else None
        view = view or _follow.TextView(file or sys.stdout, phases)
        follower = _follow.Follower(self, view)
        follower.follow(timeout)
        if follower.timed_out:
            raise self._out_of_time(timeout)
        view.ended(self.refresh())
        return self._checked(raise_on_failure)

    def wait(self, timeout: Optional[float] = None, raise_on_failure: bool = True) -> "Run":
        """Until the run has ended, across restarts of the server. Raises TimedOutError after `timeout` seconds (the run
        goes on), and RunFailedError when it did not complete."""
        for _ in self.events(follow=True, timeout=timeout):
            pass
        if self.refresh()._document["state"] not in FINAL_STATES:
            raise self._out_of_time(timeout)
        return self._checked(raise_on_failure)

    def _out_of_time(self, timeout: Optional[float]) -> TimedOutError:
        return TimedOutError(
            f"run {self.id} has not ended within {duration_text(timeout)}", next="it goes on; wait again"
        )

    def _checked(self, raise_on_failure: bool) -> "Run":
        if raise_on_failure and self._document["state"] != "Completed":
            error = RunFailedError(
                _follow.outcome(self._document), next="run.logs() shows what it printed", status=None
            )
            error.run = self
            raise error
        return self

    def events(self, follow: bool = False, after: int = 0, timeout: Optional[float] = None) -> Iterator[Json]:
        """The history, oldest first: {"seq", "time", "kind", "state", "attempt", "reason"}. With `follow` it goes on,
        event by event, until the run has ended or `timeout` seconds are over."""
        if not follow:
            for event in self.transport.pages(self.path("/events"), {"after": after or None}):
                yield event
            return
        stream = Stream(self.transport, self.path("/events/stream"), str(after) if after else "")
        with stream.limited(timeout):
            for event in follow_events(self, stream):
                yield event

    def cancel(self) -> "Run":
        """Asks the run to end; `wait(raise_on_failure=False)` waits until it has."""
        self._document = self.transport.call("POST", self.path("/cancel"))
        return self

    def rerun(self) -> "Run":
        """Repeats it from its recorded snapshot, arguments and environment; gives the new run."""
        return Run(self._workspace, self.transport.create(self.path("/rerun"), {}))

    def diff(self, other: "Run") -> Json:
        """What changed from this run to the other: code, command, environment, data, result."""
        query = query_text({"from": self.id, "to": other.id})
        return self.transport.get(self.transport.connection.in_workspace("/run-diff" + query))

    def delete(self) -> None:
        """An ended run, with its logs, metrics and files."""
        self.transport.remove(self.path())

    # -- tags -----------------------------------------------------------------------------------------------

    def tag(self, tags: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        """Sets tags: `run.tag(owner="me")`, or `run.tag({"any name": 1})`."""
        wanted = {str(name): str(value) for name, value in {**(tags or {}), **more}.items()}
        self._document = self.transport.call("PATCH", self.path(), {"tags": wanted})

    def untag(self, *names: str) -> None:
        """Removes tags."""
        self._document = self.transport.call("PATCH", self.path(), {"tags": {name: None for name in names}})

    def rename(self, display_name: str) -> None:
        self._document = self.transport.call("PATCH", self.path(), {"display_name": display_name})

    # -- logs -----------------------------------------------------------------------------------------------

    def log_files(self) -> List[LogFile]:
        """Every log of every attempt and node."""
        items = self.transport.items(self.path("/logs"))
        return [LogFile(i["name"], int(i["attempt"]), int(i["rank"]), int(i["size"])) for i in items]

    def logs(
        self,
        name: str = _follow.LOG,
        attempt: Optional[int] = None,
        rank: int = 0,
        channel: Optional[str] = None,
    ) -> str:
        """A log as text: what the job printed, or the file `name` ("logs/train.txt", "system_logs/environment.txt")."""
        return self.read_log(name, attempt, rank, channel).decode("utf-8", "replace")

    def read_log(
        self,
        name: str = _follow.LOG,
        attempt: Optional[int] = None,
        rank: int = 0,
        channel: Optional[str] = None,
        start: int = 0,
    ) -> bytes:
        """The bytes of a log from `start` on. What a job has not begun to print is empty."""
        query = query_text({"name": name, "attempt": attempt, "rank": rank, "channel": channel})
        headers = {"Range": f"bytes={start}-"} if start else {}
        try:
            answer = self.transport.send("GET", self.path("/logs/content") + query, None, headers)
        except InvalidArgumentError as error:
            if error.status == 416:
                return b""  # nothing behind it
            raise
        except NotFoundError:
            if name != _follow.LOG:
                raise
            self.refresh()  # says so when it is the run that is missing
            return b""
        return answer.body

    def follow_log(
        self, name: str = _follow.LOG, attempt: Optional[int] = None, rank: int = 0, start: int = 0
    ) -> Iterator[LogPiece]:
        """The pieces of one log as it grows, until the run has ended; across restarts of the server."""
        query = query_text({"name": name, "attempt": attempt, "rank": rank, "offset": start or None})
        stream = Stream(self.transport, self.path("/logs/stream") + query)
        try:
            yield from log_pieces(stream, start)
        finally:
            stream.stop()

    # -- metrics --------------------------------------------------------------------------------------------

    def metrics(self, name: Optional[str] = None) -> Any:
        """The last value of every metric, as a dict; with a name, that metric's whole `Series`.

        `run.metrics()` gives `{"loss": 0.12}`, `run.metrics("loss").values` gives `[0.9, 0.4, 0.12]`.
        """
        if name is None:
            items = self.transport.items(self.path("/metrics"))
            return Metrics((i["name"], number_from_json(i["last"]["value"])) for i in items)
        points = self.transport.items(self.path("/metrics/points"), {"name": name, "limit": 10000})
        if not points:
            raise NotFoundError(f"run {self.id} has no metric {name!r}", next="run.metrics() lists them")
        return Series.from_json(name, points)

    def log(
        self, metrics: Optional[Mapping[str, Any]] = None, step: Optional[int] = None, **more: Any
    ) -> None:
        """Logs metrics of this run over HTTP, for runs that are driven from outside; a job uses `slipway.log`."""
        now = int(time.time() * 1e6)
        points = [
            {"name": key, "value": number_for_json(value), "step": int(step or 0), "time": now}
            for key, value in {**(metrics or {}), **more}.items()
        ]
        self.transport.call("POST", self.path("/metrics"), {"points": points})

    # -- files ----------------------------------------------------------------------------------------------

    def files(self, prefix: str = "") -> List[RunFile]:
        """What the run has left, by path: its ./outputs and whatever it kept."""
        items = self.transport.items(self.path("/files"), {"prefix": prefix})
        return [RunFile(i["path"], int(i["size"]), i["digest"], int(i.get("mode", 0o644))) for i in items]

    def read(self, path: str) -> bytes:
        """The content of one file."""
        found = io.BytesIO()
        target = self.path("/files/content") + query_text({"path": path})
        self.transport.repeat(
            lambda _: (found.seek(0), found.truncate(), read_into(self.transport, target, 0, _write(found)))
        )
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


def follow_events(run: Run, stream: Stream) -> Iterator[Json]:
    """Until the run has ended or the stream is stopped. A server that is told to stop ends its streams in order: then
    the run has not ended, and the stream is read on when the server is back."""
    while True:
        state = ""
        for each in stream:
            event = each.json()
            state = str(event.get("state"))
            yield event
        if stream.stopped or state in FINAL_STATES or run.refresh().document["state"] in FINAL_STATES:
            return
        time.sleep(0.1)


def _write(found: io.BytesIO) -> Any:
    return found.write


class Runs(List[Run]):
    """A list of runs that shows itself as a table in notebooks."""

    def _repr_html_(self) -> str:
        return run_table(self)


def run_table(runs: Iterable[Run]) -> str:
    rows = []
    for run in runs:
        document = run.document
        submitted = parse_time(document.get("submitted_at"))
        rows.append(
            (
                run.id,
                run.experiment,
                _html.state(str(document.get("state", ""))),
                submitted.astimezone().strftime("%Y-%m-%d %H:%M:%S") if submitted else "",
                duration_text(document.get("duration_seconds")),
                document.get("reason") or document.get("waiting_because") or "",
            )
        )
    return _html.table(("Run", "Experiment", "State", "Submitted", "Duration", ""), rows)
