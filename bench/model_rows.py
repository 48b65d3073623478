"""Models: registering a large output of a run, beside copying it."""

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from row import Row, server

SIZE = 1 << 30
# Other bytes in each mebibyte, so that no file system and no store can make less of them.
WRITE = """
import os
os.makedirs("outputs/model")
with open("outputs/model/weights.bin", "wb") as file:
    for number in range(%d):
        file.write(os.urandom(64) * (1 << 14))
"""


def stored_bytes(slipway):
    return sum(path.stat().st_size for path in (slipway.home / "blobs").glob("??/*"))


def copy_seconds(source):
    folder = Path(tempfile.mkdtemp(prefix="slw-bench-"))
    try:
        start = time.monotonic()
        shutil.copyfile(source, folder / "copy")
        return time.monotonic() - start
    finally:
        shutil.rmtree(folder)


def registration(_):
    with server() as slipway:
        run = slipway.submit("python3", "-c", WRITE % (SIZE >> 20))
        slipway.completed(run, timeout=300)
        before = stored_bytes(slipway)
        times = []
        for _ in range(11):
            start = time.monotonic()
            model = slipway.cli_json("model", "register", "large", "--run", run, "--path", "outputs/model")
            times.append((time.monotonic() - start) * 1e3)
        assert model["bytes"] == SIZE
        added = stored_bytes(slipway) - before
        largest = max((slipway.home / "blobs").glob("??/*"), key=lambda path: path.stat().st_size)
        peer = min(copy_seconds(largest) for _ in range(3)) * 1e3
    yield Row(
        "register a run's output of 1 GB as a model, call to answer",
        100,
        statistics.median(times[1:]),
        "ms",
        peer=peer,
        note="peer: one copy of the file, page cache warm, not synced",
    )
    yield Row(
        "bytes stored for eleven registrations of that output",
        4096,
        added,
        "bytes",
        note="the list of its files, once",
    )


MODEL_ROWS = {"registration": registration}
