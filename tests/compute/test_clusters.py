"""Elastic clusters: up when runs wait, down when idle, within their limits; first in, first out."""

import itertools
import time

import pytest
from support.jobs import until
from support.processes import lock_owner, wait_until
from support.server import W


def create(slipway, name="c", **options):
    body = {"name": name, "min_nodes": 0, "max_nodes": 2, "idle_seconds": 1, "cpus": 1, **options}
    return slipway.api("POST", f"{W}/compute", body)


def live_agents(slipway):
    return [lock for lock in slipway.home.glob("nodes/*/lock") if lock_owner(lock) is not None]


def test_local_always_exists(slipway):
    assert "local" in [cluster["name"] for cluster in slipway.items(f"{W}/compute")]
    assert slipway.http("DELETE", f"{W}/compute/local").status in {400, 403, 409}


def test_scales_from_zero_and_back(slipway):
    create(slipway)
    assert slipway.nodes("c") == []
    run = slipway.submit("sleep 0.3", compute="c")
    slipway.completed(run)
    assert slipway.run(run)["nodes"][0].startswith("c-")
    wait_until(lambda: not slipway.nodes("c"), 15, "the idle node was not stopped")
    wait_until(
        lambda: not [lock for lock in live_agents(slipway) if "/c-" in str(lock)], 10, "its agent lives on"
    )


def test_starts_more_nodes_for_more_runs_up_to_the_maximum(slipway):
    create(slipway, max_nodes=2, idle_seconds=60)
    gate = slipway.folder / "gate"
    runs = [slipway.submit(until(gate), compute="c") for _ in range(4)]
    for run in runs[:2]:
        slipway.wait_for(run, "Running")
    assert len(slipway.nodes("c")) == 2
    assert all(slipway.run(run)["waiting_because"] for run in runs[2:])
    gate.touch()
    ended = [slipway.completed(run) for run in runs]
    assert {run["nodes"][0] for run in ended} == {node["id"] for node in slipway.nodes("c")}


def test_keeps_its_minimum(slipway):
    create(slipway, min_nodes=1, max_nodes=2, idle_seconds=1)
    wait_until(lambda: [node["state"] for node in slipway.nodes("c")] == ["idle"], 15, "no node came up")
    runs = [slipway.submit("sleep 0.3", compute="c") for _ in range(2)]
    for run in runs:
        slipway.completed(run)
    wait_until(lambda: len(slipway.nodes("c")) == 1, 15, "it did not go back to its minimum")
    time.sleep(1.5)
    assert len(slipway.nodes("c")) == 1


def test_limits_can_be_changed(slipway):
    create(slipway, max_nodes=1)
    slipway.api("PATCH", f"{W}/compute/c", {"min_nodes": 2, "max_nodes": 3, "idle_seconds": 60})
    wait_until(lambda: len(slipway.nodes("c")) == 2, 15)
    slipway.api("PATCH", f"{W}/compute/c", {"min_nodes": 0, "idle_seconds": 0.5})
    wait_until(lambda: not slipway.nodes("c"), 20)


def test_two_nodes_of_one_run_start_together_and_know_each_other(slipway):
    create(slipway, max_nodes=2)
    script = "r=$SLIPWAY_NODE_RANK; echo $r/$SLIPWAY_NODE_COUNT $SLIPWAY_NODES; mkdir -p outputs; echo $r > outputs/r$r"
    run = slipway.submit(script, compute="c", nodes=2)
    ended = slipway.completed(run)
    assert len(set(ended["nodes"])) == 2
    for rank in (0, 1):
        line = slipway.log(run, rank=rank).decode()
        assert line.startswith(f"{rank}/2 ")
        assert len(line.split()[1].split(",")) == 2
    assert set(slipway.files(run)) == {"outputs/r0", "outputs/r1"}


def test_run_of_two_nodes_fails_as_a_whole_when_one_fails(slipway):
    create(slipway, max_nodes=2)
    run = slipway.submit(
        '[ "$SLIPWAY_NODE_RANK" = 1 ] && exit 5; sleep 60', compute="c", nodes=2, grace_seconds=1
    )
    ended = slipway.wait(run)
    assert (ended["state"], ended["exit_code"]) == ("Failed", 5)


def test_more_nodes_than_the_cluster_may_have_is_refused(slipway):
    create(slipway, max_nodes=2)
    answer = slipway.http("POST", f"{W}/runs", {"command": ["/bin/true"], "compute": "c", "nodes": 3})
    assert answer.status in {400, 409}
    assert "2" in answer.error["message"] and "c" in answer.error["message"]
    assert slipway.items(f"{W}/runs") == []


def test_first_in_first_out_and_a_wide_run_is_not_overtaken(slipway):
    create(slipway, max_nodes=2, idle_seconds=60)
    first = slipway.submit("sleep 1", compute="c")
    slipway.wait_for(first, "Running")
    wide = slipway.submit("true", compute="c", nodes=2)
    narrow = [slipway.submit("true", compute="c") for _ in range(3)]
    for run in [wide, *narrow]:
        slipway.completed(run)
    started = {run: slipway.run(run)["started_at"] for run in [first, wide, *narrow]}
    assert started[wide] <= min(started[run] for run in narrow)


def test_runs_of_one_node_each_start_in_the_order_they_were_submitted(slipway):
    create(slipway, max_nodes=1, idle_seconds=60)
    gate = slipway.folder / "gate"
    first = slipway.submit(until(gate), compute="c")
    slipway.wait_for(first, "Running")
    waiting = [slipway.submit("true", compute="c", experiment=f"e{i % 3}") for i in range(8)]
    assert all(slipway.run(run)["waiting_because"] for run in waiting)
    gate.touch()
    ended = [slipway.completed(run) for run in [first, *waiting]]
    assert len({run["nodes"][0] for run in ended}) == 1
    for before, after in itertools.pairwise(ended):
        assert before["started_at"] < before["ended_at"] <= after["started_at"], (before, after)


def test_shares_of_one_node_are_given_out_and_taken_back(slipway):
    create(slipway, max_nodes=1, cpus=2, idle_seconds=60)
    cpus = slipway.api("GET", f"{W}/compute/c")["cpus"] / 2
    gate = slipway.folder / "gate"
    share = {"cpus": cpus, "memory_bytes": 64 << 20}
    runs = [slipway.submit(until(gate), compute="c", resources=share) for _ in range(3)]
    for run in runs[:2]:
        slipway.wait_for(run, "Running")
    node = slipway.nodes("c")[0]
    assert len(node["runs"]) == 2 and node["free"]["cpus"] == pytest.approx(0)
    assert slipway.run(runs[2])["state"] == "Queued"
    gate.touch()
    for run in runs:
        slipway.completed(run)


def test_size_larger_than_this_machine_is_clamped_with_a_warning(slipway):
    cluster = create(slipway, "huge", cpus=10000, memory_bytes=1 << 50)
    assert cluster["cpus"] < 10000 and cluster["memory_bytes"] < 1 << 50
    assert cluster["warnings"]


def test_run_that_can_never_fit_is_refused_with_the_way_out(slipway):
    create(slipway, cpus=1)
    body = {"command": ["/bin/true"], "compute": "c", "resources": {"cpus": 64}}
    answer = slipway.http("POST", f"{W}/runs", body)
    assert answer.status in {400, 409}
    assert "64" in answer.error["message"] and answer.error["next"]


def test_unknown_cluster_is_refused_by_name(slipway):
    answer = slipway.http("POST", f"{W}/runs", {"command": ["/bin/true"], "compute": "nowhere"})
    assert answer.status in {400, 404}
    assert "nowhere" in answer.error["message"]
    assert slipway.items(f"{W}/runs") == []


def test_cluster_with_active_runs_cannot_be_deleted_and_an_idle_one_can(slipway):
    create(slipway)
    run = slipway.submit("sleep 60", compute="c")
    slipway.wait_for(run, "Running")
    assert slipway.http("DELETE", f"{W}/compute/c").status == 409
    slipway.api("POST", f"{W}/runs/{run}/cancel")
    slipway.wait(run)
    wait_until(lambda: slipway.http("DELETE", f"{W}/compute/c").status == 204, 10)
    assert slipway.http("GET", f"{W}/compute/c").status == 404
    wait_until(lambda: not [lock for lock in live_agents(slipway) if "/c-" in str(lock)], 15)


def test_two_clusters_do_not_wait_for_each_other(slipway):
    create(slipway, "one", max_nodes=1)
    create(slipway, "two", max_nodes=1)
    slow = slipway.submit("sleep 60", compute="one")
    slipway.wait_for(slow, "Running")
    slipway.completed(slipway.submit("true", compute="two"))


@pytest.mark.root
def test_job_over_its_memory_is_killed_and_the_reason_says_so(slipway):
    run = slipway.submit(
        "python3",
        "-c",
        "b=bytearray(400<<20); print(len(b))",
        resources={"cpus": 0.5, "memory_bytes": 64 << 20},
    )
    ended = slipway.wait(run)
    assert ended["state"] == "Failed"
    assert "out of memory" in ended["reason"], ended


def test_names_of_clusters_are_checked(slipway):
    for name in ["", "../x", "a b", "x" * 65, "-a", "ü"]:
        body = {"name": name, "min_nodes": 0, "max_nodes": 1, "cpus": 1}
        answer = slipway.http("POST", f"{W}/compute", body)
        assert answer.status == 400, name
