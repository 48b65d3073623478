"""What runs inside an allocation is given as on any other node: environments, data, and ranks that find each other."""

import shutil

import pytest
from support import ranks
from support.data import add_datastore, create
from support.index import Index
from support.processes import marked_with, wait_until
from support.server import ROOT, W

BUILD_LOG = "system_logs/environment.txt"


@pytest.fixture
def index():
    index = Index()
    index.add("pinned", "1.0")
    index.add("user", "1.0", requires=["pinned<2"])
    yield index
    index.stop()


def put_uv(folder):
    """Where agents of that home find it: Slurm's jobs have the PATH of a bare system."""
    found = ROOT / ".venv" / "bin" / "uv"
    (folder / "tools").mkdir(parents=True, mode=0o700)
    (folder / "tools" / "uv").symlink_to(found if found.exists() else shutil.which("uv"))


def small_environment(hpc, index):
    """Named by a file of requirements that says itself where its packages are."""
    requirements = hpc.slipway.folder / "requirements.txt"
    requirements.write_text(f"--index-url {index.url}\nuser\n")
    return hpc.slipway.cli_json("env", "create", "small", "--requirements", requirements)["reference"]


@pytest.mark.parametrize("place", ["scratch", "shared"])
def test_environment_is_built_once_and_used_by_the_next_allocation(hpc, index, place):
    home = hpc.scratch if place == "scratch" else hpc.slipway.folder / "shared"
    put_uv(home)
    hpc.attach(*(() if place == "scratch" else ("--shared", home)), "--partition", "high", name="building")
    name = small_environment(hpc, index)
    script = "import os, pinned, sys, user; print(pinned.__version__, sys.prefix)"
    job = {"compute": "building", "environment": name}
    first = hpc.submit("python", "-c", script, nodes=2, resources={"cpus": 2}, **job)
    hpc.slipway.completed(first)
    (build,) = (home / "environments" / "builds").iterdir()
    for rank in (0, 1):
        assert hpc.slipway.log(first, rank=rank).decode().split() == ["1.0", str(build / "env")]
    assert hpc.slipway.run(first)["environment"]["build"] == build.name

    index.stop()  # whoever builds it again fails
    again = hpc.submit("python", "-c", script, **job)
    hpc.slipway.completed(again)
    assert hpc.slipway.run(again)["environment"]["reused"] is True
    other = hpc.slipway.folder / "shared" if place == "scratch" else hpc.scratch
    assert not (other / "environments").exists()


def test_environment_that_cannot_be_built_fails_the_run_with_the_reason(hpc, index):
    put_uv(hpc.scratch)
    requirements = hpc.slipway.folder / "requirements.txt"
    requirements.write_text(f"--index-url {index.url}\nnowhere==1.0\n")
    name = hpc.slipway.cli_json("env", "create", "broken", "--requirements", requirements)["reference"]
    run = hpc.submit("true", environment=name, max_attempts=2)
    ended = hpc.slipway.wait(run)
    assert (ended["state"], ended["attempt"]) == ("Failed", 1) and "nowhere" in ended["reason"], ended
    assert b"nowhere" in hpc.slipway.log(run, BUILD_LOG)
    hpc.all_given_back()


@pytest.mark.parametrize(("place", "mode"), [("scratch", "mount"), ("shared", "download")])
def test_dataset_is_there_on_every_node_of_the_allocation(hpc, place, mode):
    folder = hpc.slipway.folder / "images"
    (folder / "train").mkdir(parents=True)
    (folder / "train" / "a.txt").write_text("A")
    (folder / "big.bin").write_text("x" * 3_000_000)
    add_datastore(hpc.slipway, "images", folder)
    create(hpc.slipway, "pictures", "images:**")
    home = hpc.slipway.folder / "shared"
    hpc.attach(*(() if place == "scratch" else ("--shared", home)), "--partition", "high", name="reading")
    run = hpc.submit(
        "sh",
        "-c",
        'echo $(cat "$0/train/a.txt") $(wc -c < "$0/big.bin")',
        "${inputs.pictures}",
        compute="reading",
        nodes=2,
        resources={"cpus": 2},
        inputs={"pictures": {"dataset": "pictures", "mode": mode}},
    )
    hpc.slipway.completed(run)
    assert [hpc.slipway.log(run, rank=rank) for rank in (0, 1)] == [b"A 3000000\n"] * 2
    (placed,) = hpc.slipway.run(run)["inputs"]
    assert (placed["name"], placed["version"], placed["mode"]) == ("pictures", 1, mode)
    wait_until(lambda: not marked_with(hpc.scratch), 20, "something lives on")


def rank_log(hpc, run, rank):
    name = f"user_logs/std_log_process_{rank}.txt"
    (log,) = [log for log in hpc.slipway.items(f"{W}/runs/{run}/logs") if log["name"] == name]
    return hpc.slipway.log(run, name, rank=log["rank"]).decode()


@pytest.mark.parametrize("launcher", ["pytorch", "mpi"])
def test_ranks_of_several_nodes_find_each_other(hpc, launcher):
    run = hpc.submit(
        *ranks.python(ranks.MEET), nodes=2, processes=2, launcher=launcher, resources={"cpus": 2}
    )
    ended = hpc.slipway.completed(run)
    assert len(set(ended["nodes"])) == 2
    assert [rank_log(hpc, run, rank) for rank in range(4)] == [
        "met 4\n",
        "met as 1\n",
        "met as 2\n",
        "met as 3\n",
    ]
    wait_until(lambda: not marked_with(hpc.scratch), 20, "something lives on")
