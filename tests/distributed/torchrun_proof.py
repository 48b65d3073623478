"""torchrun of the newest PyTorch over machines with addresses of their own. It is 5 GB: `make soak` runs this."""

import pytest
from distributed.conftest import ended, started
from support import frameworks
from support.namespaces import CLUSTER
from support.server import ROOT

SCRIPTS = ROOT / "examples" / "distributed"
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def machines():
    nodes = started(2, {"SLIPWAY_SILENCE": "30s", "SLIPWAY_GRACE": "120s"})
    yield nodes
    ended(nodes, True)


@pytest.fixture(scope="module")
def torchrun(tmp_path_factory):
    shared = tmp_path_factory.getbasetemp().parent / "frameworks" / "torch-newest"
    return frameworks.environment(shared, "3.11", "torch==2.15.0", "numpy").parent / "torchrun"


def trained(machines, shape, *command):
    slipway = machines.slipway
    options = ("--compute", CLUSTER, "--nodes", "2", "--source", SCRIPTS, *shape)
    run = slipway.cli_json("submit", *options, "--", *command)["id"]
    slipway.completed(run, 300)
    assert "4 ranks agree" in slipway.log(run).decode()
    machines.wait_until_quiet()


def test_torchrun_has_its_settings_from_the_launcher(machines, torchrun):
    trained(machines, ("--launcher", "pytorch", "--processes", "2"), torchrun, "ddp.py", "--ranks", "4")


def test_torchrun_with_settings_of_ones_own(machines, torchrun):
    line = (
        f"exec {torchrun} --nnodes 2 --nproc-per-node 2 --node-rank $SLIPWAY_NODE_RANK "
        "--master-addr ${SLIPWAY_NODES%%,*} --master-port 29500 ddp.py --ranks 4"
    )
    trained(machines, ("--launcher", "none"), "sh", "-c", line)


def test_failed_rank_below_torchrun_fails_the_run(machines, torchrun):
    slipway = machines.slipway
    script = (
        "import os, sys, time; sys.exit('out of steam') if os.environ['RANK'] == '3' else time.sleep(600)"
    )
    options = (
        "--compute",
        CLUSTER,
        "--nodes",
        "2",
        "--launcher",
        "pytorch",
        "--processes",
        "2",
        "--grace",
        "2s",
    )
    (slipway.folder / "fails").mkdir()
    (slipway.folder / "fails" / "fails.py").write_text(script)
    run = slipway.cli_json(
        "submit", *options, "--source", slipway.folder / "fails", "--", torchrun, "fails.py"
    )["id"]
    ended_run = slipway.wait(run, 300)
    assert ended_run["state"] == "Failed", ended_run
    machines.wait_until_quiet(60)
