"""Nodes cut off for a while, and for too long: 19, 22, 25; and the log quota: 31."""

import os
import signal
import time

import pytest
from support.processes import kill, marked_with, wait_until
from support.server import W

QUICK = {"SLIPWAY_HEARTBEAT": "200ms", "SLIPWAY_SILENCE": "1500ms", "SLIPWAY_GRACE": "4s"}


@pytest.fixture
def quick(stopped):
    """A server that loses patience in seconds instead of minutes."""
    stopped.up(env=QUICK)
    return stopped


def frozen(slipway, run):
    """Freezes the agent of the run, which is what a cut network looks like to the server."""
    pid = slipway.agent_pid(slipway.run(run)["nodes"][0])
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_node_that_comes_back_in_time_keeps_its_run(stopped):
    stopped.up(env={**QUICK, "SLIPWAY_GRACE": "120s"})
    run = stopped.submit("sleep 3; echo same attempt; exit 5")
    stopped.wait_for(run, "Running")
    pid = frozen(stopped, run)
    stopped.wait_for(run, "NotResponding")
    os.kill(pid, signal.SIGCONT)
    ended = stopped.wait(run)
    assert (ended["attempt"], ended["exit_code"]) == (1, 5)
    assert stopped.log(run) == b"same attempt\n"
    assert [event["kind"] for event in stopped.events(run)].count("started") == 1


def test_lost_node_is_replaced_and_its_late_success_counts_for_nothing(quick):
    run = quick.submit(
        "echo attempt $SLIPWAY_ATTEMPT; [ $SLIPWAY_ATTEMPT = 2 ] || sleep 6; exit $((SLIPWAY_ATTEMPT + 10))"
    )
    quick.wait_for(run, "Running")
    pid = frozen(quick, run)
    try:
        ended = quick.wait(run)
        assert (ended["attempt"], ended["exit_code"]) == (2, 12), ended
    finally:
        kill(pid, signal.SIGCONT)  # the lost node's agent may have been ended already
    wait_until(lambda: not marked_with(run), 15, "the fenced attempt lives on")
    assert quick.run(run) == ended
    assert quick.log(run, attempt=2) == b"attempt 2\n"


def test_restarted_server_loses_nobody_for_one_full_grace(quick):
    run = quick.submit("sleep 3; exit 6")
    quick.wait_for(run, "Running")
    quick.kill_server()
    time.sleep(5)  # longer than the grace: silence that is the server's own fault
    quick.again(env=QUICK)
    ended = quick.wait(run)
    assert (ended["attempt"], ended["exit_code"]) == (1, 6)


def test_busy_machine_does_not_starve_heartbeats(quick):
    burn = quick.submit(
        "python3", "-c", "import time\nt=time.time()\nwhile time.time()-t<3: sum(range(10000))"
    )
    quick.completed(burn)
    assert "NotResponding" not in [event["state"] for event in quick.events(burn)]


def test_log_beyond_the_quota_is_dropped_with_a_mark_and_the_job_goes_on(stopped):
    stopped.up(env={"SLIPWAY_LOG_QUOTA": "1MB"})
    run = stopped.submit(
        "head -c 5000000 /dev/zero | tr '\\0' x; mkdir -p outputs; echo kept > outputs/f; exit 3"
    )
    ended = stopped.wait(run)
    assert ended["exit_code"] == 3
    assert 0 < len(stopped.log(run)) < 3_000_000
    assert any("dropped" in warning or "quota" in warning for warning in ended["warnings"]), ended["warnings"]
    assert stopped.file(run, "outputs/f") == b"kept\n"
    logs = stopped.items(f"{W}/runs/{run}/logs")
    assert sum(log["size"] for log in logs) < 3_000_000
