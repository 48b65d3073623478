"""Logs: every byte, in order, once; live, by range, and after a break (faults 31 to 33)."""

import base64
import hashlib
import random
import time

from support.processes import resident_bytes, wait_until
from support.server import W

ODD = (
    bytes(range(256))
    + b"\x00\x00no newline \xff\xfe \x1b[31mred\x1b[0m \r\n\xe2\x82"
    + "ü€😀".encode()
    + b"\r"
)


def emit(data):
    """A command that writes these bytes to stdout."""
    code = (
        f"import sys,base64; sys.stdout.buffer.write(base64.b64decode('{base64.b64encode(data).decode()}'))"
    )
    return ("python3", "-c", code)


def test_bytes_are_kept_exactly(slipway):
    run = slipway.submit(*emit(ODD))
    slipway.completed(run)
    assert slipway.log(run) == ODD


def test_both_channels_are_kept_and_can_be_told_apart(slipway):
    run = slipway.submit("for i in 1 2 3; do echo out$i; echo err$i >&2; done")
    slipway.completed(run)
    assert slipway.log(run, channel="stdout") == b"out1\nout2\nout3\n"
    assert slipway.log(run, channel="stderr") == b"err1\nerr2\nerr3\n"
    assert sorted(slipway.log(run).split()) == sorted(b"out1 out2 out3 err1 err2 err3".split())


def stream_bytes(slipway, run, offset=None, last_id=None, stop_after=None):
    path = f"{W}/runs/{run}/logs/stream?name=std_log.txt" + (
        f"&offset={offset}" if offset is not None else ""
    )
    content, ids = b"", []
    for event in slipway.stream(path, last_id):
        if event.name != "log":
            continue
        piece = event.json()
        content += base64.b64decode(piece["base64"]) if "base64" in piece else piece["text"].encode()
        ids.append(event.id)
        if stop_after and len(content) >= stop_after:
            break
    return content, ids


def test_stream_gives_all_bytes_live_and_resumes_exactly(slipway):
    run = slipway.submit("for i in $(seq 1 200); do echo line $i; sleep 0.005; done")
    expected = b"".join(b"line %d\n" % i for i in range(1, 201))
    first, ids = stream_bytes(slipway, run, stop_after=300)
    assert expected.startswith(first)
    rest, _ = stream_bytes(slipway, run, last_id=ids[-1])
    assert first + rest == expected
    from_offset, _ = stream_bytes(slipway, run, offset=10)
    assert from_offset == expected[10:]


def test_stream_carries_bytes_that_are_no_text(slipway):
    run = slipway.submit(*emit(ODD))
    content, _ = stream_bytes(slipway, run)
    assert content == ODD


def test_ranges(slipway):
    run = slipway.submit("printf 0123456789")
    slipway.completed(run)
    get = lambda header: slipway.http(  # noqa: E731
        "GET", f"{W}/runs/{run}/logs/content", query={"name": "std_log.txt"}, headers={"Range": header}
    )
    middle = get("bytes=2-4")
    assert (middle.status, middle.body) == (206, b"234")
    assert middle.headers["content-range"] == "bytes 2-4/10"
    assert get("bytes=7-").body == b"789"
    assert get("bytes=-2").body == b"89"
    assert get("bytes=50-60").status == 416


def test_logs_appear_while_the_job_runs(slipway):
    run = slipway.submit("echo early; mkdir -p logs; echo side > logs/a.log; sleep 60")
    wait_until(lambda: slipway.log(run) == b"early\n", 10, "the line did not arrive")
    wait_until(lambda: slipway.log(run, "logs/a.log") == b"side\n", 10, "the followed file did not arrive")
    assert slipway.run(run)["state"] == "Running"


def test_large_output_arrives_whole(slipway):
    size = 48 << 20
    block = random.Random(5).randbytes(1 << 20)
    make = "import random, sys\nblock = random.Random(5).randbytes(1 << 20)\n"
    code = make + f"for _ in range({size >> 20}): sys.stdout.buffer.write(block)"
    run = slipway.submit("python3", "-c", code)
    slipway.completed(run)
    expected = hashlib.sha256()
    for _ in range(size >> 20):
        expected.update(block)
    assert hashlib.sha256(slipway.log(run)).hexdigest() == expected.hexdigest()


def test_many_short_lines_keep_memory_bounded_and_the_server_answering(slipway):
    run = slipway.submit(
        "python3", "-c", "import sys\nl='x'*19+'\\n'\nfor _ in range(100): sys.stdout.write(l*10000)"
    )
    slowest = 0.0
    end = time.monotonic() + 60
    while slipway.run(run)["state"] not in {"Completed", "Failed"} and time.monotonic() < end:
        start = time.monotonic()
        slipway.api("GET", "/api/v1/status")
        slowest = max(slowest, time.monotonic() - start)
    slipway.completed(run)
    assert len(slipway.log(run)) == 20_000_000
    assert slowest < 15
    assert resident_bytes(slipway.server_pid) < 400 << 20


def test_list_names_every_log_with_its_size(slipway):
    run = slipway.submit("echo 12345; mkdir -p logs/sub; echo 1 > logs/sub/b.txt")
    slipway.completed(run)
    found = {(log["name"], log["size"]) for log in slipway.items(f"{W}/runs/{run}/logs")}
    assert found == {("std_log.txt", 6), ("logs/sub/b.txt", 2)}
