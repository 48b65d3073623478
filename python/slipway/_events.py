"""Event streams that go on across broken connections and restarts of the server: each event once, none left out."""

import base64
import contextlib
import http.client
import json
import socket
import threading
import time
from typing import Callable, Iterator, List, Optional

from ._http import Json, Transport, error_of
from .errors import TRANSIENT, InternalError, SlipwayError, UnavailableError, UnreachableError

PATIENCE = 600.0  # how long a server that is away is waited for; its return starts the time anew
SILENCE = 45.0  # a break: heartbeats come every 15 s
FIRST_WAIT = 0.1
LONGEST_WAIT = 2.0


class Event:
    __slots__ = ("data", "id", "name")

    def __init__(self, id: str, name: str, data: str) -> None:
        self.id = id
        self.name = name
        self.data = data

    def json(self) -> Json:
        document = json.loads(self.data)
        return document if isinstance(document, dict) else {}


def parse_events(lines: Iterator[bytes], last_id: str = "") -> Iterator[Event]:
    r"""Cuts a stream into events.

    >>> [(e.id, e.name, e.data) for e in parse_events(iter([b"id: 7\n", b"event: state\n", b"data: {}\n", b"\n"]))]
    [('7', 'state', '{}')]
    """
    name = ""
    data: List[str] = []
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if data:
                yield Event(last_id, name, "\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        if value.startswith(" "):
            value = value[1:]
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value


class Stream:
    """One stream, read by one thread. `stop` may be called from any other."""

    def __init__(
        self,
        transport: Transport,
        target: str,
        last_id: str = "",
        patience: float = PATIENCE,
        on_contact: Optional[Callable[[bool], None]] = None,
    ) -> None:
        self._transport = transport
        self._target = target
        self._last_id = last_id
        self._patience = patience
        self._on_contact = on_contact  # told when the server goes away (False) and when it is back (True)
        self._stopped = threading.Event()
        self._connection: Optional[http.client.HTTPConnection] = None

    def stop(self) -> None:
        """Ends the iteration in progress, or the next one."""
        self._stopped.set()
        connection = self._connection
        sock = connection.sock if connection is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):  # it is closed already
                sock.shutdown(socket.SHUT_RDWR)

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    @contextlib.contextmanager
    def limited(self, seconds: Optional[float]) -> Iterator[None]:
        """Stops the stream after that time, and in any case at the end of the block."""
        timer = threading.Timer(seconds, self.stop) if seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            self.stop()

    def __iter__(self) -> Iterator[Event]:
        """Ends when the stream ends in order or is stopped; raises when it is of no use to go on."""
        there, first = True, True
        pause, away_since = FIRST_WAIT, 0.0
        while not self._stopped.is_set():
            try:
                for event in self._read_once():
                    if not there and self._on_contact:
                        self._on_contact(True)
                    there, first, pause = True, False, FIRST_WAIT
                    self._last_id = event.id or self._last_id
                    yield event
                return
            except TRANSIENT as error:
                if self._stopped.is_set():
                    return
                # Nothing there from the beginning is a mistake; later it is a restart.
                if first and isinstance(error, UnreachableError) and not self._transport.was_there:
                    raise
                if there:
                    away_since = time.monotonic()
                    if self._on_contact:
                        self._on_contact(False)
                there, first = False, False
                if time.monotonic() - away_since > self._patience:
                    raise
            if self._stopped.wait(pause):
                return
            pause = min(pause * 2, LONGEST_WAIT)
            self._transport.connection.look_again()

    def _read_once(self) -> Iterator[Event]:
        headers = {"Accept": "text/event-stream"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        connection = self._transport.connect(SILENCE)
        self._connection = connection
        try:
            connection.request("GET", self._target, None, self._transport.headers(headers))
            answer = connection.getresponse()
            if answer.status >= 400:
                raise self._transport.explain(error_of(answer.status, answer.read()))
            yield from parse_events(_lines(answer), self._last_id)
        except (http.client.HTTPException, OSError, ValueError) as error:
            if isinstance(error, SlipwayError):
                raise
            raise UnavailableError(f"the stream broke: {error}") from None
        finally:
            self._connection = None
            connection.close()


def _lines(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """Whole lines; a stream that is cut in the middle raises, one that ends in order ends."""
    while True:
        line = answer.readline()
        if not line:
            if answer.chunked and answer.chunk_left is not None:
                raise http.client.IncompleteRead(b"")
            return
        yield line


class LogPiece:
    __slots__ = ("channel", "content", "offset")

    def __init__(self, offset: int, channel: str, content: bytes) -> None:
        self.offset = offset  # in the log, before these bytes
        self.channel = channel  # "stdout", "stderr", or empty for files
        self.content = content


def log_pieces(stream: Stream, offset: int = 0) -> Iterator[LogPiece]:
    """A log's bytes from `offset` on, in order, without gap or double."""
    position = offset
    for event in stream:
        if event.name != "log":
            continue
        piece = event.json()
        content = base64.b64decode(piece["base64"]) if piece.get("base64") else piece.get("text", "").encode()
        start = int(piece["offset"])
        # What a broken connection had brought already is passed over.
        known = max(0, position - start)
        if known >= len(content):
            continue
        if start > position:
            raise InternalError(
                f"the log has a gap: {start - position} bytes after {position}",
                next="read it again from the beginning",
            )
        yield LogPiece(start + known, piece.get("channel", ""), content[known:])
        position = start + len(content)
