"""Cancel, at every moment of a run's life (faults 27 and 28)."""

import random
import threading
import time

import pytest
from support.processes import marked_with, wait_until
from support.server import W


def cancel(slipway, run):
    return slipway.http("POST", f"{W}/runs/{run}/cancel")


def test_running_job_gets_sigterm_and_may_clean_up(slipway):
    run = slipway.submit("trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
    wait_until(lambda: b"ready" in slipway.log(run), 15)
    assert cancel(slipway, run).status == 202
    ended = slipway.wait(run)
    assert ended["state"] == "Canceled"
    assert b"cleaned" in slipway.log(run).splitlines()


def test_ignored_sigterm_is_followed_by_sigkill_after_the_grace(slipway):
    run = slipway.submit("trap '' TERM; echo ready; while :; do sleep 0.05; done", grace_seconds=1)
    wait_until(lambda: b"ready" in slipway.log(run), 15)
    start = time.monotonic()
    cancel(slipway, run)
    ended = slipway.wait(run)
    assert ended["state"] == "Canceled"
    assert time.monotonic() - start > 0.9
    assert "killed" in ended["reason"] and "SIGTERM" in ended["reason"], ended


def test_queued_run_is_canceled_at_once_and_never_starts(slipway):
    slipway.api("POST", f"{W}/compute", {"name": "none", "min_nodes": 0, "max_nodes": 1, "cpus": 1})
    first = slipway.submit("sleep 60", compute="none")
    slipway.wait_for(first, "Running")
    second = slipway.submit("echo never", compute="none")
    assert cancel(slipway, second).status == 202
    ended = slipway.wait(second)
    assert ended["state"] == "Canceled" and ended["started_at"] is None
    assert "Running" not in [event["state"] for event in slipway.events(second)]


def test_canceling_twice_is_harmless_and_after_the_end_a_conflict(slipway):
    run = slipway.submit("sleep 60")
    slipway.wait_for(run, "Running")
    assert [cancel(slipway, run).status, cancel(slipway, run).status] == [202, 202]
    assert slipway.wait(run)["state"] == "Canceled"
    assert cancel(slipway, run).status == 409
    done = slipway.submit("true")
    slipway.completed(done)
    assert cancel(slipway, done).status == 409
    assert slipway.run(done)["state"] == "Completed"


@pytest.mark.parametrize("round", range(3))
def test_cancel_at_any_moment_of_a_short_run_ends_it_cleanly(slipway, seed, round):
    rng = random.Random(seed * 100 + round)
    runs = []
    for _ in range(12):
        run = slipway.submit("sleep 0.1")
        delay = rng.uniform(0, 0.25)
        timer = threading.Timer(delay, cancel, (slipway, run))
        timer.start()
        runs.append((run, timer))
    for run, timer in runs:
        timer.join()
        assert slipway.wait(run)["state"] in {"Canceled", "Completed"}
    wait_until(lambda: not any(marked_with(run) for run, _ in runs), 10, "a process outlived its run")


def test_whole_process_tree_goes(slipway):
    run = slipway.submit("sleep 1000 & (setsid sleep 1000 &) ; echo ready; wait", grace_seconds=1)
    wait_until(lambda: b"ready" in slipway.log(run), 15)
    cancel(slipway, run)
    slipway.wait(run)
    wait_until(lambda: not marked_with(run), 10, "a process outlived its run")
