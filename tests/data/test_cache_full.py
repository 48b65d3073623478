"""The node's cache on a disk that is full: space is freed, or the run fails clearly."""

import os
import subprocess

import pytest
from support.data import create
from support.web_server import WebServer

MB = 1 << 20


@pytest.fixture
def small_cache(slipway):
    """The cache of this home on a disk of 24 MiB."""
    cache = slipway.home / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", cache], check=True)
    yield cache
    subprocess.run(["umount", "-l", cache], check=True)


def run_with(slipway, dataset, mode="download"):
    run = slipway.submit(
        "cat $d > copy && wc -c < copy", inputs={"d": {"dataset": dataset, "mode": mode}}, max_attempts=1
    )
    return slipway.wait(run), slipway.log(run)


def test_full_disk_takes_what_was_used_longest_ago(slipway, small_cache):
    with WebServer() as web:
        for name in ("one", "two", "three"):
            create(slipway, name, web.put(name, os.urandom(15 * MB)))
        for name in ("one", "two", "three"):
            ended, log = run_with(slipway, name)
            assert (ended["state"], log) == ("Completed", b"%d\n" % (15 * MB)), ended
        assert slipway.wait(slipway.submit("true"))["state"] == "Completed"


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_file_larger_than_the_disk_fails_the_run_clearly(slipway, small_cache, mode):
    with WebServer() as web:
        create(slipway, "huge", web.put("huge", os.urandom(40 * MB)))
        ended, log = run_with(slipway, "huge", mode)
    assert ended["state"] == "Failed"
    if mode == "download":
        assert "no room for 'huge' of huge:1" in ended["reason"], ended
    else:
        assert b"No space left on device" in log
