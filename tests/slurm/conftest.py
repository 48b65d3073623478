"""One real Slurm for all tests of a worker, and a server whose cluster `hpc` it is."""

import pytest
from support.hpc import Hpc
from support.server import FINAL, W
from support.slurm import Slurm


@pytest.fixture(scope="session")
def slurm_daemons():
    assert Slurm.available(), "Slurm is not installed, or this is not root; scripts/install-dependencies test"
    with Slurm(nodes=3, cpus=2, cloud=1, gpus=2) as slurm:
        yield slurm


@pytest.fixture
def slurm(slurm_daemons):
    """Empty at the beginning and at the end, whatever the test did to it."""
    yield slurm_daemons
    slurm_daemons.mend()


@pytest.fixture
def hpc(slipway, slurm):
    """Attached over the Unix socket of slurmrestd, to the partition `high`."""
    made = Hpc(slipway, slurm)
    made.attach("--partition", "high", "--low-partition", "low")
    yield made
    for run in slipway.items(f"{W}/runs"):
        if run["state"] not in FINAL:
            slipway.http("POST", f"{W}/runs/{run['id']}/cancel")
