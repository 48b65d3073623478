"""What a peer can make the server hold is bounded (faults 48 to 50)."""

import contextlib
import json
import resource
import socket
import time
from urllib.parse import urlsplit

import pytest
from support.http import request
from support.processes import resident_bytes, wait_until
from support.server import W


def connect(slipway, timeout=30):
    parts = urlsplit(slipway.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=timeout)


def is_open(raw):
    """Whether the server has neither answered nor closed."""
    wait = raw.gettimeout()
    raw.setblocking(False)
    try:
        raw.recv(1, socket.MSG_PEEK)
        return False
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        raw.settimeout(wait)


def talk(slipway, data, timeout=30):
    """Sends raw bytes and gives what comes back until the server closes or falls silent."""
    with connect(slipway, timeout) as raw:
        with contextlib.suppress(OSError):
            raw.sendall(data)
        answer = b""
        with contextlib.suppress(OSError):
            while piece := raw.recv(65536):
                answer += piece
                if b"\r\n\r\n" in answer:
                    break
        return answer


def head_of(slipway, length):
    """The head of a submission with a body of that length."""
    return (
        f"POST {W}/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {slipway.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )


def status_of(answer):
    return int(answer.split()[1]) if answer else 0


def test_a_gigabyte_of_json_is_refused_in_bounded_memory(slipway):
    before = resident_bytes(slipway.server_pid)
    head = head_of(slipway, 1 << 30)
    with connect(slipway) as raw:
        raw.sendall(head.encode())
        with contextlib.suppress(OSError):
            for _ in range(64):
                raw.sendall(b"[" + b"1," * (1 << 19))
        answer = b""
        with contextlib.suppress(OSError):
            answer = raw.recv(4096)
    assert not answer or status_of(answer) == 413, answer
    assert resident_bytes(slipway.server_pid) - before < 64 << 20
    small = {"command": ["true"], "tags": {"k": "x" * (5 << 20)}}
    assert slipway.http("POST", f"{W}/runs", small).status == 413


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_deep_json_is_refused(slipway, depth):
    body = b'{"command": ' + b"[" * depth + b"]" * depth + b"}"
    answer = slipway.http("POST", f"{W}/runs", body, headers={"Content-Type": "application/json"})
    assert answer.status in {400, 413}
    assert slipway.http("GET", "/health").status == 200


GOOD = '"command": ["true"]'
BAD_BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"{}",
    b'{"command": []}',
    b'{"command": "true"}',
    b'{"command": [1]}',
    b'{"command": ["a\\u0000b"]}',
    b'\xff\xfe{"command"',
    *[
        f"{{{GOOD}, {more}}}".encode()
        for more in (
            '"nodes": 0',
            '"nodes": -1',
            '"nodes": 1e99',
            '"timeout_seconds": -1',
            '"unknown_key": 1',
            '"tags": []',
            '"variables": {"A=B": "x"}',
            '"experiment": "../x"',
            '"snapshot": "zz"',
        )
    ],
    f"{{{GOOD}}} trailing".encode(),
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: body[:40].decode(errors="replace"))
def test_bad_job_gets_400_and_makes_nothing(slipway, body):
    answer = slipway.http("POST", f"{W}/runs", body, headers={"Content-Type": "application/json"})
    assert answer.status == 400, answer
    assert answer.error["code"] == "invalid_argument" and answer.error["message"]
    assert slipway.items(f"{W}/runs") == []


RAW = {
    "no method": b"\r\n\r\n",
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00" * 20 + b"\r\n\r\n",
    "bad version": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "bad length": b"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    "two lengths": b"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length and chunks": b"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "huge header": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: x\r\n"
    + b"".join(b"X%d: y\r\n" % i for i in range(20_000))
    + b"\r\n",
    "long target": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "bad escape": b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    "nul in target": b"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    "odd method": b"BREW /health HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("case", RAW, ids=lambda case: case.replace(" ", "-"))
def test_bytes_that_are_no_request_get_an_error_or_a_closed_door(slipway, case):
    answer = talk(slipway, RAW[case], timeout=20)
    assert not answer or 400 <= status_of(answer) <= 505, answer[:200]
    assert slipway.http("GET", "/health").status == 200


def test_unknown_paths_and_methods(slipway):
    assert slipway.http("GET", "/api/v1/nothing").status == 404
    answer = slipway.http("PUT", f"{W}/runs", {})
    assert answer.status == 405
    assert {"GET", "POST"} <= set(answer.headers["allow"].replace(" ", "").split(","))


def test_slow_headers_are_cut_and_do_not_hold_others_up(slipway):
    slow = [connect(slipway, 60) for _ in range(100)]
    try:
        for raw in slow:
            raw.sendall(b"GET /health HTTP/1.1\r\nHo")
        assert slipway.http("GET", "/health").status == 200
        assert is_open(slow[-1]), "the others had to wait until the slow ones were cut"
        time.sleep(5)
        for raw in slow:
            with contextlib.suppress(OSError):
                raw.sendall(b"s")
        start = time.monotonic()
        for raw in slow:
            raw.settimeout(max(0.1, 25 - (time.monotonic() - start)))
            try:
                while raw.recv(4096):
                    pass
            except ConnectionError:
                pass
    finally:
        for raw in slow:
            raw.close()


def test_slow_body_is_cut_in_time_without_blocking_workers(slipway):
    head = head_of(slipway, 1000)
    slow = [connect(slipway) for _ in range(80)]
    try:
        for raw in slow:
            raw.sendall(head.encode() + b"{")
        for _ in range(20):
            slipway.api("GET", f"{W}/runs")
        assert is_open(slow[-1]), "the others had to wait until the slow ones were cut"
    finally:
        for raw in slow:
            raw.close()


def test_thousands_of_idle_sockets_leave_the_server_answering(slipway):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12000) if hard > 0 else 12000, hard))
    count = min(10_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    idle = []
    try:
        for _ in range(count):
            with contextlib.suppress(OSError):
                idle.append(connect(slipway, 5))
        assert len(idle) > count // 2
        assert slipway.http("GET", "/health").status == 200
        slipway.completed(slipway.submit("true"))
        assert resident_bytes(slipway.server_pid) < 300 << 20
    finally:
        for raw in idle:
            raw.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_exhausted_descriptors_are_survived(slipway):
    pid = slipway.server_pid
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))
    idle = []
    try:
        for _ in range(150):
            with contextlib.suppress(OSError):
                idle.append(connect(slipway, 2))
        time.sleep(0.5)
    finally:
        for raw in idle:
            raw.close()

    def answers():
        try:
            return request(slipway.url, "GET", "/health", timeout=2).status == 200
        except OSError:
            return False

    wait_until(answers, 20, "the server did not come back")
    assert slipway.server_pid == pid
    slipway.down("--cancel")
    slipway.again()


def test_paging_is_bounded_and_bad_cursors_are_refused(slipway):
    for query in [
        "limit=0",
        "limit=-1",
        "limit=x",
        "limit=1e9",
        "cursor=%ff",
        "cursor=garbage",
        "state=Nonsense",
        "tag=novalue",
    ]:
        assert slipway.http("GET", f"{W}/runs?{query}").status == 400, query
    assert slipway.http("GET", f"{W}/runs?limit=100000000").status in {200, 400}


def test_keep_alive_and_pipelining(slipway):
    one = (
        f"GET {W}/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {slipway.token}\r\n\r\n".encode()
    )
    with connect(slipway) as raw:
        raw.sendall(one * 5)
        answer = b""
        wait_for = time.monotonic() + 10
        while answer.count(b"HTTP/1.1 200") < 5 and time.monotonic() < wait_for:
            answer += raw.recv(65536)
        assert answer.count(b"HTTP/1.1 200") == 5


def test_head_and_health(slipway):
    assert slipway.http("GET", "/health", token=None).json() == {"status": "ok"}
    about = slipway.http("GET", "/api/v1/server", token=None).json()
    assert about["name"] == "slipway" and about["api"] == "v1" and about["version"]
    status = slipway.api("GET", "/api/v1/status")
    assert status["writable"] is True and status["memory_bytes"] > 0
    json.dumps(status)
