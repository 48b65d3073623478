"""Bringing data to where it is read: downloads and mounts, beside curl, rclone and the same files on the local disk."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from dataset_rows import small_files, timed
from row import Row, server
from support.data import add_datastore, create
from support.nginx import Nginx
from support.processes import resident_bytes

GIB = 1 << 30
READERS = 4


@contextlib.contextmanager
def folder():
    path = Path(tempfile.mkdtemp(prefix="slw-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextlib.contextmanager
def mounted(slipway, dataset, at):
    process = subprocess.Popen(
        [str(slipway.binary), "data", "mount", dataset, str(at)],
        env={**slipway.env, "SLIPWAY_HOME": str(slipway.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout.readline().strip() == str(at)
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def read_through(path):
    buffer = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def read_files(paths):
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            file.read()


def epoch(top, names):
    """Every file once, in a random order, by four readers."""
    shuffled = list(names)
    random.Random(time.monotonic()).shuffle(shuffled)
    parts = [[f"{top}/{name}" for name in shuffled[i::READERS]] for i in range(READERS)]
    with ProcessPoolExecutor(READERS) as pool:
        list(pool.map(len, [[]] * READERS))  # the readers are there
        return timed(lambda: list(pool.map(read_files, parts)))


def run(*command):
    return timed(lambda: subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL))


def large_file(_):
    with folder() as top, server() as slipway, Nginx(top / "www") as nginx:
        (top / "www").mkdir()
        url = nginx.put("large.bin", os.urandom(1 << 20) * 1024)
        create(slipway, "large", url)
        ours, curl, rclone = [], [], []
        for number in range(3):
            ours.append(
                timed(lambda n=number: slipway.cli("data", "download", "large", top / f"d{n}", timeout=300))
            )
            curl.append(run("curl", "-s", "-o", top / "curl.bin", url))
            rclone.append(run("rclone", "copyurl", url, top / "rclone.bin"))
        yield Row(
            "download 1 GiB over loopback HTTP",
            GIB / 1e6 / min(curl),
            GIB / 1e6 / min(ours),
            "MB/s",
            "more",
            GIB / 1e6 / min(curl),
            f"bar and peer: curl; rclone copyurl {GIB / 1e6 / min(rclone):,.0f} MB/s",
        )
        yield from large_mount(slipway, top, min(curl))


def large_mount(slipway, top, curl):
    at = top / "view"
    cold = []
    for _ in range(3):
        shutil.rmtree(slipway.home / "cache", ignore_errors=True)
        with mounted(slipway, "large", at):
            cold.append(timed(lambda: read_through(at / "large.bin")))
    yield Row(
        "mount: read 1 GiB in order, cold, over loopback HTTP",
        0.7 * GIB / 1e6 / curl,
        GIB / 1e6 / min(cold),
        "MB/s",
        "more",
        GIB / 1e6 / curl,
        "bar: 70 % of the peer, curl to a file",
    )
    cached = max(
        (path for path in (slipway.home / "cache").rglob("*") if path.is_file()),
        key=lambda p: p.stat().st_size,
    )
    direct = min(timed(lambda: read_through(cached)) for _ in range(3))
    warm = []
    for _ in range(3):
        with mounted(slipway, "large", at):
            warm.append(timed(lambda: read_through(at / "large.bin")))
    yield Row(
        "mount: read 1 GiB in order, cached",
        0.7 * GIB / 1e6 / direct,
        GIB / 1e6 / min(warm),
        "MB/s",
        "more",
        GIB / 1e6 / direct,
        "bar: 70 % of the peer, the cached file itself; first read of a new mount",
    )


def many_files(_):
    count, size, sample = 10_000, 10_000, 300
    with folder() as top, server() as slipway, Nginx(top / "www") as nginx:
        (top / "www").mkdir()
        body = bytearray(os.urandom(size))
        urls = []
        for number in range(count):
            body[:8] = number.to_bytes(8, "little")
            urls.append(nginx.put(f"{number}.bin", bytes(body)))
        create(slipway, "many", *urls)
        ours = min(
            timed(lambda n=n: slipway.cli("data", "download", "many", top / f"d{n}", timeout=300))
            for n in range(2)
        )
        curl = sum(run("curl", "-s", "-o", top / "one", url) for url in urls[:sample]) * count / sample
    yield Row(
        "download 10,000 files of 10 KB over loopback HTTP",
        5 * count / curl,
        count / ours,
        "files/s",
        "more",
        count / curl,
        "bar: 5 times the peer, one curl a file (300 of them measured)",
    )


def small_mount(_):
    with folder() as top, server() as slipway:
        images = top / "images"
        small_files(images)
        names = [f"{number % 10}/{number}.png" for number in range(60_000)]
        add_datastore(slipway, "images", images)
        create(slipway, "pictures", "images:**")
        local = min(epoch(images, names) for _ in range(3))
        with mounted(slipway, "pictures", top / "view"):
            first = epoch(top / "view", names)
            ours = min(epoch(top / "view", names) for _ in range(3))
        with mounted(slipway, "pictures", top / "view"):
            again = epoch(top / "view", names)
    yield Row(
        "mount: 4 readers shuffle 60,000 small files, an epoch after the first",
        0.5 * len(names) / local,
        len(names) / ours,
        "files/s",
        "more",
        len(names) / local,
        f"bar: 50 % of the peer, the local folder; first epoch {len(names) / first:,.0f} /s, "
        f"first of a new mount with all of it cached {len(names) / again:,.0f} /s",
    )


def mounted_listing(_):
    with folder() as top, server() as slipway:
        images = top / "images"
        images.mkdir()
        for number in range(100_000):
            (images / f"{number:06}.txt").write_bytes(b"%d" % number)
        add_datastore(slipway, "images", images)
        create(slipway, "wide", "images:**")
        with mounted(slipway, "wide", top / "view") as pid:
            seconds = timed(lambda: sum(entry.is_file() for entry in os.scandir(top / "view")))
            assert len(os.listdir(top / "view")) == 100_000
            memory = resident_bytes(pid) / 1e6
        peer = timed(lambda: sum(entry.is_file() for entry in os.scandir(images)))
    yield Row(
        "mount: list a folder of 100,000 files", 1, seconds, "s", peer=peer, note="peer: the local folder"
    )
    yield Row("the same: memory of the process that serves it", 200, memory, "MB")


TRANSFER_ROWS = {
    "data-large": large_file,
    "data-many": many_files,
    "data-small-mount": small_mount,
    "data-listing": mounted_listing,
}
