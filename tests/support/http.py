"""A plain HTTP client for tests: every status is an answer, nothing is retried, nothing hides the wire."""

import contextlib
import http.client
import json
import time
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body) if self.body else None

    @property
    def error(self):
        """The error object; fails the test when the answer has not the documented shape."""
        assert self.status >= 400, self
        return self.json()["error"]


@dataclass
class Event:
    id: str
    name: str
    data: str

    def json(self):
        return json.loads(self.data)


class ApiError(AssertionError):
    def __init__(self, method, path, answer):
        super().__init__(f"{method} {path} answered {answer.status}: {answer.body[:2000]!r}")
        self.answer = answer


def request(url, method, path, body=None, *, token=None, headers=None, query=None, timeout=30):
    """Sends one request on a connection of its own. `body` may be bytes, an iterable of bytes, or JSON."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    sent = {} if token is None else {"Authorization": f"Bearer {token}"}
    if body is not None and not isinstance(body, bytes) and not hasattr(body, "__next__"):
        body = json.dumps(body).encode()
        sent["Content-Type"] = "application/json"
    sent.update(headers or {})
    if query:
        path += "?" + urlencode(query)
    with contextlib.closing(connection):
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


def events(url, path, *, token=None, last_id=None, timeout=30):
    """Yields the events of a stream until the server ends it; a cut connection and the end of the time raise."""
    end = time.monotonic() + timeout
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    headers = {"Accept": "text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    if last_id is not None:
        headers["Last-Event-ID"] = str(last_id)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ApiError("GET", path, Answer(response.status, dict(response.getheaders()), response.read()))
        assert response.getheader("Content-Type", "").startswith("text/event-stream")
        event = Event("", "message", "")
        lines = []
        while raw := response.readline():
            if time.monotonic() > end:  # signs of life are no events
                raise TimeoutError(f"no more events of {path} within {timeout} s")
            line = raw.decode().rstrip("\r\n")
            if not line:
                if lines:
                    event.data = "\n".join(lines)
                    yield event
                event, lines = Event("", "message", ""), []
                continue
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "id":
                event.id = value
            elif field == "event":
                event.name = value
            elif field == "data":
                lines.append(value)
