"""Watching a run: its states and its log, as they come, in a terminal or in place in a notebook."""

import codecs
import importlib
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Dict, List, Optional

from . import _html
from ._events import Stream, log_pieces
from ._http import Json, query_text
from ._times import duration_text, parse_time
from .errors import SlipwayError

if TYPE_CHECKING:
    from .run import Run

LOG = "std_log.txt"
NOTEBOOK_LINES = 200
NOTEBOOK_EVERY = 0.2


def in_notebook() -> bool:
    """Whether output goes to a notebook's cell, which can be changed in place."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class TextView:
    """Prints states and log lines one after the other."""

    def __init__(self, out: IO[str], phases: bool) -> None:
        self._out = out
        self._phases = phases
        self._at_line_start = True

    def _line(self, text: str) -> None:
        if not self._at_line_start:
            self._out.write("\n")
            self._at_line_start = True
        self._out.write(text + "\n")
        self._out.flush()

    def started(self, run: "Run") -> None:
        if self._phases:
            self._line(f"run {run.id}")

    def event(self, event: Json) -> None:
        if self._phases:
            when = parse_time(event.get("time"))
            clock = when.astimezone().strftime("%H:%M:%S ") if when else ""
            reason = event.get("reason")
            self._line(f"{clock}{event.get('state')}{': ' + reason if reason else ''}")

    def log(self, text: str, channel: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._at_line_start = text.endswith("\n")

    def contact(self, there: bool) -> None:
        if self._phases:
            self._line(
                "the server is back"
                if there
                else "the server does not answer; the run goes on, trying again ..."
            )

    def ended(self, run: "Run") -> None:
        if self._phases:
            self._line(outcome(run.document))
        elif not self._at_line_start:
            self._out.flush()


class NotebookView:
    """One cell output that is drawn anew: the state, the time line and the end of the log."""

    def __init__(self) -> None:
        shown: Any = importlib.import_module(
            "IPython.display"
        )  # the user's own; this is only reached inside it
        self._html = shown.HTML
        self._run: Optional[Run] = None
        self._events: List[Json] = []
        self._lines: List[str] = [""]
        self._there = True
        self._changed = threading.Event()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._handle = shown.display(shown.HTML("<pre>...</pre>"), display_id=True)
        # The log may bring thousands of lines a second: drawn a few times a second is what eyes can follow.
        self._painter = threading.Thread(target=self._paint, daemon=True)

    def started(self, run: "Run") -> None:
        self._run = run
        self._painter.start()

    def _paint(self) -> None:
        while not self._stopped.is_set():
            if self._changed.wait(NOTEBOOK_EVERY):
                self._changed.clear()
                self.draw()
                self._stopped.wait(NOTEBOOK_EVERY)

    def draw(self) -> None:
        with self._lock:
            events, lines = list(self._events), list(self._lines)
        run = self._run
        assert run is not None
        state = events[-1].get("state", "") if events else ""
        reason = events[-1].get("reason", "") if events else ""
        away = (
            "" if self._there else "<div>the server does not answer; the run goes on, trying again ...</div>"
        )
        log = _html.cell("\n".join(lines[-NOTEBOOK_LINES:]))
        seen: List[str] = []
        for event in events:
            if not seen or seen[-1] != event.get("state"):
                seen.append(str(event.get("state")))
        self._handle.update(
            self._html(
                f"<div><b>{_html.cell(run.id)}</b> {_html.state(str(state))} {_html.cell(reason)}</div>"
                f'<div style="color:#57606a">{_html.cell(" → ".join(seen))}</div>{away}'
                f'<pre style="max-height:24em;overflow:auto">{log}</pre>'
            )
        )

    def event(self, event: Json) -> None:
        with self._lock:
            self._events.append(event)
        self._changed.set()

    def log(self, text: str, channel: str) -> None:
        with self._lock:
            parts = text.split("\n")
            self._lines[-1] = (self._lines[-1] + parts[0]).rpartition("\r")[2]
            self._lines.extend(part.rpartition("\r")[2] for part in parts[1:])
            del self._lines[: -2 * NOTEBOOK_LINES]
        self._changed.set()

    def contact(self, there: bool) -> None:
        self._there = there
        self._changed.set()

    def ended(self, run: "Run") -> None:
        self._stopped.set()
        self._painter.join()
        with self._lock:
            self._events.append({"state": run.document["state"], "reason": outcome(run.document)})
        self.draw()


def outcome(run: Json) -> str:
    """
    >>> outcome({"id": "a-1", "state": "Failed", "duration_seconds": 2.0, "exit_code": 3})
    'a-1 Failed after 2.0 s with exit code 3'
    """
    text = f"{run['id']} {run['state']}"
    if run.get("duration_seconds") is not None:
        text += " after " + duration_text(run["duration_seconds"])
    if run.get("reason"):
        text += ": " + str(run["reason"])
    elif run["state"] == "Failed" and run.get("exit_code"):
        text += f" with exit code {run['exit_code']}"
    return text


class Follower:
    """Two streams: the events on the caller's thread, the log on one of its own. The log of the newest attempt is
    followed; when an attempt is replaced, what is left of the old one's log is shown before the new one's begins."""

    def __init__(self, run: "Run", view: Any) -> None:
        self._run = run
        self._view = view
        self._lock = threading.Condition()
        self._attempt = max(1, int(run.document.get("attempt") or 1))
        self._ended = False
        self._leaving = False
        self._there = True
        self._log: Optional[Stream] = None
        self._error: Optional[BaseException] = None
        self._timer: Optional[threading.Timer] = None
        self.timed_out = False
        self._events = Stream(run.transport, run.path("/events/stream"), on_contact=self._contact)

    def follow(self, timeout: Optional[float] = None) -> None:
        """Until the run has ended, the time is over (`timed_out`), or Ctrl-C."""
        from .run import follow_events  # which imports this module

        self._view.started(self._run)
        reader = threading.Thread(target=self._read_log, daemon=True)
        reader.start()
        if timeout is not None:
            self._timer = threading.Timer(timeout, self._time_is_over)
            self._timer.daemon = True
            self._timer.start()
        try:
            for event in follow_events(self._run, self._events):
                self._take(event)
            with self._lock:
                self._ended = True
                self._lock.notify_all()
            reader.join()
        except BaseException:
            self.leave()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()
        if self._error is not None:
            raise self._error

    def leave(self) -> None:
        self._events.stop()
        with self._lock:
            self._leaving = True
            if self._log is not None:
                self._log.stop()
            self._lock.notify_all()

    def _time_is_over(self) -> None:
        self.timed_out = True
        self.leave()

    def _contact(self, there: bool) -> None:
        with self._lock:
            if self._there == there:
                return
            self._there = there
            self._view.contact(there)

    def _take(self, event: Json) -> None:
        attempt = int(event.get("attempt") or 0)
        with self._lock:
            self._view.event(event)
            if attempt > self._attempt:
                self._attempt = attempt
                if self._log is not None:
                    self._log.stop()
                self._lock.notify_all()

    def _read_log(self) -> None:
        try:
            attempt = 0
            while True:
                with self._lock:
                    # A log that ended in order may be that of an attempt whose replacement is not yet announced.
                    self._lock.wait_for(lambda: self._leaving or self._attempt > attempt or self._ended)  # noqa: B023
                    if self._leaving or self._attempt <= attempt:
                        return
                    attempt = self._attempt
                    target = self._run.path("/logs/stream") + query_text(
                        {"name": LOG, "attempt": attempt, "rank": 0}
                    )
                    self._log = Stream(self._run.transport, target, on_contact=self._contact)
                self._read_attempt(attempt)
        except BaseException as error:
            self._error = error
            self._events.stop()

    def _read_attempt(self, attempt: int) -> None:
        assert self._log is not None
        # A character may be cut between two pieces; each channel has its own rest.
        decoders: Dict[str, codecs.IncrementalDecoder] = {}
        position = 0
        for piece in log_pieces(self._log):
            self._show(piece.content, piece.channel, decoders)
            position = piece.offset + len(piece.content)
        with self._lock:
            replaced = self._attempt > attempt and not self._leaving
        if replaced:
            # Its node may be lost with the rest of its log, so there may be none.
            try:
                rest = self._run.read_log(LOG, attempt=attempt, start=position)
            except SlipwayError:
                return
            self._show(rest, "stdout", decoders)

    def _show(self, content: bytes, channel: str, decoders: "Dict[str, codecs.IncrementalDecoder]") -> None:
        decoder = decoders.get(channel)
        if decoder is None:
            decoder = decoders[channel] = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(content)
        if text:
            with self._lock:
                self._view.log(text, channel)
