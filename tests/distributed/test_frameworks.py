"""The real frameworks over machines with addresses of their own: the scripts of examples/distributed, as they stand.

Each script checks in itself that its ranks agree; one that looked for the others on localhost would find nobody.
Horovod, which is compiled for minutes, is in horovod_proof.py: `make soak` runs it.
"""

from typing import NamedTuple

import pytest
from distributed.conftest import ended, started
from support.namespaces import CLUSTER
from support.server import ROOT

SCRIPTS = ROOT / "examples" / "distributed"
STEPS = 25
pytestmark = pytest.mark.timeout(600)  # frameworks are fetched
# Several frameworks that load at once keep agents from their heartbeats, and none is lost here.
PATIENT = {"SLIPWAY_SILENCE": "30s", "SLIPWAY_GRACE": "120s"}


@pytest.fixture(scope="module")
def machines():
    nodes = started(2, PATIENT)
    yield nodes
    ended(nodes, True)


class Case(NamedTuple):
    script: str
    framework: str
    launcher: str
    processes: int  # on each of two nodes
    ranks: int  # that train
    alone: tuple  # launcher and processes of the same training on one node, by one rank


CASES = [
    Case("mpi_numpy.py", "tensorflow", "mpi", 2, 4, ("mpi", 1)),
    Case("ddp.py", "pytorch", "pytorch", 2, 4, ("pytorch", 1)),
    Case("mirrored.py", "tensorflow", "tensorflow", 1, 2, ("tensorflow", 1)),
    Case("parameter_servers.py", "tensorflow", "tensorflow:workers=2,ps=1", 2, 2, ("tensorflow:workers=1,ps=1", 2)),
    Case("parameter_server_strategy.py", "tensorflow", "tensorflow:workers=2,ps=1,chief", 2, 2,
         ("tensorflow:workers=1,ps=1,chief", 3)),
]  # fmt: skip


def curve_of(slipway, environment, script, ranks, nodes, launcher, processes):
    """The losses of a training whose ranks agreed."""
    shape = ("--nodes", nodes, "--launcher", launcher, "--processes", processes)
    options = ("--compute", CLUSTER, "--env", environment, "--source", SCRIPTS)
    run = slipway.cli_json("submit", *options, *shape, "--", "python", script, "--ranks", ranks)["id"]
    slipway.completed(run, 180)
    assert f"{ranks} ranks agree" in slipway.log(run).decode()
    points = slipway.points(run, "loss")
    assert [point["step"] for point in points] == list(range(STEPS)), "one rank logs, and each step once"
    return [point["value"] for point in points]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.script)
def test_two_nodes_learn_what_one_learns(machines, framework, case):
    slipway = machines.slipway
    slipway.cli("env", "create", case.framework, "--interpreter", framework(case.framework))
    train = (slipway, case.framework, case.script)
    together = curve_of(*train, case.ranks, 2, case.launcher, case.processes)
    alone = curve_of(*train, 1, 1, *case.alone)
    assert together == pytest.approx(alone, abs=1e-3)
    assert together[-1] < together[0] / 4


def test_nodes_that_share_a_machine_are_told_apart(slipway, framework):
    slipway.cli("compute", "create", "pair", "--max", "2", "--cpus", "1", "--memory", "1G")
    options = (
        "--compute",
        "pair",
        "--source",
        SCRIPTS,
        "--nodes",
        "2",
        "--launcher",
        "mpi",
        "--processes",
        "2",
    )
    run = slipway.cli_json("submit", *options, "--", framework("tensorflow"), "mpi_numpy.py", "--ranks", "4")[
        "id"
    ]
    slipway.completed(run, 200)
    assert "4 ranks agree" in slipway.log(run).decode()


def test_launch_module_of_older_pytorch_starts_the_processes_of_its_node(machines, framework):
    """It reads no variables and would take every node for the only one."""
    slipway = machines.slipway
    shape = ("--nodes", "2", "--launcher", "pytorch", "--processes", "2", "--compute", CLUSTER)
    command = (framework("pytorch"), "-m", "torch.distributed.launch", "--use_env", "ddp.py", "--ranks", "4")
    run = slipway.cli_json("submit", *shape, "--source", SCRIPTS, "--", *command)["id"]
    slipway.completed(run, 180)
    assert "4 ranks agree" in slipway.log(run).decode()
    assert [point["step"] for point in slipway.points(run, "loss")] == list(range(STEPS))
