"""Faults of agents, supervisors and their processes: 15 to 18, 23, 29, 30, 35."""

import contextlib
import os
import signal
import time

import pytest
from support.processes import is_alive, kill, lock_owner, marked_with, wait_until
from support.server import FINAL, W

COUNT = "for i in $(seq 1 60); do echo line $i; sleep 0.05; done; exit 7"
COUNTED = b"".join(b"line %d\n" % i for i in range(1, 61))


def starts(slipway, run):
    return [event["kind"] for event in slipway.events(run)].count("started")


def test_job_survives_its_agent_and_its_exit_code_is_kept(slipway):
    run = slipway.submit(COUNT)
    node = slipway.wait_for(run, "Running")["nodes"][0]
    supervisor = slipway.supervisor_pid(run)
    slipway.kill_agent(node)
    ended = slipway.wait(run)
    assert (ended["exit_code"], ended["attempt"]) == (7, 1)
    assert slipway.log(run) == COUNTED
    assert starts(slipway, run) == 1
    wait_until(lambda: not is_alive(supervisor), 5)


def test_agent_killed_again_and_again_loses_and_doubles_nothing(slipway):
    run = slipway.submit(COUNT)
    node = slipway.wait_for(run, "Running")["nodes"][0]
    for _ in range(4):
        slipway.kill_agent(node)
        time.sleep(0.2)
    ended = slipway.wait(run)
    assert (ended["exit_code"], ended["attempt"]) == (7, 1)
    assert slipway.log(run) == COUNTED
    assert starts(slipway, run) == 1


def test_job_that_ends_while_server_and_agent_are_down_keeps_its_exit_code(slipway):
    run = slipway.submit("mkdir -p outputs; sleep 0.5; echo late > outputs/late; echo last words; exit 9")
    node = slipway.wait_for(run, "Running")["nodes"][0]
    supervisor = slipway.supervisor_pid(run)
    slipway.kill_server()
    slipway.kill_agent(node)
    wait_until(lambda: not is_alive(supervisor), 15, "the job did not end by itself")
    slipway.again()
    ended = slipway.wait(run)
    assert (ended["state"], ended["exit_code"], ended["attempt"]) == ("Failed", 9, 1)
    assert slipway.log(run) == b"last words\n"
    assert slipway.file(run, "outputs/late") == b"late\n"


def test_killed_supervisor_takes_its_job_with_it_and_the_reason_is_said(slipway):
    run = slipway.submit("sleep 1000 & echo $$; sleep 1000", max_attempts=1)
    wait_until(lambda: slipway.log(run), 15)
    kill(slipway.supervisor_pid(run))
    ended = slipway.wait(run)
    assert ended["state"] == "Failed"
    assert ended["reason"], ended
    wait_until(lambda: not marked_with(run), 10, "processes of a dead supervisor live on")


def test_pid_of_another_process_in_the_lock_file_does_not_make_the_dead_live(slipway):
    run = slipway.submit("sleep 1000", max_attempts=1)
    node = slipway.wait_for(run, "Running")["nodes"][0]
    lock = slipway.attempt_folder(run) / "lock"
    supervisor = slipway.supervisor_pid(run)
    agent = slipway.agent_pid(node)
    os.kill(agent, signal.SIGSTOP)
    kill(supervisor)
    lock.write_text(f"{os.getpid()}\n")
    os.kill(agent, signal.SIGCONT)
    ended = slipway.wait(run)
    assert ended["state"] == "Failed"
    wait_until(lambda: not marked_with(run), 10)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_polite_signal_to_an_agent_does_not_end_its_jobs(slipway, number):
    run = slipway.submit("sleep 0.8; exit 3")
    node = slipway.wait_for(run, "Running")["nodes"][0]
    kill(slipway.agent_pid(node), number)
    ended = slipway.wait(run)
    assert (ended["exit_code"], ended["attempt"]) == (3, 1)


def test_daemons_that_a_job_leaves_behind_go_with_it(slipway):
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        os.environ.clear()
        time.sleep(1000)
    os._exit(0)
os.wait()
print("left a daemon")
"""
    run = slipway.submit("python3", "-c", code)
    slipway.completed(run)
    wait_until(lambda: not marked_with(run), 10, "the daemon lives on")


def test_thousands_of_zombies_do_not_hurt(slipway):
    code = """
import os
for _ in range(2000):
    try:
        if os.fork() == 0:
            os._exit(0)
    except OSError:
        break
print("made")
"""
    run = slipway.submit("python3", "-c", code)
    slipway.completed(run)
    assert slipway.log(run) == b"made\n"
    orphans = slipway.submit("for i in $(seq 1 300); do (sleep 0.2 &) ; done; echo made")
    slipway.completed(orphans)


def test_job_that_closes_its_streams_runs_to_its_end(slipway):
    run = slipway.submit("echo before; exec >&- 2>&- <&-; sleep 0.3; exit 5")
    ended = slipway.wait(run)
    assert ended["exit_code"] == 5 and slipway.log(run) == b"before\n"


def test_child_that_holds_the_streams_does_not_hold_up_the_end(slipway):
    run = slipway.submit("sleep 1000 & echo done")
    slipway.completed(run)  # well before the child ends
    assert slipway.log(run) == b"done\n"


def test_torn_journal_tail_is_cut_and_the_run_ends_with_a_reason(slipway):
    run = slipway.submit("echo whole; sleep 1000", max_attempts=1)
    wait_until(lambda: slipway.log(run) == b"whole\n", 15)
    node = slipway.run(run)["nodes"][0]
    folder = slipway.attempt_folder(run)
    slipway.kill_server()
    slipway.kill_agent(node)
    kill(slipway.supervisor_pid(run))
    wait_until(lambda: lock_owner(folder / "lock") is None, 5)
    segment = sorted((folder / "journal").iterdir())[-1]
    with segment.open("ab") as file:
        file.write(b"\x40\x00\x00\x00\x02\x00\x00\x00half a record")
    slipway.again()
    ended = slipway.wait(run)
    assert ended["state"] == "Failed" and ended["reason"]
    assert slipway.log(run) == b"whole\n"


def test_stopped_server_holds_nothing_up_and_gets_everything_later(slipway):
    """A frozen server is a half-open connection to everyone (fault 20)."""
    run = slipway.submit(COUNT)
    slipway.wait_for(run, "Running")
    server = slipway.server_pid
    supervisor = slipway.supervisor_pid(run)
    os.kill(server, signal.SIGSTOP)
    try:
        wait_until(lambda: not is_alive(supervisor), 15, "the job waited for the server")
    finally:
        os.kill(server, signal.SIGCONT)
    ended = slipway.wait(run)
    assert ended["exit_code"] == 7 and slipway.log(run) == COUNTED


@pytest.mark.dev
@pytest.mark.timeout(400)
def test_agent_and_supervisor_killed_at_their_failpoints(dev, tmp_path):
    """Between fork and record, and at every other named place of a node (fault 16)."""
    record = tmp_path / "failpoints"
    dev.up(env={"SLIPWAY_FAILPOINT_RECORD": str(record)})
    dev.completed(dev.submit("echo x; mkdir -p outputs; echo y > outputs/y"))
    dev.down("--cancel")
    passed = set(record.read_text().split()) - {"journal.after_logs"}  # that one is the server's
    names = sorted(name for name in passed if name.split(".")[0] in {"agent", "journal", "supervisor"})
    assert {"agent.after_spawn", "supervisor.before_exit_record"} <= set(names), names
    for name in names:
        dev.up(env={"SLIPWAY_FAILPOINTS": f"{name}=kill@1"})
        run = dev.submit("echo x; mkdir -p outputs; echo y > outputs/y", max_attempts=2)
        time.sleep(0.5)
        kill(dev.server_pid)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: lock_owner(dev.home / "server.lock") is None, 5)
        for lock in dev.home.glob("nodes/*/lock"):
            if pid := lock_owner(lock):
                kill(pid)
        dev.again()
        ended = dev.wait(run)
        assert ended["state"] in FINAL, (name, ended)
        if ended["state"] == "Completed":
            assert dev.log(run, attempt=ended["attempt"]) == b"x\n", name
            assert dev.file(run, "outputs/y") == b"y\n", name
        else:
            assert ended["reason"], (name, ended)
        assert len(dev.items(f"{W}/runs")) == names.index(name) + 2
        dev.down("--cancel")
