"""Faults of the server and its store: 1, 4, 5, 8, 11."""

import contextlib
import hashlib
import http.client
import random
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import pytest
from support.http import request
from support.processes import kill_and_wait, lock_owner, wait_until
from support.server import FINAL, W


def patiently(action, timeout=30):
    """Repeats what may be repeated until the server is back: the way every client of Slipway behaves."""
    end = time.monotonic() + timeout
    while True:
        try:
            return action()
        except (OSError, http.client.HTTPException, AssertionError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


# -- 1: killed before and after every commit ----------------------------------------------------------------


def workload(slipway, key):
    """Touches every transition: a good run, a failing one, a canceled one. Gives the runs by their expected end."""
    good = patiently(
        lambda: slipway.submit("echo out; mkdir -p outputs; echo kept > outputs/f", key=f"{key}-good")
    )
    bad = patiently(lambda: slipway.submit("exit 3", key=f"{key}-bad"))
    stop = patiently(lambda: slipway.submit("sleep 60", key=f"{key}-stop"))

    def canceled():
        answer = slipway.http("POST", f"{W}/runs/{stop}/cancel")
        assert answer.status in {202, 409}, answer

    patiently(canceled)
    return {good: "Completed", bad: "Failed", stop: "Canceled"}


def ends_as_expected(slipway, runs):
    for run, state in runs.items():
        ended = slipway.wait(run)
        assert ended["state"] == state, ended
        events = slipway.events(run)
        assert [event["state"] in FINAL for event in events].count(True) == 1, events
        if state == "Completed":
            assert slipway.log(run) == b"out\n" and slipway.file(run, "outputs/f") == b"kept\n"
    assert len(slipway.items(f"{W}/runs")) == len(runs), "a retried submit made a second run"


def recorded_failpoints(dev, tmp_path):
    record = tmp_path / "failpoints"
    dev.up(env={"SLIPWAY_FAILPOINT_RECORD": str(record)})
    ends_as_expected(dev, workload(dev, "record"))
    dev.down("--cancel")
    return sorted(set(record.read_text().split()))


# The parts of the program that the server's process passes; those of nodes are in test_node_faults.py. Migrations are
# killed by the store's own tests, which have stores to migrate.
SERVER_PARTS = {"blob", "delete", "file", "local_engine", "log", "run", "store", "submit"}
# The places that every transition passes are visited often enough to meet each of them.
OFTEN = {"run.before_transition", "run.after_transition"}
SHARDS = 3


def visits(names):
    for name in names:
        if (name.split(".")[0] in SERVER_PARTS and "migration" not in name) or name == "journal.after_logs":
            for passing in (1, 2, 4, 7, 11) if name in OFTEN else (1, 3):
                yield name, passing


@pytest.mark.dev
@pytest.mark.timeout(600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_server_killed_at_every_failpoint_loses_nothing_and_does_nothing_twice(dev, tmp_path, shard):
    names = recorded_failpoints(dev, tmp_path)
    assert {"run.before_transition", "store.after_commit", "submit.after_commit"} <= set(names), names
    for name, passing in list(visits(names))[shard::SHARDS]:
        # At some places it dies before it answers.
        dev.up(env={"SLIPWAY_FAILPOINTS": f"{name}=kill@{passing}"}, check=False)
        keeper = Keeper(dev)
        try:
            for run, state in workload(dev, f"{name}-{passing}").items():
                assert dev.wait(run)["state"] == state, (name, passing, dev.run(run))
        finally:
            keeper.stop()
        dev.down("--cancel")


class Keeper:
    """Starts the server of a home again whenever it is gone, as an init system would."""

    def __init__(self, slipway):
        self.slipway = slipway
        self.restarts = 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.stopping.wait(0.05):
            if lock_owner(self.slipway.home / "server.lock") is None:
                with contextlib.suppress(AssertionError, OSError, subprocess.TimeoutExpired):
                    self.slipway.again()
                    self.restarts += 1

    def stop(self):
        self.stopping.set()
        self.thread.join()


@pytest.mark.soak
@pytest.mark.parametrize("offset", range(2))
def test_kill_loop_keeps_every_acknowledged_run(slipway, seed, offset):
    rng = random.Random(seed * 1000 + offset)
    keeper = Keeper(slipway)
    acknowledged = {}
    try:
        killer = threading.Thread(target=kill_now_and_then, args=(slipway, rng.random(), 6), daemon=True)
        killer.start()
        number = 0
        while killer.is_alive():
            if number == 40:  # they run one after the other: more would only wait
                killer.join()
                break
            code = rng.choice([0, 0, 0, 9])
            text = f"line {number}"
            run = patiently(
                lambda text=text, code=code, number=number: slipway.submit(
                    f"echo {text}; sleep 0.{rng.randint(0, 3)}; exit {code}", key=f"n{number}"
                )
            )
            acknowledged[run] = (code, text)
            number += 1
        killer.join()
        for run, (code, text) in acknowledged.items():
            ended = slipway.wait(run)
            assert ended["exit_code"] == code, ended
            assert slipway.log(run).decode() == text + "\n"
    finally:
        keeper.stop()
    assert len(slipway.items(f"{W}/runs")) == len(acknowledged)
    assert keeper.restarts >= 1  # how many fit depends on the machine


def kill_now_and_then(slipway, seed, times):
    rng = random.Random(seed)
    for _ in range(times):
        pid = wait_until(lambda: lock_owner(slipway.home / "server.lock"), 60, "no server to kill")
        time.sleep(rng.uniform(0.02, 0.8))
        kill_and_wait(pid)


# -- 4, 5, 8, 11 ----------------------------------------------------------------------------------------------


def test_second_server_on_the_same_home_refuses(slipway):
    pid = slipway.server_pid
    second = slipway.cli("server", "--listen", "127.0.0.1:0", check=False, timeout=60)
    assert second.returncode == 6, second
    assert "already" in second.stderr and str(slipway.home) in second.stderr, second.stderr
    assert slipway.server_pid == pid
    slipway.completed(slipway.submit("true"))


def test_up_on_a_running_home_says_so(slipway):
    again = slipway.up(check=False)
    assert again.returncode in {0, 6}
    assert slipway.url in again.stdout + again.stderr


def test_locked_store_gives_503_in_bounded_time_and_recovers(slipway):
    other = sqlite3.connect(slipway.home / "slipway.db", timeout=5, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        answer = slipway.http("POST", f"{W}/runs", {"command": ["true"]}, timeout=60)
        took = time.monotonic() - start
        assert answer.status == 503, answer
        assert int(answer.headers["retry-after"]) >= 1
        assert took < 30
        assert slipway.http("GET", f"{W}/runs").status == 200, "reads go on"
    finally:
        other.execute("ROLLBACK")
        other.close()
    run = patiently(lambda: slipway.submit("true"))
    slipway.completed(run)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 128 MiB that a test can fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128m,mode=700", "tmpfs", folder], capture_output=True, text=True
    )
    assert mounted.returncode == 0, (
        f"mounting a small file system needs root: run it as root; {mounted.stderr}"
    )
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def fill(path):
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 65536)
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0")


@pytest.mark.root
def test_full_disk_makes_the_server_read_only_and_space_heals_it(stopped, small_disk):
    stopped.home = small_disk / "home"
    stopped.up()
    before = stopped.submit("echo before")
    stopped.completed(before)
    filler = small_disk / "filler"
    fill(filler)

    def refused():
        answer = stopped.http(
            "POST", f"{W}/runs", {"command": ["true"], "tags": {f"k{i}": "x" * 4000 for i in range(5)}}
        )
        return answer if answer.status >= 400 else None

    answer = wait_until(refused, 20, "a full disk accepted everything")
    assert answer.status in {503, 507}, answer
    assert "space" in answer.error["message"] + answer.error["next"] or "full" in answer.error["message"]
    health = request(stopped.url, "GET", "/health")
    assert (health.status, health.json()["status"]) == (503, "degraded"), health
    assert stopped.log(before) == b"before\n", "reads go on"
    filler.unlink()

    def accepted():
        answer = stopped.http("POST", f"{W}/runs", {"command": ["/bin/echo", "after"]})
        return answer.json()["id"] if answer.status == 201 else None

    after = wait_until(accepted, 30, "the server did not recover")
    stopped.completed(after)
    assert request(stopped.url, "GET", "/health").json() == {"status": "ok"}
    down_and_check(stopped)


def down_and_check(slipway):
    """The disk goes away with the test, so the invariants are checked inside it."""
    from support import invariants

    invariants.check(slipway)
    slipway.started = False


@pytest.mark.root
def test_job_is_unaffected_by_a_full_log_disk_and_ends_once_there_is_space(stopped, small_disk):
    stopped.home = small_disk / "home"
    stopped.up()
    filler = small_disk / "filler"
    filler.write_bytes(b"\0" * (88 << 20))  # what is left holds neither the journal nor the log
    run = stopped.submit(
        "head -c 40000000 /dev/zero | tr '\\0' x; echo through > /tmp/$SLIPWAY_RUN_ID; exit 4"
    )
    witness = Path("/tmp") / run
    try:
        wait_until(witness.exists, 60, "the job waited for the disk")
    finally:
        witness.unlink(missing_ok=True)
    filler.unlink()
    ended = wait_until(lambda: (now := stopped.run(run))["state"] in FINAL and now, 90, "the run did not end")
    assert ended["exit_code"] == 4, ended
    if len(stopped.log(run)) != 40_000_000:
        assert any("not kept" in warning for warning in ended["warnings"]), ended
    stopped.completed(patiently(lambda: stopped.submit("true")))
    down_and_check(stopped)


def set_version(path, version):
    """Writes the schema's version; gives the one that was there."""
    with contextlib.closing(sqlite3.connect(path)) as store:
        before = store.execute("PRAGMA user_version").fetchone()[0]
        store.execute(f"PRAGMA user_version = {version}")
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return before


def test_store_of_a_newer_program_is_refused_and_left_alone(slipway):
    slipway.completed(slipway.submit("true"))
    slipway.down("--cancel")
    path = slipway.home / "slipway.db"
    version = set_version(path, 9999)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    refused = slipway.up(check=False)
    assert refused.returncode == 6, refused
    assert "newer" in refused.stderr
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    set_version(path, version)
    slipway.up()


def test_damaged_store_is_refused_with_a_sentence(slipway):
    slipway.completed(slipway.submit("true"))
    slipway.down("--cancel")
    path = slipway.home / "slipway.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * 8192 + whole[12288:])
    refused = slipway.up(check=False)
    assert refused.returncode != 0
    assert "slipway.db" in refused.stderr and "damaged" in refused.stderr, refused.stderr
    path.write_bytes(whole)
    slipway.up()


def test_runs_survive_a_stop_that_leaves_them(slipway):
    run = slipway.submit("sleep 1.5; echo survived; exit 6")
    slipway.wait_for(run, "Running")
    slipway.kill_server()
    time.sleep(0.3)
    slipway.again()
    ended = slipway.wait(run)
    assert ended["exit_code"] == 6 and slipway.log(run) == b"survived\n"
    assert [event["kind"] for event in slipway.events(run)].count("started") == 1
