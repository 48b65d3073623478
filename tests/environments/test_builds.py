"""Building environments on a node: once, whole, shared, recorded, and with one clear sentence when it fails."""

import subprocess
import time

import pytest
from support import processes
from support.server import W

BUILD_LOG = "system_logs/environment.txt"


def create(slipway, name, *args):
    return slipway.cli_json("env", "create", name, *args)["reference"]


def builds(slipway):
    return sorted(path.parent for path in slipway.home.glob("environments/builds/*/build.json"))


def build_log(slipway, run):
    return slipway.log(run, BUILD_LOG).decode()


def tries(slipway, runs):
    return [run for run in runs if "\nresolving " in build_log(slipway, run)]


def failure(slipway, run, timeout=60):
    ended = slipway.wait(run, timeout)
    assert ended["state"] == "Failed", (ended, build_log(slipway, run))
    assert not list(slipway.home.glob("environments/builds/*")), "no half-built environment stays"
    return ended["reason"]


def test_an_environment_is_built_once_and_recorded(building, index):
    name = create(building, "mine", "--pip", "user", "--python", "3.11", "--var", "GREETING=hello")
    script = "import os, pinned, sys; print(pinned.__version__, os.environ['GREETING'], sys.prefix)"
    first = building.submit("python", "-c", script, environment=name)
    building.completed(first)
    assert building.log(first).decode().split()[:2] == ["1.0", "hello"], "resolved, not just the newest"
    assert "user==1.0" in build_log(building, first)
    (build,) = builds(building)
    assert str(build) in building.log(first).decode()
    record = building.run(first)["environment"]
    assert record["build"] == build.name and record["builder"] == "uv" and record["reused"] is False
    assert record["python"].startswith("3.11.")
    lock = building.cli("env", "lock", name).stdout
    assert "pinned==1.0" in lock and "--hash=sha256:" in lock
    kinds = [event["kind"] for event in building.events(first)]
    assert kinds.index("environment") < kinds.index("prepared")

    index.stop()  # from now on there is no index: neither a run nor another name needs one
    again = building.submit("python", "-c", script, environment=name)
    building.completed(again)
    twin = create(building, "twin", "--pip", "user", "--python", "3.11")
    building.completed(building.submit("python", "-c", "import user", environment=twin))
    assert builds(building) == [build]
    assert building.run(again)["environment"]["reused"] is True


def test_the_build_log_is_followed_before_the_jobs_own_words(building):
    name = create(building, "mine", "--pip", "user")
    result = building.cli("submit", "--env", name, "--follow", "--", "python", "-c", "print('mine')")
    assert result.stdout == "mine\n"
    assert "resolving 1 requirement\n" in result.stderr and "+ user==1.0" in result.stderr
    assert result.stderr.index("+ user==1.0") < result.stderr.index("Running")
    shown = building.cli("run", "show", "latest").stdout
    assert f"environment {name} built in" in shown


def test_several_runs_wait_for_one_build(building, index):
    index.delay = 1.0
    name = create(building, "slow", "--pip", "user")
    runs = [building.submit("python", "-c", "import user", environment=name, compute="two") for _ in range(2)]
    for run in runs:
        building.completed(run)
    assert len(builds(building)) == 1
    assert len(tries(building, runs)) == 1
    reports = [building.run(run)["environment"]["reused"] for run in runs]
    assert sorted(reports) == [False, True]
    assert sum("waiting for it" in build_log(building, run) for run in runs) == 1


def test_a_failed_build_fails_all_that_wait_and_is_tried_again_later(building, index):
    index.delay = 0.5
    name = create(building, "broken", "--pip", "user", "--pip", "picky")
    runs = [building.submit("true", environment=name, compute="two") for _ in range(4)]
    reasons = {failure(building, run) for run in runs}
    assert len(reasons) == 1
    (reason,) = reasons
    assert "the packages cannot be resolved" in reason
    assert "picky" in reason and "unsatisfiable" in reason, "the resolver's own words"
    assert len(tries(building, runs)) == 1, "it is not repeated for each waiting run"
    index.add("picky", "1.1", requires=["pinned<2"])
    building.completed(building.submit("python", "-c", "import picky", environment=name))


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        (["no-such-package"], ["no-such-package was not found in the package registry"]),
        (["pinned==3.0"], ["there is no version of pinned==3.0"]),
        (["pinned<1", "user"], ["unsatisfiable"]),
    ],
)
def test_packages_that_cannot_be_had(building, packages, words):
    name = create(building, "wrong", *[word for package in packages for word in ("--pip", package)])
    run = building.submit("true", environment=name)
    reason = failure(building, run)
    assert reason.startswith("environment wrong: the packages cannot be resolved: ")
    for word in words:
        assert word in reason
    assert words[0] in building.cli("run", "logs", run).stderr, "the log tells it too"
    building.completed(building.submit("true"))


def test_without_a_network(building, index):
    name = create(building, "far", "--pip", "user")
    index.stop()
    reason = failure(building, building.submit("true", environment=name))
    assert "cannot be resolved" in reason and ("Failed to fetch" in reason or "Request failed" in reason)


def test_an_interpreter_that_is_missing(building):
    name = create(building, "old", "--python", "3.4", "--pip", "user")
    reason = failure(building, building.submit("true", environment=name))
    assert "there is no Python 3.4 on this machine (there are: 3." in reason and "substitution" in reason
    name = create(building, "own", "--interpreter", "/opt/none/bin/python")
    reason = failure(building, building.submit("true", environment=name))
    assert "the interpreter '/opt/none/bin/python' of this environment is not on this machine" in reason


def test_the_nearest_patch_release_is_taken_and_said(building):
    name = create(building, "near", "--python", "3.6.2", "--pip", "user")
    run = building.submit("python", "-c", "import sys, user; print(sys.version_info[:2])", environment=name)
    building.completed(run)
    assert building.log(run) == b"(3, 6)\n"
    assert "Python 3.6.2 is not here: 3.6." in build_log(building, run)


def test_a_job_that_edits_a_package_harms_nobody(building):
    name = create(building, "mine", "--pip", "user")
    edit = (
        "import pinned, subprocess, sys\n"
        "open(pinned.__file__, 'a').write('VALUE = \"changed by a job\"\\n')\n"
        "print(subprocess.run([sys.executable, '-c', 'import pinned; print(pinned.VALUE)'], "
        "capture_output=True, text=True).stdout)"
    )
    run = building.submit("python", "-c", edit, environment=name)
    building.completed(run)
    assert b"changed by a job" in building.log(run), "the job itself sees what it wrote"
    after = building.submit("python", "-c", "import pinned; print(pinned.VALUE)", environment=name)
    building.completed(after)
    assert building.log(after) == b"1\n"
    found = subprocess.run(
        ["grep", "-rl", "changed by a job", building.home / "environments"], capture_output=True, text=True
    )
    assert found.stdout == "", "neither the environment nor the cache has changed"


def test_bytecode_is_there_and_used(building):
    name = create(building, "mine", "--pip", "user")
    script = "import pinned, os; print(os.path.exists(pinned.__cached__))"
    run = building.submit("python", "-c", script, environment=name)
    building.completed(run)
    assert building.log(run) == b"True\n"
    other = create(building, "other", "--pip", "user", "--pip", "pinned==1.0")
    second = building.submit("python", "-c", script, environment=other)
    building.completed(second)
    assert "compiling" in build_log(building, run) and "compiling" not in build_log(building, second)


def test_a_killed_build_is_invisible_and_redone(building, index):
    index.delay = 3.0
    name = create(building, "mine", "--pip", "user")
    run = building.submit("python", "-c", "import user; print('there')", environment=name)
    building.wait_for(run, "Preparing")
    processes.wait_until(lambda: list(building.home.glob("environments/builds/*")), 20, "no build began")
    index.delay = 0.0
    building.kill_agent(building.run(run)["nodes"][0])
    ended = building.wait(run, 90)
    assert ended["state"] == "Completed", (ended, build_log(building, run))
    assert len(builds(building)) == 1
    assert building.log(run) == b"there\n"


def test_a_cancel_stops_the_build(building, index):
    index.delay = 120.0
    name = create(building, "mine", "--pip", "user")
    run = building.submit("true", environment=name)
    building.wait_for(run, "Preparing")
    processes.wait_until(lambda: any(p.endswith(".whl") for p in index.asked), 20, "nothing was fetched")
    began = time.monotonic()
    building.cli("run", "cancel", run)
    assert building.wait(run)["state"] == "Canceled"
    assert time.monotonic() - began < 100
    index.delay = 0.0
    building.completed(building.submit("python", "-c", "import user", environment=name))


def test_a_full_disk_while_building(building, index, tmp_path):
    index.add("large", "1.0", files={"large/data.bin": b"\0" + bytes(range(256)) * (64 << 10)})
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m,mode=700", "tmpfs", small], capture_output=True, text=True
    )
    assert mounted.returncode == 0, f"mounting a small file system needs root; {mounted.stderr}"
    try:
        (building.home / "environments").symlink_to(small)
        name = create(building, "big", "--pip", "large")
        reason = failure(building, building.submit("true", environment=name))
        assert "the disk is full" in reason and "slipway env prune" in reason
        building.completed(building.submit("true"))
    finally:
        (building.home / "environments").unlink()
        subprocess.run(["umount", "-l", small], check=False)


def test_uv_is_fetched_where_it_is_not_on_the_path(stopped):
    stopped.env["PATH"] = "/usr/bin:/bin"
    stopped.up()
    name = create(stopped, "bare", "--python", "3.11")
    run = stopped.submit("python", "-c", "import sys; print(sys.prefix)", environment=name)
    stopped.completed(run, 120)
    assert "uv is not on this machine: fetching it with pip" in build_log(stopped, run)
    assert str(stopped.home / "environments") in stopped.log(run).decode()
    assert (stopped.home / "tools" / "uv").exists()


def test_uv_that_cannot_be_fetched(stopped):
    stopped.env["PATH"] = "/usr/bin:/bin"
    stopped.env["PIP_INDEX_URL"] = "http://127.0.0.1:1/simple/"
    stopped.env["PIP_RETRIES"] = "0"
    stopped.up()
    name = create(stopped, "bare", "--python", "3.11")
    reason = failure(stopped, stopped.submit("true", environment=name), 120)
    assert "uv, which builds environments, is not on this machine and cannot be fetched" in reason
    assert "pip install uv" in reason


def test_pips_own_settings_hold(stopped, index, tmp_path):
    from environments.conftest import tools_folder

    stopped.env["PATH"] = f"{tools_folder(tmp_path, 'uv')}:/usr/bin:/bin"
    stopped.env["PIP_INDEX_URL"] = index.url
    stopped.up()
    name = create(stopped, "mine", "--pip", "user")
    stopped.completed(stopped.submit("python", "-c", "import user", environment=name))


def test_conda_packages_without_a_conda_tool(building, index, tmp_path):
    (tmp_path / "env.yml").write_text("dependencies:\n- python=3.11\n- user=1.0\n- pip:\n  - pinned\n")
    name = create(building, "fromconda", "--conda", tmp_path / "env.yml")
    run = building.submit("python", "-c", "import user, pinned; print(pinned.__version__)", environment=name)
    building.completed(run)
    assert "user" in build_log(building, run) and building.log(run) == b"1.0\n"
    (tmp_path / "gpu.yml").write_text("dependencies:\n- cudatoolkit-dev=11\n- gcc_linux-64\n- r-base\n")
    name = create(building, "onlyconda", "--conda", tmp_path / "gpu.yml")
    ended = building.wait(building.submit("true", environment=name))
    assert ended["state"] == "Failed" and "micromamba" in ended["reason"]


def test_the_run_says_which_build_and_substitutions_it_had(building):
    building.cli("env", "substitution", "add", "package", "missing-one", "pinned==2.0")
    name = create(building, "sub", "--pip", "missing-one")
    run = building.submit("python", "-c", "import pinned; print(pinned.__version__)", environment=name)
    building.completed(run)
    assert building.log(run) == b"2.0\n"
    record = building.api("GET", f"{W}/runs/{run}")["environment"]
    assert len(record["applied"]) == 1 and "missing-one" in record["applied"][0]
    assert record["applied"][0] in build_log(building, run)
