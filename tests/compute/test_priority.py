"""Who goes first and who gives way: priorities of jobs and of clusters, with real processes that are stopped and go on.

SIGTERM, the grace, back into the queue, the outputs there again at the next attempt; and nobody starves.
"""

import contextlib
import http.client
import signal
import time

import pytest
from support import processes
from support.jobs import until
from support.processes import wait_until
from support.server import W

# Counts in ./outputs how often it was stopped, and ends by itself once that has happened $STOPS times. It is ready to
# be stopped before it says where it begins, which is what tests wait for.
CHECKPOINTS = """
mkdir -p outputs
n=$(cat outputs/n 2>/dev/null || echo 0)
trap 'echo $((n + 1)) > outputs/n; exit 3' TERM
echo "from $n"
[ "$n" -ge "$STOPS" ] && exit 0
while :; do sleep 0.05; done
"""


def create(slipway, name="c", **options):
    body = {"name": name, "max_nodes": 1, "idle_seconds": 60, "cpus": 1, **options}
    return slipway.api("POST", f"{W}/compute", body)


def low_run(slipway, script=CHECKPOINTS, stops=1, **job):
    """One that has begun, and loses no attempt of its only one by giving way."""
    job = {"compute": "c", "priority": "low", "max_attempts": 1, "variables": {"STOPS": str(stops)}, **job}
    run = slipway.submit(script, **job)
    wait_until(lambda: b"from 0" in slipway.log(run), 30, "it did not begin")
    return run


def went_on_from(slipway, run, stops):
    wait_until(
        lambda: slipway.log(run, attempt=stops + 1) == b"from %d\n" % stops,
        30,
        f"it did not go on from {stops}",
    )


def deaf_until(gate):
    """A command that ends once there is that file, whatever it is told before."""
    return f"trap '' TERM; echo from 0; {until(gate)}"


def time_line(slipway, run):
    return [(event["kind"], event["state"], event["attempt"]) for event in slipway.events(run)]


def reason_of(slipway, run, kind, attempt=1):
    return next(
        event["reason"]
        for event in slipway.events(run)
        if event["kind"] == kind and event["attempt"] == attempt
    )


def test_low_run_gives_its_node_to_a_normal_one_and_goes_on_from_its_outputs(slipway):
    create(slipway)
    low = low_run(slipway)
    normal = slipway.submit("sleep 0.2", compute="c")
    slipway.completed(normal)
    ended = slipway.completed(low)
    assert (ended["attempt"], ended["preemptions"], ended["gives_way_to"]) == (2, 1, None)
    assert slipway.log(low, attempt=2) == b"from 1\n"
    assert slipway.file(low, "outputs/n") == b"1\n"
    kept = [
        entry for entry in time_line(slipway, low) if entry[0] in {"preemption-asked", "finished", "placed"}
    ]
    assert kept == [
        ("placed", "Preparing", 1),
        ("preemption-asked", "Running", 1),
        ("finished", "Queued", 1),
        ("placed", "Preparing", 2),
        ("finished", "Completed", 2),
    ]
    assert reason_of(slipway, low, "preemption-asked") == f"gives way to {normal} (priority normal)"
    assert reason_of(slipway, low, "finished").endswith("; it goes on from its outputs when there is room")
    assert reason_of(slipway, normal, "room-asked", attempt=0) == f"{low} gives way to it"
    shown = slipway.cli("run", "show", low).stdout
    assert "gave way" in shown and "once" in shown and f"gives way to {normal}" in shown


def test_run_that_ignores_sigterm_is_killed_after_its_grace_and_waits_again(slipway):
    create(slipway)
    script = """
    trap '' TERM
    echo from 0
    [ "$SLIPWAY_ATTEMPT" = 2 ] && exit 0
    while :; do sleep 0.05; done
    """
    low = low_run(slipway, script, grace_seconds=0.5)
    slipway.completed(slipway.submit("true", compute="c"))
    assert slipway.completed(low)["preemptions"] == 1
    reason = reason_of(slipway, low, "exited")
    assert "it was killed, since it went on for" in reason and "after SIGTERM" in reason, reason


def test_run_that_gave_way_three_times_is_left_alone(slipway):
    create(slipway)
    script = CHECKPOINTS.replace("exit 0", "sleep 1.5 && exit 0")
    low = low_run(slipway, script, stops=3)
    for count in (1, 2, 3):
        slipway.completed(slipway.submit("true", compute="c", priority="high"))
        went_on_from(slipway, low, count)
    patient = slipway.submit("true", compute="c", priority="high")
    low_ended = slipway.completed(low)
    assert (low_ended["attempt"], low_ended["preemptions"]) == (4, 3)
    assert slipway.completed(patient)["started_at"] >= low_ended["ended_at"]


def test_equals_wait_for_each_other_and_the_higher_goes_first(slipway):
    create(slipway)
    first = slipway.submit('[ "$SLIPWAY_ATTEMPT" = 2 ] || sleep 600', compute="c")
    slipway.wait_for(first, "Running")
    later = [slipway.submit("true", compute="c", priority=level) for level in ("low", "normal", "high")]
    ended = [slipway.completed(run) for run in (first, *later)]
    assert [run["preemptions"] for run in ended] == [1, 0, 0, 0]  # the high one took its place
    starts = [run["started_at"] for run in ended]
    assert starts[3] < starts[0] and starts[3] < starts[2] < starts[1]


def test_low_run_overtakes_those_that_came_later_once_it_has_waited(stopped, tmp_path):
    stopped.up(env={"SLIPWAY_AGEING": "1s"})
    create(stopped)
    first = stopped.submit(deaf_until(tmp_path / "gate"), compute="c")
    stopped.wait_for(first, "Running")
    low = stopped.submit("true", compute="c", priority="low")
    normal = stopped.submit("true", compute="c")
    time.sleep(2.2)  # at the least: two steps of ageing, after which both stand as high as one can
    (tmp_path / "gate").touch()
    ended = [stopped.completed(run) for run in (low, normal)]
    assert ended[0]["started_at"] < ended[1]["started_at"]


def test_runs_of_a_low_cluster_make_room_for_those_of_dedicated_ones(slipway):
    create(slipway, "cheap", priority="low", cpus=0)  # all of the machine's
    low = low_run(slipway, compute="cheap", priority="high")
    dedicated = slipway.submit("sleep 1", priority="low")
    wait_until(lambda: slipway.run(low)["preemptions"] == 1, 20, "it did not give way")
    wait_until(
        lambda: (
            "runs of dedicated clusters leave less than" in slipway.run(low)["waiting_because"]
            or slipway.run(dedicated)["state"] == "Completed"
        ),
        10,
    )
    dedicated_ended = slipway.completed(dedicated)
    assert slipway.completed(low)["started_at"] >= dedicated_ended["started_at"]
    assert slipway.log(low, attempt=2) == b"from 1\n"
    assert "since cheap has low priority" in reason_of(slipway, low, "preemption-asked")


def test_gang_gives_way_as_a_whole_and_each_file_stays_the_one_that_was_written_last(slipway):
    create(slipway, max_nodes=2)
    script = """
    mkdir -p outputs
    trap '[ $SLIPWAY_NODE_RANK = 0 ] && echo 1 > outputs/n; exit 0' TERM
    echo "from $(cat outputs/n 2>/dev/null || echo 0)"
    if [ "$SLIPWAY_ATTEMPT" = 2 ]; then
      [ "$SLIPWAY_NODE_RANK" = 0 ] && echo last > outputs/n
      [ "$SLIPWAY_NODE_RANK" = 1 ] && sleep 1
      exit 0
    fi
    while :; do sleep 0.05; done
    """
    low = low_run(slipway, script, nodes=2)
    slipway.completed(slipway.submit("true", compute="c"))
    assert slipway.completed(low)["preemptions"] == 1
    assert [slipway.log(low, attempt=2, rank=rank) for rank in (0, 1)] == [b"from 1\n", b"from 1\n"]
    assert slipway.file(low, "outputs/n") == b"last\n"


def test_run_that_is_canceled_while_it_gives_way_is_canceled(slipway, tmp_path):
    create(slipway)
    low = low_run(slipway, deaf_until(tmp_path / "gate"), grace_seconds=120)
    normal = slipway.submit("true", compute="c")
    wait_until(lambda: slipway.run(low)["gives_way_to"] == normal, 30, "it was not asked")
    wait_until(
        lambda: slipway.run(normal)["waiting_because"] == f"{low} is ending to give way to this run", 30
    )
    slipway.cli("run", "cancel", low)
    (tmp_path / "gate").touch()
    ended = slipway.wait(low)
    assert (ended["state"], ended["gives_way_to"]) == ("Canceled", None)
    slipway.completed(normal)


def test_preemption_survives_the_server(slipway):
    """Killed once it is written down and nobody has been told, and again while the run is within its grace."""
    create(slipway)
    low = low_run(slipway, CHECKPOINTS.replace("exit 3", "sleep 1; exit 3"))
    agent = slipway.agent_pid(slipway.run(low)["nodes"][0])
    processes.kill(agent, signal.SIGSTOP)
    try:
        normal = slipway.submit("true", compute="c")
        wait_until(lambda: slipway.run(low)["gives_way_to"] == normal, 10, "it was not asked")
        slipway.kill_server()
    finally:
        processes.kill(agent, signal.SIGCONT)
    slipway.again()
    wait_until(
        lambda: list(slipway.home.glob(f"nodes/*/attempts/{low}.1.0/work/outputs/n")),
        20,
        "it was not told to end",
    )
    slipway.kill_server()
    slipway.again()
    slipway.completed(normal)
    ended = slipway.completed(low)
    assert (ended["attempt"], ended["preemptions"]) == (2, 1)
    assert slipway.log(low, attempt=2) == b"from 1\n"
    assert [kind for kind, _, _ in time_line(slipway, low)].count("preemption-asked") == 1


@pytest.mark.dev
def test_server_killed_right_after_it_wrote_a_preemption_down_asks_for_it_once(dev):
    dev.up(env={"SLIPWAY_FAILPOINTS": "preempt.after_commit=kill@1"})
    create(dev)
    low = low_run(dev)
    with contextlib.suppress(OSError, http.client.HTTPException):  # it may die before it answers
        dev.submit("true", compute="c", key="normal")
    wait_until(lambda: processes.lock_owner(dev.home / "server.lock") is None, 60, "it was not killed")
    dev.again()
    normal = dev.submit("true", compute="c", key="normal")
    dev.completed(normal)
    ended = dev.completed(low)
    assert (ended["attempt"], ended["preemptions"]) == (2, 1)
    assert dev.log(low, attempt=2) == b"from 1\n"
    assert reason_of(dev, low, "preemption-asked") == f"gives way to {normal} (priority normal)"
    again = [entry for entry in time_line(dev, low) if entry[0] in {"preemption-asked", "placed"}]
    assert again == [
        ("placed", "Preparing", 1),
        ("preemption-asked", "Running", 1),
        ("placed", "Preparing", 2),
    ]


@pytest.mark.parametrize("priority", ["urgent", "", 3, ["low"]])
def test_priority_that_there_is_not_is_refused(slipway, priority):
    answer = slipway.http("POST", f"{W}/runs", {"command": ["true"], "priority": priority})
    assert answer.status == 400, answer
    assert "priority" in answer.json()["error"]["message"]


def test_command_line_offers_the_priorities(slipway):
    refused = slipway.cli("submit", "--priority", "urgent", "--", "true", check=False)
    assert refused.returncode == 2 and "low" in refused.stderr and "high" in refused.stderr
    run = slipway.cli_json("submit", "--no-source", "--priority", "high", "--", "true")
    assert run["job"]["priority"] == "high"
    slipway.completed(run["id"])
