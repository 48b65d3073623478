"""Requests over the standard library's http.client, with keep-alive, and repeated where that is safe.

Every call of the Slipway API can be sent twice without harm: creates carry an Idempotency-Key, the rest says how
things shall be. So a lost answer, a server that restarts and a full queue are waited out here, within bounds. A
server that never answered is reported at once: waiting would only hide a wrong address.

A Transport may be used from any thread, and in a child after fork: each exchange takes a connection of its own out
of a small pool.
"""

import binascii
import http.client
import json
import os
import socket
import ssl
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import quote, urlsplit

from ._connection import Connection
from ._version import __version__
from .errors import (
    TRANSIENT,
    InternalError,
    NotFoundError,
    SlipwayError,
    TimedOutError,
    UnauthenticatedError,
    UnavailableError,
    UnreachableError,
    from_answer,
)

Json = Dict[str, Any]

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0  # no byte moved for this long
TRIES = 6
FIRST_WAIT = 0.1
LONGEST_WAIT = 2.0
MAX_IDLE = 8
PAGE = 500


def query_text(query: Dict[str, Any]) -> str:
    """'?a=1&b=2', encoded; fields without a value are left out.

    >>> query_text({"name": "a b", "after": None, "limit": 3})
    '?name=a%20b&limit=3'
    """
    fields = [
        "{}={}".format(quote(k, safe=""), quote(str(v), safe=""))
        for k, v in query.items()
        if v not in (None, "")
    ]
    return "?" + "&".join(fields) if fields else ""


def new_key() -> str:
    return binascii.hexlify(os.urandom(16)).decode()


class Answer:
    """A whole answer."""

    def __init__(self, status: int, headers: "http.client.HTTPMessage", body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Json:
        if not self.body:
            return {}
        try:
            document = json.loads(self.body.decode("utf-8"))
        except ValueError:
            raise InternalError(
                "the answer is not one of a Slipway server", next="check the address of the server"
            ) from None
        return document if isinstance(document, dict) else {"items": document}


class Transport:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._idle: List[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._tls: Optional[ssl.SSLContext] = None
        self.was_there = False  # the server has answered in this process

    # -- connections ----------------------------------------------------------------------------------------

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=self.connection.ca_file or None)
        return self._tls

    def connect(self, timeout: float = ANSWER_SECONDS) -> http.client.HTTPConnection:
        """A new connection, established."""
        parts = urlsplit(self.connection.url)
        made: http.client.HTTPConnection
        host = parts.hostname or ""
        try:
            if parts.scheme == "https":
                made = http.client.HTTPSConnection(
                    host, parts.port, timeout=CONNECT_SECONDS, context=self._context()
                )
            else:
                made = http.client.HTTPConnection(host, parts.port, timeout=CONNECT_SECONDS)
            made.connect()
        except ssl.SSLError as error:
            raise UnreachableError(
                f"the server at {self.connection.url} cannot be trusted: {error}",
                next="name the certificate it is signed with: ca_file=..., or SLIPWAY_CA_FILE",
            ) from None
        except OSError as error:
            raise self._unreachable(error) from None
        made.sock.settimeout(timeout)
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _unreachable(self, error: OSError) -> UnreachableError:
        start = "start one: slipway up --detach"
        return UnreachableError(
            f"no Slipway server answers at {self.connection.url}: {error.strerror or error}",
            next=start if self.connection.from_home else "check the address, or " + start,
        )

    def _take(self) -> Optional[http.client.HTTPConnection]:
        with self._lock:
            if self._pid != os.getpid():
                # After fork: the parent's connections are the parent's.
                self._idle = []
                self._pid = os.getpid()
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE and self._pid == os.getpid():
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Closes the connections that wait; the transport can still be used."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # -- one exchange ---------------------------------------------------------------------------------------

    def headers(self, more: Optional[Dict[str, str]] = None) -> Dict[str, str]:
        headers = {"User-Agent": "slipway-python/" + __version__, "Accept": "application/json"}
        if self.connection.token:
            headers["Authorization"] = "Bearer " + self.connection.token
        headers.update(more or {})
        return headers

    def open(
        self,
        method: str,
        target: str,
        body: Any = None,
        headers: Optional[Dict[str, str]] = None,
        timeout: float = ANSWER_SECONDS,
    ) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends once, on a kept connection or a new one; the caller reads the answer and calls `done`."""
        kept = self._take()
        while kept is not None:
            try:
                kept.sock.settimeout(timeout)
                kept.request(method, target, body, self.headers(headers))
                answer = kept.getresponse()
                self.was_there = True
                return kept, answer
            except (http.client.HTTPException, OSError) as error:
                kept.close()
                if isinstance(error, socket.timeout):
                    raise self._timed_out(target) from None
                # It had been closed while it waited. Whatever is sent here may be sent again.
                if hasattr(body, "read"):
                    raise UnavailableError(f"the connection to the server broke: {error}") from None
            kept = self._take()
        fresh = self.connect(timeout)
        try:
            fresh.request(method, target, body, self.headers(headers))
            answer = fresh.getresponse()
        except socket.timeout:
            fresh.close()
            raise self._timed_out(target) from None
        except (http.client.HTTPException, OSError) as error:
            fresh.close()
            raise UnavailableError(f"the connection to the server broke: {error}") from None
        self.was_there = True
        return fresh, answer

    def _timed_out(self, target: str) -> TimedOutError:
        return TimedOutError(
            "the server did not answer {} in time".format(target.partition("?")[0]),
            next="look at the server's log; slipway status shows what it is doing",
        )

    def done(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        """The answer is read to its end: the connection can be used again."""
        if answer.will_close or not answer.isclosed():
            connection.close()
        else:
            self._give_back(connection)

    def exchange(
        self,
        method: str,
        target: str,
        body: Any = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Answer:
        """One try. An answer of 400 and more is an error."""
        connection, answer = self.open(method, target, body, headers)
        try:
            content = answer.read()
        except socket.timeout:
            connection.close()
            raise self._timed_out(target) from None
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            raise UnavailableError(f"the connection to the server broke: {error}") from None
        self.done(connection, answer)
        if answer.status >= 400:
            raise self.explain(error_of(answer.status, content))
        return Answer(answer.status, answer.headers, content)

    def explain(self, error: SlipwayError) -> SlipwayError:
        if isinstance(error, UnauthenticatedError) and not self.connection.token:
            error.next = "give a token: slipway.workspace(token=...), or SLIPWAY_TOKEN in the environment"
        elif isinstance(error, UnauthenticatedError) and not error.next:
            error.next = "ask for a new token; on the server's machine: slipway token create NAME"
        return error

    # -- repeated -------------------------------------------------------------------------------------------

    def repeat(self, attempt: Callable[[int], Any]) -> Any:
        """Calls `attempt` with the number of failures so far until it works or there is no sense in it."""
        failures = 0
        while True:
            try:
                return attempt(failures)
            except TRANSIENT as error:
                failures += self.wait_to_repeat(error, failures)

    def wait_to_repeat(self, error: SlipwayError, failures: int) -> int:
        """How much the failure counts, once it is time to try again; raises it where there is no sense in that."""
        if isinstance(error, UnreachableError) and not self.was_there:
            raise error
        # A time-out has already taken long; a second one is enough.
        weight = TRIES // 2 if isinstance(error, TimedOutError) else 1
        if failures + weight >= TRIES:
            raise error
        time.sleep(min(FIRST_WAIT * (1 << failures), LONGEST_WAIT))
        if isinstance(error, UnreachableError):
            self.connection.look_again()
        return weight

    def send(
        self, method: str, target: str, body: Any = None, headers: Optional[Dict[str, str]] = None
    ) -> Answer:
        answer: Answer = self.repeat(lambda _: self.exchange(method, target, body, headers))
        return answer

    def call(self, method: str, target: str, document: Optional[Json] = None) -> Json:
        body, headers = encoded(document)
        return self.send(method, target, body, headers).json()

    def get(self, target: str) -> Json:
        return self.call("GET", target)

    def create(self, target: str, document: Json, key: Optional[str] = None) -> Json:
        """With an Idempotency-Key: repeated, it creates once."""
        body, headers = encoded(document)
        headers["Idempotency-Key"] = key or new_key()
        return self.send("POST", target, body, headers).json()

    def remove(self, target: str) -> None:
        def attempt(failures: int) -> None:
            try:
                self.exchange("DELETE", target)
            except NotFoundError:
                # One that is gone when a lost answer made us ask again was removed by us.
                if failures == 0:
                    raise

        self.repeat(attempt)

    def pages(self, path: str, query: Optional[Dict[str, Any]] = None) -> Iterator[Json]:
        """The items of a list, page by page as they are asked for."""
        wanted = dict(query or {})
        wanted.setdefault("limit", PAGE)
        while True:
            page = self.get(path + query_text(wanted))
            yield from page.get("items", [])
            cursor = page.get("next_cursor")
            # A cursor that does not move would keep us here for ever.
            if not cursor or cursor == wanted.get("cursor"):
                return
            wanted["cursor"] = cursor
            wanted.pop("after", None)  # where the first page began

    def items(
        self, path: str, query: Optional[Dict[str, Any]] = None, limit: Optional[int] = None
    ) -> List[Json]:
        found: List[Json] = []
        wanted = dict(query or {})
        if limit is not None:
            wanted["limit"] = max(1, min(limit, PAGE))
        for item in self.pages(path, wanted):
            if limit is not None and len(found) >= limit:
                break
            found.append(item)
        return found


def encoded(document: Optional[Json]) -> Tuple[Optional[bytes], Dict[str, str]]:
    if document is None:
        return None, {}
    return json.dumps(document).encode(), {"Content-Type": "application/json"}


def error_of(status: int, content: bytes) -> SlipwayError:
    try:
        document = json.loads(content.decode("utf-8"))
    except ValueError:
        document = None
    return from_answer(status, document)
