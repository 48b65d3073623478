"""What happens to Slurm, and to jobs in it, ends in the true state of the run."""

import signal

import pytest
from support.hpc import Hpc
from support.outage import live_through
from support.processes import command_line, is_alive, kill, marked_with, wait_until
from support.proxy import FaultProxy
from support.server import W

# Says which attempt it is and what it has found; adds to its checkpoint when it is told to end; ends well in the third.
RESUMING = """
mkdir -p outputs
echo attempt $SLIPWAY_ATTEMPT found $(cat outputs/checkpoint)
[ "$SLIPWAY_ATTEMPT" = 3 ] && exit 0
trap 'echo saved $SLIPWAY_ATTEMPT >> outputs/checkpoint; exit 0' TERM
while :; do sleep 0.1; done
"""


def test_scancel_from_outside_is_a_canceled_run(hpc):
    running = hpc.submit("echo up; sleep 60")
    hpc.slipway.wait_for(running, "Running")
    blocker = hpc.slurm.sbatch("sleep 60", "/dev/null", "--nodes=3", "--dependency=singleton", "--exclusive")
    waiting = hpc.submit("true", resources={}, nodes=3)
    hpc.waits_because(waiting, "Slurm job")
    for run in (running, waiting):
        hpc.slurm.run("scancel", str(hpc.job(run)["job_id"]))
    for run in (running, waiting):
        ended = hpc.slipway.wait(run)
        assert ended["state"] == "Canceled", ended
        assert "canceled outside Slipway" in ended["reason"]
    assert hpc.slipway.log(running).startswith(b"up\n")
    hpc.slurm.run("scancel", blocker)
    wait_until(lambda: not marked_with(hpc.scratch), 15, "something lives on")


def preempt(hpc, run, attempt):
    """Once that attempt has said something, a job of higher priority takes all nodes for a while."""
    wait_until(lambda: hpc.slipway.log(run, attempt=attempt), 30, f"attempt {attempt} says nothing")
    assert hpc.job(run, attempt)["partition"] == "low"
    other = hpc.slurm.sbatch("sleep 1", "/dev/null", "--partition=high", "--exclusive", "--nodes=3")
    wait_until(lambda: hpc.kinds(run).count("preempted") == attempt, 20, "the preemption is not told")
    wait_until(lambda: other not in hpc.slurm.run("squeue", "-h", "-o", "%i").stdout.split(), 20)


def test_preempted_twice_and_resumed_from_what_it_kept(hpc):
    hpc.slipway.cli("compute", "update", "hpc", "--priority", "low")
    run = hpc.submit(RESUMING, resources={}, nodes=1)
    for attempt in (1, 2):
        preempt(hpc, run, attempt)
    ended = hpc.slipway.completed(run)
    assert ended["attempt"] == 3 and hpc.kinds(run).count("preempted") == 2
    assert b"attempt 3 found saved 1 saved 2\n" in hpc.slipway.log(run, attempt=3)
    assert hpc.slipway.file(run, "outputs/checkpoint") == b"saved 1\nsaved 2\n"
    assert [hpc.job(run, attempt)["job_state"] for attempt in (1, 2)] == ["PREEMPTED", "PREEMPTED"]
    reasons = [event["reason"] for event in hpc.slipway.events(run) if event["kind"] == "preempted"]
    assert all("Slurm preempted job" in reason for reason in reasons), reasons


def test_node_that_fails_is_another_attempt_and_the_old_ranks_are_ended(hpc):
    mark = hpc.slipway.folder / "alive"
    run = hpc.submit(f"echo $$ >> {mark}; sleep 61", max_attempts=2)
    hpc.slipway.wait_for(run, "Running")
    old = int(wait_until(lambda: mark.exists() and mark.read_text().split(), 10)[0])
    node = hpc.job(run)["nodes"]
    # What the daemon started lives on, and so does the job; Slurm gives up the node.
    hpc.slurm.kill_node(node)
    hpc.slurm.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    wait_until(lambda: len(mark.read_text().split()) == 2, 40, "no second attempt")
    assert "node-lost" in hpc.kinds(run) and hpc.slipway.run(run)["attempt"] == 2
    wait_until(lambda: not is_alive(old), 30, "the fenced rank lives on")
    hpc.slipway.api("POST", f"{W}/runs/{run}/cancel")
    assert hpc.slipway.wait(run)["state"] == "Canceled"


def test_time_limit_of_slurm_fails_the_run(hpc):
    run = hpc.submit("echo up; sleep 300")
    hpc.slipway.wait_for(run, "Running")
    hpc.slurm.run("scontrol", "update", f"jobid={hpc.job(run)['job_id']}", "timelimit=0")
    ended = hpc.slipway.wait(run)
    assert ended["state"] == "Failed" and "time limit" in ended["reason"], ended
    assert hpc.slipway.log(run).startswith(b"up\n")


def test_requeue_from_outside_is_another_attempt(hpc):
    run = hpc.submit('echo $SLIPWAY_ATTEMPT; [ "$SLIPWAY_ATTEMPT" = 2 ] || sleep 60')
    hpc.slipway.wait_for(run, "Running")
    job = str(hpc.job(run)["job_id"])
    hpc.slurm.run("scontrol", "update", f"jobid={job}", "requeue=1")
    hpc.slurm.run("scontrol", "requeue", job)
    assert hpc.slipway.completed(run)["attempt"] == 2
    assert hpc.slipway.log(run, attempt=2) == b"2\n"
    wait_until(
        lambda: hpc.job(run, 1)["job_state"] == "CANCELLED", 15, "the job that was put back is still there"
    )


def test_controller_killed_right_after_a_submission(hpc):
    blocker = hpc.slurm.sbatch("sleep 3", "/dev/null", "--nodes=3", "--exclusive")
    runs = [hpc.submit("echo once", resources={}) for _ in range(3)]
    for run in runs:
        hpc.job(run)
    hpc.slurm.kill_controller()
    hpc.slurm.start_controller()
    for run in runs:
        hpc.slipway.completed(run)
        assert hpc.slipway.log(run) == b"once\n" and hpc.kinds(run).count("started") == 1
        assert len([job for job in hpc.slurm.jobs_of(run) if job["job_state"] == "COMPLETED"]) <= 1
    assert blocker


def test_slurmrestd_away_stops_nothing_that_runs_and_what_happened_meanwhile_is_found(hpc):
    live_through(hpc)


def test_job_whose_acceptance_was_lost_is_found_and_not_submitted_twice(slipway, slurm):
    proxy = FaultProxy(slurm.tcp_endpoint)
    hpc = Hpc(slipway, slurm)
    (slipway.folder / "jwt").write_text(slurm.token())
    hpc.attach("--token-file", slipway.folder / "jwt", "--user", "root", endpoint=proxy.url)
    slipway.completed(hpc.submit("true"))  # all is well, and the connection is kept
    proxy.set("lose-answers")
    proxy.cut()
    lost = proxy.lost
    run = hpc.submit("echo once")
    wait_until(lambda: slurm.jobs_of(run), 20, "the submission did not get through")
    wait_until(lambda: proxy.lost > lost, 10)
    proxy.set("pass")
    slipway.completed(run)
    assert len(slurm.jobs_of(run)) == 1 and slipway.log(run) == b"once\n"
    hpc.all_given_back()
    proxy.close()


def test_server_killed_with_jobs_waiting_and_running(hpc):
    running = hpc.submit("echo up; sleep 2; echo done")
    hpc.slipway.wait_for(running, "Running")
    blocker = hpc.slurm.sbatch("sleep 3", "/dev/null", "--nodes=2", "--exclusive")
    waiting = hpc.submit("echo later", resources={}, nodes=3)
    hpc.job(waiting)
    hpc.slipway.kill_server()
    hpc.slipway.again()
    for run, said in ((running, b"up\ndone\n"), (waiting, b"later\n")):
        assert hpc.slipway.completed(run)["attempt"] == 1
        assert hpc.slipway.log(run) == said and len(hpc.slurm.jobs_of(run)) == 1
    assert blocker
    hpc.all_given_back()


@pytest.mark.parametrize("role", ["agent --home", "agent --allocation"])
def test_agent_killed_in_its_allocation(hpc, role):
    run = hpc.submit("echo up; sleep 3; echo done", max_attempts=2)
    hpc.slipway.wait_for(run, "Running")

    def processes():
        lines = {pid: " ".join(command_line(pid)) for pid in marked_with(hpc.scratch)}
        return [pid for pid, line in lines.items() if role in line]

    kill(wait_until(processes, 10, f"no {role}")[0], signal.SIGKILL)
    ended = hpc.slipway.completed(run)
    if role == "agent --home":  # its guard starts another one, which finds the job
        assert ended["attempt"] == 1 and hpc.slipway.log(run) == b"up\ndone\n"
        assert hpc.kinds(run).count("started") == 1
    wait_until(lambda: not marked_with(hpc.scratch), 20, "something lives on")


def test_token_of_a_node_is_dead_when_its_attempt_is_over(hpc):
    run = hpc.submit("sleep 1")
    node = hpc.slipway.wait_for(run, "Running")["nodes"][0]
    token = (hpc.scratch / "nodes" / node / "token").read_text().strip()
    other = hpc.slipway.submit("sleep 30")
    local = hpc.slipway.wait_for(other, "Running")["nodes"][0]
    path = f"/api/v1/nodes/{local}/attempts/{other}/1/0/finished"
    assert hpc.slipway.http("POST", path, {}, token=token).status in {401, 403, 404}
    hpc.slipway.completed(run)
    hpc.all_given_back()
    answer = hpc.slipway.http("POST", f"/api/v1/nodes/{node}/heartbeat", {"attempts": []}, token=token)
    assert answer.status == 401
