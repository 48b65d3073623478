"""What distributed runs survive, and how they end when they do not: with real processes, agents and links."""

import json
import sqlite3
import subprocess
import time

import pytest
from support import processes, ranks
from support.jobs import until
from support.namespaces import CLUSTER
from support.server import W

LAUNCHERS = ["pytorch", "tensorflow", "mpi", "none"]


def job_of(launcher):
    return {"launcher": launcher, "processes": 1 if launcher == "none" else 2, "grace_seconds": 1}


def wait_for_line(nodes, run, rank, text):
    name = f"user_logs/std_log_process_{rank}.txt"

    def printed():
        logs = [log for log in nodes.slipway.items(f"{W}/runs/{run}/logs") if log["name"] == name]
        return logs and text in nodes.slipway.log(run, name, rank=logs[0]["rank"]).decode()

    processes.wait_until(printed, 30, f"rank {rank} of {run} did not print {text!r}")


def rank_pid(nodes, run, rank):
    """The process whose environment says that it is this rank."""
    wanted = [f"SLIPWAY_RANK={rank}".encode(), f"SLIPWAY_RUN_ID={run}".encode()]

    def found():
        for index in range(nodes.network.count):
            for pid in nodes.job_pids(index):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        variables = file.read().split(b"\0")
                except OSError:
                    continue
                if all(word in variables for word in wanted) and processes.command_line(pid)[0] == "sleep":
                    return pid
        return None

    return processes.wait_until(found, 20, f"rank {rank} of {run} has no process")


def sleeping(nodes, launcher):
    """A run whose ranks have all said that they are there, and sleep."""
    run = nodes.submit("echo here; exec sleep 600", **job_of(launcher))
    count = nodes.network.count * job_of(launcher)["processes"]
    for rank in range(count):
        wait_for_line(nodes, run, rank, "here")
    return run


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_killed_rank_ends_the_others_and_nothing_stays(machines, launcher):
    run = sleeping(machines, launcher)
    processes.kill(rank_pid(machines, run, 1))
    ended = machines.slipway.wait(run)
    assert ended["state"] == "Failed" and ended["reason"].startswith("rank 1: "), ended
    machines.wait_until_quiet()


def test_killed_mpirun_takes_its_daemons_and_ranks_with_it(machines):
    run = sleeping(machines, "mpi")
    first = machines.holder(run, 0)
    (mpirun,) = [pid for pid in machines.job_pids(first) if processes.command_line(pid)[0] == "mpirun"]
    assert any("orted" in processes.command_line(pid) for pid in machines.job_pids(1 - first))
    processes.kill(mpirun)
    ended = machines.slipway.wait(run)
    assert ended["state"] == "Failed" and "mpirun: killed by signal 9" in ended["reason"], ended
    machines.wait_until_quiet()


def test_killed_daemon_of_mpi_ends_the_run(machines):
    run = sleeping(machines, "mpi")
    other = machines.holder(run, 1)
    (orted,) = [pid for pid in machines.job_pids(other) if processes.command_line(pid)[0] == "orted"]
    processes.kill(orted)
    assert machines.slipway.wait(run)["state"] == "Failed"
    machines.wait_until_quiet()


@pytest.mark.parametrize("launcher", ["pytorch", "mpi"])
def test_cancel_ends_every_rank_on_every_node(machines, launcher):
    run = sleeping(machines, launcher)
    machines.slipway.cli("run", "cancel", run)
    assert machines.slipway.wait(run)["state"] == "Canceled"
    machines.wait_until_quiet()


def test_stranger_cannot_start_anything_at_a_waiting_node(machines):
    """The port that mpirun's request comes to is open to the network for a moment; without the secret it is no use."""
    run = machines.submit("sleep 1; echo $RANK", launcher="mpi", processes=1, grace_seconds=1)
    other = machines.holder(run, 1)

    def waiting():
        for pid in machines.network.pids(other):
            if "mpi-node" in processes.command_line(pid):
                with open(f"/proc/{pid}/environ", "rb") as file:
                    return dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
        return None

    environment = processes.wait_until(waiting, 20, "nobody waits for mpirun")
    place = environment[b"SLIPWAY_MPI_LISTEN"].decode()
    script = f"""
import socket
host, port = {place!r}.rsplit(":", 1)
try:
    s = socket.create_connection((host, int(port)), timeout=5)
    s.recv(100)
    s.sendall(b'{{"arguments": ["-x"], "proof": "00"}}\\n')
    print(s.recv(100))
except OSError as error:
    print(error)
"""
    subprocess.run(
        machines.network.inside(1 - other, "python3", "-c", script), check=True, capture_output=True
    )
    machines.slipway.completed(run)
    assert environment[b"SLIPWAY_MPI_SECRET"].decode() not in machines.slipway.all_logs() + machines.logs()


def test_agent_killed_while_ranks_run_changes_nothing(fresh):
    nodes = fresh(2)
    script = f"echo here; {until('../../../../../go')}; echo done"
    run = nodes.submit(script, launcher="pytorch", processes=2)
    for rank in range(4):
        wait_for_line(nodes, run, rank, "here")
    nodes.kill_agent(0)
    nodes.kill_agent(1)
    for index in range(2):
        nodes.start_agent(index)
        (nodes.home(index) / "go").touch()
    nodes.slipway.completed(run)
    assert [event["kind"] for event in nodes.slipway.events(run)].count("started") == 1
    for rank in range(4):
        wait_for_line(nodes, run, rank, "done")


@pytest.mark.parametrize("launcher", ["pytorch", "mpi"])
def test_server_killed_while_ranks_run_loses_nothing(fresh, launcher):
    nodes = fresh(2)
    script = f"echo here; {until('../../../../../go')}; echo done"
    run = nodes.submit(script, launcher=launcher, processes=2)
    for rank in range(4):
        wait_for_line(nodes, run, rank, "here")
    nodes.slipway.kill_server()
    for index in range(2):
        (nodes.home(index) / "go").touch()
    nodes.wait_until_quiet()
    nodes.server_again()
    nodes.slipway.completed(run)
    for rank in range(4):
        wait_for_line(nodes, run, rank, "done")


def test_server_killed_while_nodes_wait_for_each_other(fresh):
    """One node has come, the other is held up in its preparation: the offer survives the server."""
    nodes = fresh(2, env={"SLIPWAY_GRACE": "60s"})
    nodes.network.cut(1)
    run = nodes.submit(*ranks.python(ranks.MEET), launcher="pytorch", processes=1)
    nodes.slipway.wait_for(run, "Preparing")
    time.sleep(0.5)
    nodes.slipway.kill_server()
    nodes.server_again()
    nodes.network.heal(1)
    nodes.slipway.completed(run)


@pytest.mark.parametrize("launcher", ["pytorch", "mpi"])
def test_lost_node_ends_the_others_and_the_run_goes_on_from_its_outputs(fresh, launcher):
    nodes = fresh(3)
    script = """
if [ "$SLIPWAY_ATTEMPT" = 2 ]; then echo going on from $(cat outputs/step); exit 0; fi
[ "$RANK" = 0 ] && mkdir -p outputs && echo 41 > outputs/step
echo here; exec sleep 600
"""
    run = nodes.submit(script, nodes=2, launcher=launcher, processes=2, max_attempts=2, grace_seconds=1)
    for rank in range(4):
        wait_for_line(nodes, run, rank, "here")
    processes.wait_until(
        lambda: "outputs/step" in nodes.slipway.files(run), 30, "the checkpoint was not kept"
    )
    lost = nodes.holder(run, 1)
    kept = nodes.holder(run, 0)
    nodes.network.cut(lost)
    before = set(nodes.job_pids(kept))
    ended = nodes.slipway.completed(run)
    assert ended["attempt"] == 2 and not before & set(nodes.job_pids(kept))
    assert "going on from 41" in nodes.slipway.log(run).decode()
    assert any("was lost; trying again" in event["reason"] for event in nodes.slipway.events(run))
    nodes.network.heal(lost)
    nodes.wait_until_quiet(60)  # the fenced ranks there end when their agent hears of it


@pytest.mark.parametrize("moment", ["before", "during"])
def test_link_cut_about_the_start_is_tried_again_on_other_machines(fresh, moment):
    nodes = fresh(3)
    if moment == "before":
        nodes.network.cut(0)
    run = nodes.submit(*ranks.python(ranks.MEET), nodes=2, launcher="pytorch", processes=1, grace_seconds=1)
    if moment == "during":
        nodes.slipway.wait_for(run, "Preparing")
        nodes.network.cut(0)
    nodes.slipway.completed(run)
    assert nodes.slipway.log(run) == b"met 2\n"
    nodes.network.heal(0)
    nodes.wait_until_quiet(60)


def test_link_cut_for_less_than_the_grace_costs_nothing(fresh):
    nodes = fresh(2, env={"SLIPWAY_GRACE": "60s"})
    script = f"echo here; {until('../../../../../go')}; echo done"
    run = nodes.submit(script, launcher="pytorch", processes=2)
    for rank in range(4):
        wait_for_line(nodes, run, rank, "here")
    nodes.network.cut(1)
    nodes.slipway.wait_for(run, "NotResponding")
    nodes.network.heal(1)
    nodes.slipway.wait_for(run, "Running")
    for index in range(2):
        (nodes.home(index) / "go").touch()
    assert nodes.slipway.completed(run)["attempt"] == 1


def test_half_the_nodes_never_come_and_the_reason_says_who(fresh):
    nodes = fresh(2, env={"SLIPWAY_GRACE": "120s", "SLIPWAY_SILENCE": "60s", "SLIPWAY_RENDEZVOUS": "3s"})
    nodes.kill_agent(1)
    run = nodes.submit("true", launcher="pytorch", processes=1)
    ended = nodes.slipway.wait(run)
    assert ended["state"] == "Failed", ended
    assert "1 of 2 nodes did not come to the start within 3.0 s" in ended["reason"], ended
    assert "on machine-1 has not taken it up" in ended["reason"], ended


def test_port_taken_meanwhile_fails_with_the_ports_number(fresh):
    """An agent that was killed after its node had promised a port finds it taken when it comes back."""
    nodes = fresh(2, env={"SLIPWAY_GRACE": "60s", "SLIPWAY_SILENCE": "60s"})
    nodes.kill_agent(1)
    run = nodes.submit("true", launcher="mpi", processes=1)

    def offered():
        store = sqlite3.connect(f"file:{nodes.slipway.home}/slipway.db?mode=ro", uri=True)
        rows = store.execute(
            "SELECT offer FROM attempt_nodes WHERE run = ? AND offer IS NOT NULL", (run,)
        ).fetchall()
        store.close()
        return [json.loads(row[0]) for row in rows]

    (offer,) = processes.wait_until(offered, 20, "no node has made its offer")
    holder = 0
    nodes.kill_agent(holder)
    taker = f"""
import socket, time
server = socket.create_server(('', {offer["ports"][0]}))
print('mine', flush=True)
time.sleep(600)
"""
    process = subprocess.Popen(nodes.network.inside(holder, "python3", "-c", taker), stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"mine\n"
    nodes.start_agent(1)
    nodes.start_agent(holder)
    # A new offer takes the place of the old one, since not all had come: the taken port is nobody's problem.
    ended = nodes.slipway.wait(run)
    process.kill()
    process.wait()
    assert ended["state"] == "Completed", ended


def test_machine_that_is_let_go_takes_no_more_runs_and_ends(fresh):
    nodes = fresh(2)
    run = sleeping(nodes, "pytorch")
    nodes.slipway.cli("compute", "remove-node", CLUSTER, nodes.name(1))
    assert nodes.state(1) == "draining"
    nodes.slipway.cli("run", "cancel", run)
    nodes.slipway.wait(run)
    processes.wait_until(lambda: nodes.state(1) is None, 20, "the machine is still a node")
    processes.wait_until(lambda: nodes.agents[1].poll() is not None, 30, "its agent did not end")
    refused = nodes.slipway.cli(
        "submit", "--no-source", "--compute", CLUSTER, "--nodes", "2", "--", "true", check=False
    )
    assert refused.returncode == 2 and "at most 1 node" in refused.stderr, refused.stderr
