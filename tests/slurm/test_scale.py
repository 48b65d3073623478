"""A cluster of ten thousand nodes with a hundred thousand jobs, of which a few are ours."""

import pytest
from support.fake_slurmrestd import FakeSlurmrestd
from support.hpc import Hpc
from support.processes import resident_bytes, wait_until
from support.server import W

OURS = 50


@pytest.fixture
def giant(slipway):
    fake = FakeSlurmrestd(slipway.folder / "rest.sock", nodes=10_000, jobs=100_000)
    yield fake
    fake.close()


def test_huge_cluster_is_asked_once_for_all_jobs_and_little_of_it_is_kept(slipway, giant):
    hpc = Hpc(slipway, giant)
    hpc.attach("--partition", "all", "--max", "1000")
    runs = [hpc.submit("true") for _ in range(OURS)]
    for run in runs:
        hpc.waits_because(run, "behind jobs of higher priority (Priority)", timeout=60)
    assert giant.count("GET /job/") == 0 and giant.count("POST /job/submit") == OURS
    assert giant.count("GET /jobs") <= 5
    assert resident_bytes(slipway.server_pid) < 300 << 20
    assert slipway.api("GET", f"{W}/compute/hpc")["engine_status"]["nodes"]["total"] == 10_000
    for run in runs:
        slipway.api("POST", f"{W}/runs/{run}/cancel")
    wait_until(lambda: giant.count("DELETE /job/") >= OURS, 60, "the jobs were not canceled")
    hpc.all_given_back(timeout=90)
