"""Locks of environments that were really built: shown, compared, renewed, repeated and pruned."""

import contextlib
import ctypes
import time

from support.server import W

PER_LINUX32 = 8


def create(slipway, name, *packages):
    args = [word for package in packages for word in ("--pip", package)]
    return slipway.cli_json("env", "create", name, "--python", "3.11", *args)["reference"]


def pinned_version(slipway, run):
    slipway.completed(run)
    return slipway.log(run).decode().strip()


def test_a_lock_stays_until_a_rebuild_is_asked_for_and_a_rerun_has_its_own(building, index):
    name = create(building, "mine", "pinned")
    script = ("python", "-c", "import pinned; print(pinned.__version__)")
    building.cli("env", "build", name, timeout=120)
    before = building.submit(*script, environment="mine")
    assert pinned_version(building, before) == "2.0"
    assert "pinned==2.0" in building.cli("env", "lock", "mine").stdout

    index.add("pinned", "3.0")
    later = building.submit(*script, environment="mine")
    assert pinned_version(building, later) == "2.0", "unpinned, and still what it was resolved to"
    building.cli("env", "build", "mine", "--fresh", timeout=120)
    assert "pinned==3.0" in building.cli("env", "lock", "mine").stdout
    after = building.submit(*script, environment="mine")
    assert pinned_version(building, after) == "3.0"

    again = building.cli_json("run", "rerun", before)["id"]
    assert pinned_version(building, again) == "2.0", "a rerun has the lock of the original"
    assert (
        building.run(again)["environment"]["lock_digest"]
        == building.run(before)["environment"]["lock_digest"]
    )

    diff = building.api("GET", f"{W}/run-diff", query={"from": before, "to": after})["environment"]
    assert diff["from"]["packages"] == {"pinned": "2.0"} and diff["to"]["packages"] == {"pinned": "3.0"}
    shown = building.cli("run", "diff", before, after).stdout
    assert "- packages.pinned=2.0" in shown and "+ packages.pinned=3.0" in shown
    assert building.api("GET", f"{W}/run-diff", query={"from": before, "to": again})["environment"] is None
    assert "built by uv with python 3.11" in building.cli("run", "show", before).stdout


def test_two_built_environments_are_compared_by_their_locks(building):
    create(building, "mine", "user")
    create(building, "mine", "picky")
    for version in (1, 2):
        building.cli("env", "build", f"mine:{version}", timeout=120)
    diff = building.cli_json("env", "diff", "mine:1", "mine:2")
    assert diff["locked"] is True
    assert {(change["name"], change["from"], change["to"]) for change in diff["packages"]} == {
        ("pinned", "1.0", "2.0"),
        ("picky", None, "1.0"),
        ("user", "1.0", None),
    }
    assert "~ pinned 1.0 -> 2.0" in building.cli("env", "diff", "mine:1", "mine:2").stdout


def test_a_deleted_version_can_still_be_repeated(building):
    name = create(building, "mine", "pinned==1.0")
    run = building.submit("python", "-c", "import pinned; print(pinned.__version__)", environment=name)
    assert pinned_version(building, run) == "1.0"
    building.cli("env", "delete", "mine")
    again = building.cli_json("run", "rerun", run)["id"]
    assert pinned_version(building, again) == "1.0"


def test_a_file_in_place_of_a_name(building, tmp_path):
    (tmp_path / "requirements.txt").write_text("pinned<2\n")
    (tmp_path / "job.py").write_text("import pinned; print(pinned.__version__)")
    (tmp_path / "job.yaml").write_text("command: python job.py\nenvironment: ./requirements.txt\n")
    run = building.cli_json("submit", "--env", "./requirements.txt", "--", "python", "job.py", cwd=tmp_path)
    assert run["job"]["environment"] == "anonymous:1"
    assert pinned_version(building, run["id"]) == "1.0"
    again = building.cli_json("submit", tmp_path / "job.yaml")
    assert again["job"]["environment"] == "anonymous:1", "the same content is the same version"
    assert pinned_version(building, again["id"]) == "1.0"
    assert "anonymous:1" not in building.cli("env", "list").stdout


def test_a_name_of_azures_and_its_packages_run_with_what_stands_in(building):
    run = building.cli_json(
        "submit", "--no-source", "--env", "AzureML-Minimal", "--", "python", "-c", "import azureml.core"
    )
    assert run["job"]["environment"] == "curated/base:1"
    assert any("AzureML-Minimal" in warning for warning in run["warnings"])
    ended = building.completed(run["id"])
    log = building.log(run["id"], "system_logs/environment.txt").decode()
    assert "AzureML-Minimal" in log and "azureml-defaults is met by slipway-azureml" in log
    assert any("slipway-azureml" in sentence for sentence in ended["environment"]["applied"])


def test_builds_that_no_run_has_are_pruned(building):
    building.cli("env", "build", create(building, "mine", "pinned"), timeout=120)
    deadline = time.monotonic() + 30
    while (build := building.cli_json("env", "builds")["items"][0])["in_use"]:
        assert time.monotonic() < deadline, "the folder of the ended attempt is still there"
        time.sleep(0.05)
    assert build["builder"] == "uv"
    assert "uv" in building.cli("env", "builds").stdout
    kept = building.cli_json("env", "prune", "--keep", "10G")
    assert kept["builds"] == []
    pruned = building.cli_json("env", "prune")
    assert pruned["builds"] == [build["id"]]
    assert building.cli_json("env", "builds")["items"] == []
    building.cli("env", "build", "mine", timeout=120)
    assert len(building.cli_json("env", "builds")["items"]) == 1


@contextlib.contextmanager
def another_processor():
    """What is started meanwhile is told that this machine is a 32-bit one, as `setarch i686` does it."""
    system = ctypes.CDLL(None)
    before = system.personality(PER_LINUX32)
    assert before != -1
    try:
        yield
    finally:
        system.personality(before)


def test_a_lock_of_another_platform_is_not_used(building, index):
    create(building, "mine", "pinned")
    script = ("python", "-c", "import pinned; print(pinned.__version__)")
    first = building.submit(*script, environment="mine")
    assert pinned_version(building, first) == "2.0"

    index.add("pinned", "3.0")
    building.down()
    with another_processor():
        building.up()
    there = building.submit(*script, environment="mine")
    assert pinned_version(building, there) == "3.0", "resolved for that platform, and not for the other"
    again = building.submit(*script, environment="mine")
    assert pinned_version(building, again) == "3.0"
    digests = {building.run(run)["environment"]["lock_digest"] for run in (there, again)}
    assert len(digests) == 1, "a platform's lock holds on it"
    repeated = building.cli_json("run", "rerun", first)["id"]
    assert pinned_version(building, repeated) == "3.0"
    said = building.log(repeated, "system_logs/environment.txt").decode()
    assert "is for linux-x86_64, and this node is linux-i686" in said, said

    building.down()
    building.up()
    assert pinned_version(building, building.submit(*script, environment="mine")) == "2.0"
    locks = building.api("GET", f"{W}/environments/mine/locks")["items"]
    assert {lock["platform"] for lock in locks} == {"linux-x86_64", "linux-i686"}
