"""The node's cache on a disk that is full, or gone: space is freed, it is made again, or the run fails clearly."""

import os
import shutil
import subprocess

import pytest
from support.data import create
from support.web_server import WebServer

MB = 1 << 20


@pytest.fixture
def small(stopped):
    """A server whose node has its cache on a disk of 24 MiB."""
    cache = stopped.home / "cache"
    cache.mkdir(mode=0o700, parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", cache], check=True)
    stopped.up()
    yield stopped
    subprocess.run(["umount", "-l", cache], check=True)


def run_with(slipway, dataset, mode="download"):
    run = slipway.submit(
        "cat $d > copy && wc -c < copy", inputs={"d": {"dataset": dataset, "mode": mode}}, max_attempts=1
    )
    return slipway.wait(run), slipway.log(run)


def test_full_disk_takes_what_was_used_longest_ago(small):
    with WebServer() as web:
        for name in ("one", "two", "three"):
            create(small, name, web.put(name, os.urandom(15 * MB)))
        for name in ("one", "two", "three"):
            ended, log = run_with(small, name)
            assert (ended["state"], log) == ("Completed", b"%d\n" % (15 * MB)), ended
        assert small.wait(small.submit("true"))["state"] == "Completed"


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_file_larger_than_the_disk_fails_the_run_clearly(small, mode):
    with WebServer() as web:
        create(small, "huge", web.put("huge", os.urandom(40 * MB)))
        ended, log = run_with(small, "huge", mode)
    assert ended["state"] == "Failed"
    if mode == "download":
        assert "no room for 'huge' of huge:1" in ended["reason"], ended
    else:
        assert b"No space left on device" in log


@pytest.mark.parametrize("size", [1000, 3 * MB])
def test_cache_that_was_removed_is_filled_again(slipway, size):
    """It is only a cache: a user who removes the folder to have the space back loses no run."""
    content = os.urandom(size)
    with WebServer() as web:
        create(slipway, "first", web.put("first", content))
        create(slipway, "second", web.put("second", content[::-1]))
        for dataset in ("first", "second", "first"):
            ended, log = run_with(slipway, dataset)
            assert (ended["state"], log) == ("Completed", b"%d\n" % size), ended
            shutil.rmtree(slipway.home / "cache")


def test_cache_that_cannot_be_written_fails_the_run_with_its_reason(slipway, tmp_path):
    """It waits for a server that is away, and not for a disk that is broken."""
    (tmp_path / "data.txt").write_text("here\n")
    slipway.completed(slipway.submit("true"))  # by then the node has opened it
    shutil.rmtree(slipway.home / "cache")
    (slipway.home / "cache").write_text("a file where the folder was")
    submitted = slipway.cli_json("submit", "--", "cat", "data.txt", cwd=tmp_path)
    ended = slipway.wait(submitted["id"])
    assert ended["state"] == "Failed"
    assert "the code of the run could not be placed" in ended["reason"], ended
    assert str(slipway.home / "cache") in ended["reason"], ended
    (slipway.home / "cache").unlink()
    submitted = slipway.cli_json("submit", "--", "cat", "data.txt", cwd=tmp_path)
    slipway.completed(submitted["id"])
    assert slipway.log(submitted["id"]) == b"here\n"
