"""What each launcher gives its processes, on machines with addresses of their own."""

import json
import re

import pytest
from support import processes, ranks
from support.namespaces import CLUSTER
from support.server import W

JOB = {"launcher": "pytorch", "processes": 2, "grace_seconds": 2}


def logs_of(machines, run):
    return {log["name"]: log for log in machines.slipway.items(f"{W}/runs/{run}/logs")}


def log_of(machines, run, rank):
    name = f"user_logs/std_log_process_{rank}.txt"
    node = logs_of(machines, run)[name]["rank"]
    return machines.slipway.log(run, name, rank=node).decode()


def who(machines, run, count):
    return [json.loads(log_of(machines, run, rank)) for rank in range(count)]


def test_pytorch_tells_each_process_who_it_is(machines):
    run = machines.submit(*ranks.python(ranks.WHO), **JOB)
    machines.slipway.completed(run)
    found = who(machines, run, 4)
    assert [int(one["RANK"]) for one in found] == [0, 1, 2, 3]
    assert [int(one["LOCAL_RANK"]) for one in found] == [0, 1, 0, 1]
    assert [int(one["NODE_RANK"]) for one in found] == [0, 0, 1, 1]
    assert {one["WORLD_SIZE"] for one in found} == {"4"}
    addresses = [one["addresses"][0] for one in found]
    assert addresses[0] == addresses[1] != addresses[2] == addresses[3]
    assert {(one["MASTER_ADDR"], one["MASTER_PORT"]) for one in found} == {
        (addresses[0], found[0]["MASTER_PORT"])
    }
    assert found[0]["SLIPWAY_NODES"] == f"{addresses[0]},{addresses[2]}"


def test_ranks_meet_at_the_port_that_was_held_for_them(machines):
    run = machines.submit(*ranks.python(ranks.MEET), **JOB)
    machines.slipway.completed(run)
    assert log_of(machines, run, 0) == "met 4\n" and log_of(machines, run, 3) == "met as 3\n"


def test_rank_0_is_what_is_seen_first(machines):
    run = machines.submit("echo I am $RANK", **JOB)
    machines.slipway.completed(run)
    assert machines.slipway.log(run) == b"I am 0\n"
    assert machines.slipway.log(run, rank=1) == b"I am 2\n"
    assert machines.slipway.cli("run", "logs", run).stdout == "I am 0\n"
    assert set(logs_of(machines, run)) == {f"user_logs/std_log_process_{rank}.txt" for rank in range(4)}


def test_none_runs_the_command_once_on_each_node(machines):
    run = machines.submit("echo $SLIPWAY_NODE_RANK of $SLIPWAY_NODE_COUNT")
    machines.slipway.completed(run)
    assert log_of(machines, run, 0) == "0 of 2\n" and log_of(machines, run, 1) == "1 of 2\n"


def test_tensorflow_ends_those_that_serve_for_ever_when_its_leader_is_done(machines):
    job = {"launcher": "tensorflow:workers=2,ps=1", "processes": 2, "grace_seconds": 2}
    run = machines.submit(*ranks.python(ranks.SERVE), **job)
    assert machines.slipway.completed(run)["exit_code"] == 0
    assert log_of(machines, run, 0) == "serving worker 0\nreached all\n"
    assert log_of(machines, run, 1) == "serving worker 1\n" and log_of(machines, run, 2) == "serving ps 0\n"
    assert "leader-done" in [event["kind"] for event in machines.slipway.events(run)]
    machines.wait_until_quiet()


def test_tensorflow_config_names_real_places(machines, tmp_path):
    job = {"launcher": "tensorflow:workers=1,ps=1,chief", "processes": 2}
    # The others are ended with the chief: it waits until they have spoken.
    wait = f"""
import pathlib, time
spoken = pathlib.Path({str(tmp_path)!r})
(spoken / os.environ["SLIPWAY_RANK"]).touch()
while os.environ["SLIPWAY_RANK"] == "0" and len(list(spoken.iterdir())) < 3:
    time.sleep(0.05)
"""
    run = machines.submit(*ranks.python(ranks.WHO + wait), **job)
    machines.slipway.completed(run)
    found = who(machines, run, 3)
    configs = [json.loads(one["TF_CONFIG"]) for one in found]
    assert [(c["task"]["type"], c["task"]["index"]) for c in configs] == [
        ("chief", 0),
        ("worker", 0),
        ("ps", 0),
    ]
    assert {json.dumps(c["cluster"]) for c in configs} == {json.dumps(configs[0]["cluster"])}
    assert {c["environment"] for c in configs} == {"cloud"}
    for one, config in zip(found, configs, strict=True):
        task = config["task"]
        assert config["cluster"][task["type"]][task["index"]].split(":")[0] == one["addresses"][0]


def test_mpi_starts_all_ranks_through_slipway_itself(machines):
    run = machines.submit(*ranks.python(ranks.WHO), launcher="mpi", processes=2)
    machines.slipway.completed(run)
    found = who(machines, run, 4)
    assert [int(one["OMPI_COMM_WORLD_RANK"]) for one in found] == [0, 1, 2, 3]
    assert {one["OMPI_COMM_WORLD_SIZE"] for one in found} == {"4"}
    assert [int(one["OMPI_COMM_WORLD_LOCAL_RANK"]) for one in found] == [0, 1, 0, 1]
    addresses = [one["addresses"][0] for one in found]
    assert addresses[0] == addresses[1] != addresses[2] == addresses[3]
    for one in found:
        assert not {name for name in one if name.startswith("SLIPWAY_MPI_")}
        assert one["cwd"].endswith(f"{run}.1.{one['SLIPWAY_NODE_RANK']}/work")
    machines.wait_until_quiet()


@pytest.mark.parametrize("rank", [1, 3])
def test_mpi_code_and_reason_are_those_of_the_rank_that_failed(machines, rank):
    script = f'if [ "$RANK" = {rank} ]; then echo out of steam >&2; exit 7; fi; sleep 600'
    run = machines.submit(script, launcher="mpi", processes=2, grace_seconds=2)
    ended = machines.slipway.wait(run)
    assert (ended["state"], ended["exit_code"]) == ("Failed", 7), ended
    assert ended["reason"] == f"rank {rank}: exited with code 7; it printed last: out of steam", ended
    assert log_of(machines, run, rank) == "out of steam\n"
    noted = [event["reason"] for event in machines.slipway.events(run) if event["kind"] == "rank-exited"]
    assert noted == [ended["reason"]], "the others, which mpirun ended, have not failed"
    machines.wait_until_quiet()


def test_mpi_rank_that_cannot_start_says_why(machines):
    run = machines.submit("./missing", "--now", launcher="mpi", processes=1, grace_seconds=2)
    ended = machines.slipway.wait(run)
    assert (ended["state"], ended["exit_code"]) == ("Failed", 127), ended
    assert re.match(
        r"rank [01]: exited with code 127; it printed last: .*cannot start './missing'", ended["reason"]
    )
    machines.wait_until_quiet()


@pytest.mark.parametrize("launcher", ["pytorch", "tensorflow"])
def test_first_failure_ends_all_and_is_the_reason(machines, launcher):
    fails = "sleep 0.3; echo bad batch; echo giving up >&2; exit 5"
    script = f'if [ "$SLIPWAY_RANK" = 3 ]; then {fails}; fi; exec sleep 600'
    run = machines.submit(script, launcher=launcher, processes=2, grace_seconds=2)
    ended = machines.slipway.wait(run)
    assert (ended["state"], ended["exit_code"]) == ("Failed", 5), ended
    assert ended["reason"] == "rank 3: exited with code 5; it printed last: bad batch | giving up", ended
    machines.wait_until_quiet()


def test_network_settings_are_chosen_recorded_and_the_jobs_to_change(machines):
    run = machines.submit(*ranks.python(ranks.WHO), **JOB, variables={"NCCL_SOCKET_IFNAME": "ib0"})
    machines.slipway.completed(run)
    one = who(machines, run, 4)[3]
    assert (one["GLOO_SOCKET_IFNAME"], one["NCCL_SOCKET_IFNAME"]) == ("eth0", "ib0")
    notes = [event["reason"] for event in machines.slipway.events(run) if event["kind"] == "launch"]
    assert (
        "pytorch: 4 processes on 2 nodes; GLOO_SOCKET_IFNAME=eth0, TP_SOCKET_IFNAME=eth0, "
        "NCCL_SOCKET_IFNAME=ib0 (the job's)"
    ) in notes, notes


def test_two_jobs_at_once_on_the_same_nodes_do_not_meet(machines):
    jobs = [
        machines.submit(*ranks.python(ranks.MEET), launcher=launcher, processes=2, resources={"cpus": 1})
        for launcher in ("pytorch", "mpi", "pytorch")
    ]
    for run in jobs:
        machines.slipway.completed(run)
        assert log_of(machines, run, 0) == "met 4\n"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--launcher", "slurm"), "no such launcher"),
        (("--launcher", "mpi:2"), "has no settings"),
        (("--launcher", "tensorflow:workers=2,ps=2"), "needs 4 processes"),
        (("--launcher", "tensorflow:workers=x"), "must be a number"),
        (("--processes", "2"), "need a launcher"),
        (("--launcher", "pytorch", "--processes", "0"), "'processes' must be between"),
        (("--attempts", "2", "--restarts", "1"), "both given"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(machines, flags, said):
    command = ("submit", "--no-source", "--compute", CLUSTER, "--nodes", "2", *flags, "--", "true")
    refused = machines.slipway.cli(*command, check=False)
    assert refused.returncode == 2 and said in refused.stderr, refused.stderr


def test_program_without_mpirun_says_what_is_missing(machines):
    run = machines.submit("true", launcher="mpi", processes=1, variables={"PATH": "/nowhere"})
    ended = machines.slipway.wait(run)
    assert ended["state"] == "Failed" and "has no mpirun" in ended["reason"], ended


def test_job_file_names_launcher_and_processes(machines, tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text(
        "command: sh -c 'echo $RANK'\ncompute: own\nnodes: 2\nlauncher: pytorch\nprocesses: 2\nrestarts: 0\n"
    )
    run = machines.slipway.cli("submit", job, "--no-source").stdout.strip()
    machines.slipway.completed(run)
    assert log_of(machines, run, 3) == "3\n"
    assert machines.slipway.run(run)["job"]["max_attempts"] == 1
    processes.wait_until(lambda: machines.state(0) == "idle", 10)
