"""The package as a user's program drives it, against the real server."""

import io
import json
import os
import stat
import subprocess
import sys

import pytest
import slipway as package
from slipway import errors
from support.interpreters import PACKAGES

TRAIN = """
import sys
import slipway
for step in range(3):
    slipway.log(loss=1 / (step + 1), step=step)
print("arguments", sys.argv[1:])
open("outputs/model.txt", "w").write("weights")
"""


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return folder


def test_script_is_submitted_followed_and_looked_at(ws, source, tmp_path):
    run = ws.submit(
        "train.py",
        source=str(source),
        args=["--epochs", 3],
        experiment="digits",
        tags={"owner": "me", "try": 1},
        variables={"PYTHONPATH": str(PACKAGES)},
    )
    shown = io.StringIO()
    run.follow(file=shown, timeout=60)
    text = shown.getvalue()
    assert f"run {run.id}\n" in text and "Running" in text
    assert "arguments ['--epochs', '3']" in text
    assert text.rstrip().splitlines()[-1].startswith(f"{run.id} Completed after ")

    assert run.state == "Completed" and run.exit_code == 0 and run.duration > 0
    assert run.started_at <= run.ended_at and run.submitted_at.utcoffset().total_seconds() == 0
    assert run.metrics() == {"loss": 1 / 3}
    series = run.metrics("loss")
    assert series.values == [1.0, 0.5, 1 / 3] and series.steps == [0, 1, 2] and series.last == 1 / 3
    assert [(f.path, f.size) for f in run.files()] == [("outputs/model.txt", 7)]
    assert run.read("outputs/model.txt") == b"weights"
    assert run.download("outputs", to=str(tmp_path / "here")) == str(tmp_path / "here" / "outputs")
    assert (tmp_path / "here" / "outputs" / "model.txt").read_text() == "weights"
    assert run.tags == {"owner": "me", "try": "1"}
    run.tag(stage="done")
    run.untag("try")
    assert run.tags == {"owner": "me", "stage": "done"}
    assert [event["state"] for event in run.events()][-1] == "Completed"
    assert "arguments" in run.logs() and run.log_files()[0].name == "std_log.txt"

    assert ws.run(run.id) == run and ws.run("latest") == run
    assert ws.experiment("digits").runs() == [run]
    assert [e.name for e in ws.experiments()] == ["digits"]
    assert ws.runs(tag="stage=done") == [run] and ws.runs(state="Failed") == []
    again = run.rerun().wait(timeout=60)
    assert again != run and run.diff(again)["code"] == []


def test_progress_is_only_what_the_job_prints_when_asked(ws):
    shown = io.StringIO()
    ws.submit(command="echo one; printf two", source=None).follow(file=shown, phases=False, timeout=60)
    assert shown.getvalue() == "one\ntwo"


def test_failed_run_raises_and_tells_why(ws):
    run = ws.submit(command=["/bin/sh", "-c", "echo broken; exit 7"], source=None)
    with pytest.raises(errors.RunFailedError, match="exited with code 7") as failure:
        run.wait(timeout=60)
    assert failure.value.run.exit_code == 7
    assert run.wait(raise_on_failure=False).state == "Failed"
    assert "broken" in run.logs()


def test_processes_of_a_launcher_are_followed_by_their_first(ws):
    run = ws.submit(command="echo I am $RANK of $WORLD_SIZE", source=None, launcher="pytorch", processes=2)
    shown = io.StringIO()
    run.follow(file=shown, timeout=60)
    assert "I am 0 of 2\n" in shown.getvalue() and "I am 1" not in shown.getvalue()
    assert run.logs() == "I am 0 of 2\n"
    assert run.logs("user_logs/std_log_process_1.txt") == "I am 1 of 2\n"
    with pytest.raises(errors.InvalidArgumentError, match="launcher"):
        ws.submit(command="true", source=None, launcher="carrier-pigeon")


def test_canceled_run_ends(ws):
    run = ws.submit(command="sleep 100", source=None)
    with pytest.raises(errors.TimedOutError, match="has not ended within"):
        run.wait(timeout=0.3)
    run.cancel()
    assert run.wait(timeout=60, raise_on_failure=False).state == "Canceled"
    run.delete()
    with pytest.raises(errors.NotFoundError):
        ws.run(run.id)


def test_follow_stops_when_its_time_is_over(ws):
    run = ws.submit(command="sleep 100", source=None)
    with pytest.raises(errors.TimedOutError):
        run.follow(file=io.StringIO(), timeout=0.3)
    run.cancel().wait(timeout=60, raise_on_failure=False)


def test_submission_is_repeated_by_key_without_a_second_run(ws):
    job = {"command": ["true"]}
    first = ws.submit_job(job, key="once")
    assert ws.submit_job(job, key="once") == first
    with pytest.raises(errors.ConflictError):
        ws.submit_job({"command": ["false"]}, key="once")
    assert len(ws.runs()) == 1
    first.wait(timeout=60)


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ({}, errors.InvalidArgumentError, "a script or a command"),
        ({"script": "a.py", "command": "x"}, errors.InvalidArgumentError, "a script or a command"),
        ({"script": "nope.py"}, errors.NotFoundError, "no script 'nope.py'"),
        ({"script": "train.py", "args": "--x"}, errors.InvalidArgumentError, "list of arguments"),
        ({"script": "train.py", "experiment": "a b"}, errors.InvalidArgumentError, "name for an experiment"),
        ({"script": "train.py", "compute": "nope"}, errors.NotFoundError, "nope"),
        ({"script": "train.py", "memory": "much"}, errors.InvalidArgumentError, "no amount of memory"),
        ({"script": "train.py", "source": "/nope"}, errors.NotFoundError, "no source folder /nope"),
        ({"command": ["x"], "source": "/nope"}, errors.InvalidArgumentError, "does not exist"),
        ({"command": ["x"], "nodes": 0}, errors.InvalidArgumentError, "nodes"),
    ],
)
def test_bad_submission_is_refused_with_a_reason(ws, source, wrong, kind, words):
    with pytest.raises(kind, match=words):
        ws.submit(**{"source": str(source), **wrong})
    assert ws.runs() == []


def test_snapshot_is_the_one_the_command_line_takes(slipway, ws, tmp_path):
    folder = tmp_path / "folder"
    for name in (
        *("train.py", "a/b/deep.txt", "a/skip.log", "a/keep.log", "build/x", "data/raw/1", "data/x/raw/2"),
        *("[odd].txt", "ab1.tmp", "ab-.tmp", "ünï.txt", "sub/.gitignore", "sub/local", ".git/config", "x\\y"),
        *("with space ", "q?.txt", "docs/a/z.md", "docs/z.md"),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("train.py")
    (folder / "sub/.gitignore").write_text("local\n")
    (folder / ".gitignore").write_text(
        "*.log\n!keep.log\n/build/\ndata/**/raw\nab[[:digit:]-x].tmp\n\\[odd].txt\nq\\?.txt\ndocs/**/z.md\n"
        "# comment\n\nwith\\ space\\ \n[bad\n"
    )
    (folder / "big.bin").write_bytes(os.urandom(1 << 20))
    ours = ws.submit(command=["true"], source=str(folder))
    theirs = slipway.cli_json("submit", "--source", folder, "--", "true")
    assert ours.job["snapshot"] == theirs["job"]["snapshot"]
    assert ours.wait(timeout=60).diff(ws.run(theirs["id"]).wait(timeout=60))["code"] == []
    kept = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert kept.returncode != 0  # .git/config alone is no repository: the rules are ours to follow
    listing = ws.submit(command="find . -type f | sort; test -x run.sh", source=str(folder))
    listing.wait(timeout=60)
    names = set(listing.logs().split("\n"))
    assert "./train.py" in names and "./a/keep.log" in names and "./big.bin" in names
    assert not {"./a/skip.log", "./build/x", "./data/x/raw/2", "./.git/config", "./link", "./ab1.tmp"} & names


def test_git_state_is_recorded_without_credentials(ws, source):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(source)]
    for words in (
        ["init", "-q", "-b", "trunk"],
        ["add", "."],
        ["commit", "-qm", "x"],
        ["remote", "add", "origin", "https://me:secret@example.org/r.git"],
    ):
        subprocess.run([*git, *words], check=True)
    (source / "more.txt").write_text("x")
    state = ws.submit(command=["true"], source=str(source)).wait(timeout=60).job["git"]
    assert state["branch"] == "trunk" and state["dirty"] and len(state["commit"]) == 40
    assert state["remote"] == "https://example.org/r.git"


def test_download_goes_on_checks_and_keeps_modes(ws, tmp_path):
    script = "head -c 3000000 /dev/urandom > outputs/big; printf x > outputs/run.sh; chmod 755 outputs/run.sh"
    run = ws.submit(command=script, source=None).wait(timeout=60)
    digest = {f.path: f.digest for f in run.files()}["outputs/big"]
    target = tmp_path / "to"
    part = target / "outputs" / f".big.{digest[:16]}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(run.read("outputs/big")[:1000000])  # what an interrupted download leaves
    run.download(to=str(target))
    assert (target / "outputs/big").read_bytes() == run.read("outputs/big")
    assert stat.S_IMODE((target / "outputs/run.sh").stat().st_mode) == 0o755
    assert sorted(p.name for p in part.parent.iterdir()) == ["big", "run.sh"]
    before = (target / "outputs/big").stat().st_mtime_ns
    part.write_bytes(b"damaged" * 1000)
    run.download("outputs/big", to=str(target))  # it is there already
    assert (target / "outputs/big").stat().st_mtime_ns == before
    (target / "outputs/big").unlink()
    run.download("outputs/big", to=str(target))  # the damaged part is fetched again
    assert (target / "outputs/big").read_bytes() == run.read("outputs/big")
    with pytest.raises(errors.ConflictError, match="there already"):
        run.download("outputs/big", to=str(target), overwrite=False)
    with pytest.raises(errors.NotFoundError, match="left no file"):
        run.download("outputs/nope", to=str(target))
    (target / "outputs/run.sh").unlink()
    outside = tmp_path / "outside"
    outside.mkdir()
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "outputs").symlink_to(outside)
    with pytest.raises(errors.InvalidArgumentError, match="leads out of"):
        run.download("outputs/run.sh", to=str(trap))
    assert list(outside.iterdir()) == []


def test_file_that_changes_while_it_is_sent_is_sent_as_it_is_then(ws, source, monkeypatch):
    from slipway import _transfer

    taken = _transfer.take_snapshot
    state = {"left": 1}

    def take_and_change(folder, *more):
        snapshot = taken(folder, *more)
        if state["left"]:
            state["left"] -= 1
            (source / "train.py").write_text("print('second')")
        return snapshot

    monkeypatch.setattr(_transfer, "take_snapshot", take_and_change)
    run = ws.submit("train.py", source=str(source)).wait(timeout=60)
    assert run.logs() == "second\n"


def test_clusters_are_created_changed_waited_for_and_deleted(ws):
    cluster = ws.compute.create("cpu", min_nodes=1, max_nodes=2, idle_seconds=1, cpus=1, memory="256MiB")
    assert cluster.wait(timeout=60).nodes()[0]["state"] in ("idle", "busy")
    assert cluster.document["memory_bytes"] == 256 << 20
    assert ws.submit(command=["true"], source=None, compute="cpu").wait(timeout=60).document["nodes"]
    assert cluster.update(min_nodes=0, max_nodes=3).max_nodes == 3
    assert sorted(c.name for c in ws.compute) == ["cpu", "local"]
    assert ws.compute["cpu"].min_nodes == 0
    with pytest.raises(errors.ConflictError):
        ws.compute.create("cpu")
    with pytest.raises(errors.NotFoundError):
        ws.compute["nope"]
    cluster.delete()
    with pytest.raises(errors.NotFoundError):
        cluster.refresh()


def test_tables_for_notebooks_escape_what_runs_say(ws):
    run = ws.submit(command=["true"], source=None, name="<script>", tags={"a": "<b>"}).wait(timeout=60)
    ws.submit(command="exit 3", source=None).wait(timeout=60, raise_on_failure=False)
    for shown in (run, ws.runs(), ws.experiments(), ws.experiment("default"), ws, ws.compute, run.metrics()):
        html = shown._repr_html_()
        assert html.startswith("<table>") and "<script>" not in html
    assert run.id in ws.runs()._repr_html_() and "exited with code 3" in ws.runs()._repr_html_()


def test_types_are_exported_and_the_examples_in_docstrings_hold():
    script = (
        "import doctest, importlib, pkgutil, slipway, sys\n"
        "failed = 0\n"
        "for module in pkgutil.iter_modules(slipway.__path__):\n"
        "    if module.name != '__main__':\n"
        "        failed += doctest.testmod(importlib.import_module('slipway.' + module.name)).failed\n"
        "assert all(hasattr(slipway, name) for name in slipway.__all__)\n"
        "sys.exit(failed)\n"
    )
    from support.interpreters import NEWEST, OLDEST, interpreter

    for version in (OLDEST, NEWEST):
        subprocess.run(
            [interpreter(version), "-c", script], env={**os.environ, "PYTHONPATH": str(PACKAGES)}, check=True
        )
    assert (PACKAGES / "slipway" / "py.typed").exists()
    assert set(dir(package)) >= set(package.__all__)
    assert json.dumps(package.__version__) and sys.modules["slipway"] is package


def test_programs_that_use_it_can_be_checked_strictly(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from typing import Dict, List\n"
        "import slipway\n"
        "ws: slipway.Workspace = slipway.workspace()\n"
        "run: slipway.Run = ws.submit('train.py', args=['--epochs', 3], nodes=2)\n"
        "state: str = run.follow().state\n"
        "tags: Dict[str, str] = run.tags\n"
        "paths: List[str] = [file.path for file in run.files()]\n"
        "slipway.log(loss=0.1, step=3)\n"
        "try:\n    ws.run('x')\nexcept slipway.errors.NotFoundError as error:\n    print(error.next)\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    environment = {**os.environ, "MYPYPATH": str(PACKAGES)}
    good = subprocess.run(mypy, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert good.returncode == 0, good.stdout
    program.write_text("import slipway\nslipway.workspace().submit('train.py', nodes='two', colour='red')\n")
    bad = subprocess.run(mypy, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert "nodes" in bad.stdout and "colour" in bad.stdout
