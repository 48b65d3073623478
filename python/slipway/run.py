"""A run: one submission of a job, with its history."""

import sys
import time
from typing import IO, Any, Iterable, Iterator, List, NamedTuple, Optional

from . import _follow, _html
from ._events import LogPiece, Stream, log_pieces
from ._http import Json, query_text
from ._record import FINAL_STATES
from ._run_history import RunHistory
from ._times import duration_text, parse_time
from .errors import InvalidArgumentError, NotFoundError, RunFailedError, TimedOutError


class LogFile(NamedTuple):
    """A log of a run: one for each attempt and node."""

    name: str
    attempt: int
    rank: int
    size: int


class Run(RunHistory):
    """One run. What may change is asked of the server anew each time, until the run has ended.

    Runs come from `Workspace.submit`, `Workspace.run` and `Workspace.runs`.
    """

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
