"""The command line as a person, a script and a shell use it."""

import json
import os
import re
import subprocess
import time

import pytest
from support.server import W

COMMANDS = [
    ["up"],
    ["down"],
    ["submit"],
    *[
        ["run", word]
        for word in ["list", "show", "logs", "files", "download", "wait", "cancel", "rerun", "diff", "delete"]
    ],
    *[["compute", word] for word in ["create", "list", "show", "nodes", "update", "delete"]],
    ["workspace"],
    ["experiment"],
    ["token"],
    ["status"],
    ["doctor"],
    ["log"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_every_command_has_an_example(stopped, command):
    result = stopped.cli(*command, "--help")
    assert f"slipway {' '.join(command)}" in result.stdout
    assert "xample" in result.stdout
    assert result.stderr == ""


def test_submit_prints_the_run_and_follow_ends_with_the_scripts_code(slipway):
    result = slipway.cli(
        "submit", "--follow", "--", "sh", "-c", "echo to-out; echo to-err >&2; exit 23", check=False
    )
    assert result.returncode == 23
    assert "to-out" in result.stdout
    assert "to-err" in result.stdout + result.stderr
    run = slipway.cli("submit", "--", "true").stdout.strip().splitlines()[-1]
    assert slipway.completed(run.split()[-1])


def test_wait_ends_with_the_runs_code(slipway):
    bad = slipway.submit("exit 5")
    assert slipway.cli("run", "wait", bad, check=False).returncode in {5, 14}
    good = slipway.submit("true")
    assert slipway.cli("run", "wait", good).returncode == 0


def test_every_list_has_a_table_and_json(slipway):
    run = slipway.submit("true", experiment="cli", tags={"k": "v"})
    slipway.completed(run)
    table = slipway.cli("run", "list").stdout
    assert run in table and "Completed" in table
    assert [item["id"] for item in slipway.cli_json("run", "list")["items"]] == [run]
    assert slipway.cli_json("run", "list", "--tag", "k=v", "--experiment", "cli", "--state", "Completed")[
        "items"
    ]
    assert not slipway.cli_json("run", "list", "--tag", "k=w")["items"]
    assert slipway.cli_json("run", "show", run)["id"] == run
    assert "local" in slipway.cli("compute", "list").stdout
    assert slipway.cli_json("status")["version"]


def test_show_tells_the_time_line_with_durations(slipway):
    run = slipway.submit("sleep 0.2")
    slipway.completed(run)
    shown = slipway.cli("run", "show", run).stdout
    for state in ("Queued", "Running", "Completed"):
        assert state in shown
    assert re.search(r"\d(\.\d+)? ?(ms|s)\b", shown), shown


def test_no_colour_or_progress_outside_a_terminal(slipway):
    run = slipway.submit("true")
    slipway.completed(run)
    for args in (["run", "list"], ["run", "show", run], ["compute", "list"], ["status"], ["doctor"]):
        result = slipway.cli(*args, check=False)
        assert "\x1b" not in result.stdout + result.stderr, args


def test_logs_are_printed_byte_for_byte(slipway):
    run = slipway.submit(r"printf 'a\000b\377\n'")
    slipway.completed(run)
    raw = subprocess.run(
        [slipway.binary, "run", "logs", run],
        env={**slipway.env, "SLIPWAY_HOME": str(slipway.home)},
        capture_output=True,
        check=True,
    )
    assert raw.stdout == b"a\0b\xff\n"


def test_logs_follow_until_the_end(slipway):
    run = slipway.submit("for i in 1 2 3; do echo $i; sleep 0.2; done")
    result = slipway.cli("run", "logs", "-f", run)
    assert result.stdout == "1\n2\n3\n"


def test_files_and_download(slipway, tmp_path):
    run = slipway.submit(
        "mkdir -p outputs/a; echo one > outputs/a/1; echo two > outputs/2; chmod 755 outputs/2"
    )
    slipway.completed(run)
    assert "outputs/a/1" in slipway.cli("run", "files", run).stdout
    slipway.cli("run", "download", run, "--to", tmp_path / "got")
    found = {
        path.relative_to(tmp_path / "got").as_posix(): path
        for path in (tmp_path / "got").rglob("*")
        if path.is_file()
    }
    assert {name.removeprefix("outputs/") for name in found} == {"a/1", "2"}
    two = next(path for name, path in found.items() if name.endswith("2"))
    assert two.read_text() == "two\n" and os.access(two, os.X_OK)


def test_cancel_rerun_diff_delete(slipway):
    run = slipway.submit("sleep 60")
    slipway.wait_for(run, "Running")
    slipway.cli("run", "cancel", run)
    assert slipway.wait(run)["state"] == "Canceled"
    again = slipway.cli_json("run", "rerun", run)["id"]
    slipway.cli("run", "cancel", again)
    slipway.wait(again)
    assert slipway.cli("run", "diff", run, again).returncode == 0
    slipway.cli("run", "delete", run)
    assert slipway.cli("run", "show", run, check=False).returncode == 5


def test_compute_from_create_to_delete(slipway):
    slipway.cli("compute", "create", "pool", "--min", "0", "--max", "2", "--idle", "1s", "--cpus", "1")
    shown = slipway.cli_json("compute", "show", "pool")
    assert (shown["min_nodes"], shown["max_nodes"], shown["idle_seconds"]) == (0, 2, 1)
    slipway.cli("compute", "update", "pool", "--max", "3")
    assert slipway.cli_json("compute", "show", "pool")["max_nodes"] == 3
    slipway.cli("submit", "--compute", "pool", "--follow", "--", "true")
    slipway.cli("compute", "nodes", "pool")
    slipway.cli("compute", "delete", "pool")
    assert slipway.cli("compute", "show", "pool", check=False).returncode == 5


def test_job_file_and_flags_that_override_it(slipway, tmp_path):
    (tmp_path / "job.yaml").write_text(
        "experiment: from-file\ncommand: [sh, -c, 'echo $A $B']\nvariables: {A: one, B: two}\ntags: {x: y}\n"
    )
    slipway.cli("submit", "job.yaml", "--var", "B=three", "--tag", "z=w", "--follow", cwd=tmp_path)
    run = slipway.items(f"{W}/runs")[0]
    assert run["experiment"] == "from-file"
    assert run["tags"] == {"x": "y", "z": "w"}
    assert slipway.log(run["id"]) == b"one three\n"


def test_bad_key_of_a_job_file_is_named_with_its_line(slipway, tmp_path):
    (tmp_path / "job.yaml").write_text("experiment: e\ncommand: [true]\n\nexperimnt: typo\n")
    result = slipway.cli("submit", "job.yaml", cwd=tmp_path, check=False)
    assert result.returncode == 2
    assert "experimnt" in result.stderr and "4" in result.stderr
    assert slipway.items(f"{W}/runs") == []


BAD_INPUT = {
    "unknown cluster": (["submit", "--compute", "nowhere", "--", "true"], {2, 5}, "nowhere"),
    "no command": (["submit"], {2}, ""),
    "unknown run": (["run", "show", "nothing-12345678"], {5}, "nothing-12345678"),
    "unknown option": (["run", "list", "--stat", "Running"], {2}, "--state"),
    "unknown command": (["rum", "list"], {2}, "run"),
    "odd name": (["compute", "create", "a/b", "--max", "1"], {2}, "a/b"),
    "bad number": (["compute", "create", "ok", "--max", "many"], {2}, "many"),
    "bad duration": (["submit", "--timeout", "soon", "--", "true"], {2}, "soon"),
    "missing job file": (["submit", "no.yaml"], {2, 5}, "no.yaml"),
    "bad tag": (["submit", "--tag", "novalue", "--", "true"], {2}, "novalue"),
    "missing source": (
        ["submit", "--source", "/nonexistent/folder", "--", "true"],
        {2, 5},
        "/nonexistent/folder",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT, ids=lambda case: case.replace(" ", "-"))
def test_bad_input_gets_a_sentence_and_its_exit_code(slipway, case):
    args, codes, word = BAD_INPUT[case]
    result = slipway.cli(*args, check=False)
    assert result.returncode in codes, (result.returncode, result.stderr)
    assert result.stderr.startswith("error: "), result.stderr
    assert word in result.stderr
    assert slipway.items(f"{W}/runs") == []


def test_missing_script_is_said_before_anything_is_sent_or_by_the_run(slipway, tmp_path):
    result = slipway.cli(
        "submit", "--source", tmp_path, "--follow", "--", "python3", "no_such.py", check=False
    )
    assert result.returncode != 0
    assert "no_such.py" in result.stderr + result.stdout


def test_unreachable_server_is_said(stopped):
    result = stopped.cli(
        "run", "list", "--server", "http://127.0.0.1:9", check=False, env={"SLIPWAY_TOKEN": "slw_a_b"}
    )
    assert result.returncode == 12
    assert "127.0.0.1:9" in result.stderr


def test_no_server_in_this_home_says_how_to_start_one(stopped):
    result = stopped.cli("run", "list", check=False)
    assert result.returncode in {5, 12}
    assert "slipway up" in result.stderr


def test_expired_token_is_said(slipway):
    token = slipway.api(
        "POST",
        "/api/v1/tokens",
        {"name": "short", "role": "reader", "workspace": "default", "expires_seconds": 1},
    )["token"]
    time.sleep(1.2)
    result = slipway.cli("run", "list", env={"SLIPWAY_TOKEN": token}, check=False)
    assert result.returncode == 3
    assert "expired" in result.stderr or "token" in result.stderr
    assert token not in result.stderr


def test_reader_cannot_submit(slipway):
    token = slipway.api("POST", "/api/v1/tokens", {"name": "r", "role": "reader", "workspace": "default"})[
        "token"
    ]
    result = slipway.cli("submit", "--", "true", env={"SLIPWAY_TOKEN": token}, check=False)
    assert result.returncode == 4


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_there(stopped, shell):
    script = stopped.cli("completion", shell).stdout
    assert "slipway" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_bash_completes_commands_and_runs(slipway):
    run = slipway.submit("true", experiment="complete")
    slipway.completed(run)
    script = slipway.cli("completion", "bash").stdout
    driver = f"""
{script}
COMP_WORDS=(slipway run sh); COMP_CWORD=2; COMP_LINE="slipway run sh"; COMP_POINT=${{#COMP_LINE}}
f=$(complete -p slipway | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$f slipway sh run
echo "${{COMPREPLY[@]}}"
"""
    result = subprocess.run(
        ["bash", "-c", driver],
        env={
            **slipway.env,
            "SLIPWAY_HOME": str(slipway.home),
            "PATH": f"{slipway.binary.parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
    )
    assert "show" in result.stdout, result


def test_doctor_says_what_is_there(slipway):
    result = slipway.cli("doctor", check=False)
    assert "python3" in result.stdout.lower() or "cgroup" in result.stdout.lower()
    assert isinstance(slipway.cli_json("doctor", check=False), dict)


def test_json_errors_keep_their_shape(slipway):
    result = slipway.cli("run", "show", "nothing-12345678", "--json", check=False)
    assert result.returncode == 5
    error = json.loads(result.stderr or result.stdout)["error"]
    assert error["code"] == "not_found" and error["message"]


def test_workspaces_keep_runs_apart(slipway):
    slipway.api("POST", "/api/v1/workspaces", {"name": "second"})
    run = slipway.submit("true")
    slipway.wait(run)
    assert slipway.cli_json("run", "list", "--workspace", "second")["items"] == []
    assert slipway.cli("run", "show", run, "--workspace", "second", check=False).returncode == 5
