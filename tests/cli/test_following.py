"""Following a run: byte for byte, across restarts, and letting go of it."""

import json
import os
import signal
import subprocess
import time

from support import processes


def start(slipway, *args, **kwargs):
    """`slipway ARGS` in the background; bytes, not text."""
    return subprocess.Popen(
        [slipway.binary, *map(str, args)],
        env={**slipway.env, "SLIPWAY_HOME": str(slipway.home)},
        cwd=slipway.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **kwargs,
    )


def newest(slipway):
    return processes.wait_until(
        lambda: next(iter(slipway.cli_json("run", "list", "--limit", "1")["items"]), None), 20, "no run came"
    )["id"]


def test_stdout_and_stderr_arrive_apart_and_unchanged(slipway):
    job = r"printf 'a\000\377\n'; printf 'b\n' >&2; kill -9 $$"
    follower = start(slipway, "submit", "--quiet", "--follow", "--", "sh", "-c", job)
    out, err = follower.communicate(timeout=60)
    assert out == b"a\0\xff\n"
    assert b"b\n" in err
    assert follower.returncode == 128 + signal.SIGKILL


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(slipway):
    job = "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.1; done; exit 9"
    follower = start(slipway, "submit", "--follow", "--", "sh", "-c", job)
    slipway.wait_for(newest(slipway), "Running")
    time.sleep(1)  # in the middle of the lines
    slipway.kill_server()
    slipway.again()
    out, err = follower.communicate(timeout=60)
    assert out.decode().splitlines() == [f"line {i}" for i in range(40)], err
    assert follower.returncode == 9


def test_ctrl_c_lets_go_of_the_run_and_says_how_to_go_on(slipway):
    follower = start(slipway, "submit", "--follow", "--", "sh", "-c", "echo on; exec sleep 60")
    run = newest(slipway)
    assert follower.stdout.readline() == b"on\n"
    follower.send_signal(signal.SIGINT)
    _, err = follower.communicate(timeout=60)
    assert follower.returncode == 130
    assert f"slipway run logs -f {run}" in err.decode() and f"slipway run cancel {run}" in err.decode()
    assert slipway.run(run)["state"] == "Running"
    slipway.cli("run", "cancel", run, "--wait")
    assert slipway.cli("run", "wait", run, check=False).returncode == 14


def test_with_json_the_last_word_on_stdout_is_the_run(slipway):
    result = slipway.cli("submit", "--json", "--follow", "--", "sh", "-c", "echo hello; exit 4", check=False)
    assert result.returncode == 4
    assert json.loads(result.stdout)["exit_code"] == 4
    assert "hello" in result.stderr


def test_wait_gives_up_in_time_and_the_run_goes_on(slipway):
    run = slipway.submit("sleep 60")
    slipway.wait_for(run, "Running")
    result = slipway.cli("run", "wait", run, "--timeout", "300ms", check=False)
    assert result.returncode == 13 and run in result.stderr
    slipway.cli("run", "cancel", run, "--wait")


def test_tail_prints_the_last_lines(slipway):
    run = slipway.submit("seq 1 100000")
    slipway.completed(run)
    assert slipway.cli("run", "logs", run, "--tail", "3").stdout == "99998\n99999\n100000\n"
    assert slipway.cli("run", "logs", run, "--tail", "20000").stdout.splitlines()[0] == "80001"


def test_channels_can_be_read_apart(slipway):
    run = slipway.submit("echo one; echo two >&2; echo three")
    slipway.completed(run)
    assert slipway.cli("run", "logs", run, "--channel", "stderr").stdout == "two\n"
    assert slipway.cli("run", "logs", run, "--channel", "stdout").stdout == "one\nthree\n"


def test_a_run_that_printed_nothing_has_an_empty_log(slipway):
    run = slipway.submit("true")
    slipway.completed(run)
    result = slipway.cli("run", "logs", run)
    assert result.stdout == ""


def test_a_reader_that_goes_away_is_no_error(slipway):
    run = slipway.submit("seq 1 200000")
    slipway.completed(run)
    follower = start(slipway, "run", "logs", run)
    assert follower.stdout.readline() == b"1\n"
    follower.stdout.close()
    assert follower.wait(timeout=60) == 141
    assert follower.stderr.read() == b""


def test_a_full_disk_under_the_output_is_said(slipway):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [slipway.binary, "compute", "list"],
            env={**slipway.env, "SLIPWAY_HOME": str(slipway.home)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert result.returncode == 11
    assert "error: cannot write" in result.stderr


def test_runs_can_be_counted_from_the_newest(slipway):
    runs = [slipway.submit("true") for _ in range(2)]
    for run in runs:
        slipway.completed(run)
    assert slipway.cli_json("run", "show", "latest") == slipway.cli_json("run", "show", runs[1])
    assert slipway.cli_json("run", "show", "@2")["id"] == runs[0]
    assert slipway.cli_json("run", "show", runs[0][:-2])["id"] == runs[0]
    assert slipway.cli("run", "show", "@3", check=False).returncode == 5
    assert slipway.cli("run", "show", "@x", check=False).returncode == 2


def test_tables_are_cut_to_the_terminal_and_coloured_only_there(slipway):
    run = slipway.submit("echo " + "x" * 300)
    slipway.completed(run)

    def on_terminal(**env):
        line = f"stty cols 70; {slipway.binary} run list"
        result = subprocess.run(
            ["script", "-qec", line, "/dev/null"],
            env={**slipway.env, "SLIPWAY_HOME": str(slipway.home), "TERM": "xterm", **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return result.stdout

    assert "\x1b[32mCompleted" in on_terminal()
    plain = on_terminal(NO_COLOR="1")
    assert "\x1b" not in plain and "…" in plain
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 70
    assert "x" * 300 in slipway.cli("run", "list").stdout
    assert os.environ.get("TERM") != "dumb" or "\x1b" not in on_terminal(TERM="dumb")
