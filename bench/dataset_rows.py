"""Datasets: creating one of a large folder, beside the tools that hash a folder."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from row import Row, server

FILES = 60_000


def small_files(folder, count=FILES, size=800):
    """As many pictures as MNIST has, about as large, in ten folders."""
    body = bytearray(size)
    for number in range(count):
        if number < 10:
            (folder / str(number)).mkdir(parents=True)
        body[:8] = number.to_bytes(8, "little")
        (folder / str(number % 10) / f"{number}.png").write_bytes(body)


def timed(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def peer_seconds(folder):
    """find | sha256sum on two processes, and rclone's hash sum where it is installed: the quicker one."""
    command = f"find {folder} -type f -print0 | xargs -0 -P2 -n1000 sha256sum > /dev/null"
    times = [timed(lambda: subprocess.run(["sh", "-c", command], check=True))]
    if shutil.which("rclone"):
        rclone = ["rclone", "hashsum", "sha256", "--checkers", "8", str(folder)]
        times.append(timed(lambda: subprocess.run(rclone, check=True, stdout=subprocess.DEVNULL)))
    return min(times)


def data_creation(_):
    folder = Path(tempfile.mkdtemp(prefix="slw-bench-"))
    try:
        small_files(folder)
        with server() as slipway:
            slipway.cli("datastore", "add", "images", "--path", folder)
            seconds = min(
                timed(lambda name=name: slipway.cli("data", "create", name, "images:**", timeout=600))
                for name in ("one", "two", "three")
            )
        peer = min(peer_seconds(folder) for _ in range(3))
    finally:
        shutil.rmtree(folder)
    yield Row(
        "create a dataset of 60,000 small files, digests included",
        30_000,
        FILES / seconds,
        "files/s",
        "more",
        peer=FILES / peer,
        note="peer: find | xargs -P2 sha256sum, or rclone hashsum; everything in the page cache",
    )


DATASET_ROWS = {"data-creation": data_creation}
