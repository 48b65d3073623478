"""The Slurm engine beside sbatch itself, in the same cluster."""

import contextlib
import json
import statistics
import tempfile
import time
from pathlib import Path

from row import Row, server
from support.fake_slurmrestd import FakeSlurmrestd
from support.hpc import Hpc
from support.processes import resident_bytes, wait_until
from support.server import W
from support.slurm import Slurm


@contextlib.contextmanager
def attached(slurm, *options):
    with server() as slipway:
        hpc = Hpc(slipway, slurm)
        hpc.attach(*options)
        slipway.completed(hpc.submit("true"), timeout=60)  # everything warm
        yield hpc


def engine_first_line(_):
    """From the call of the client program to the first thing the script does."""
    with Slurm(nodes=8, cpus=2) as slurm, attached(slurm, "--partition", "high") as hpc:
        ours, theirs = [], []
        for number in range(21):
            output = slurm.base / f"first-{number}"
            start = time.time()
            slurm.sbatch("/bin/date +%s.%N", output)
            wait_until(lambda output=output: output.exists() and output.read_text().strip(), 30)
            theirs.append((float(output.read_text()) - start) * 1e3)
            wait_until(slurm.idle, 30)
            start = time.time()
            command = ("submit", "--json", "--compute", "hpc", "--cpus", "1", "--", "/bin/date", "+%s.%N")
            run = json.loads(hpc.slipway.cli(*command).stdout)["id"]
            hpc.slipway.completed(run)
            ours.append((float(hpc.slipway.log(run)) - start) * 1e3)
            wait_until(slurm.idle, 30)
    ours, theirs = statistics.median(ours[1:]), statistics.median(theirs[1:])
    note = f"slipway {ours:.0f} ms, sbatch {theirs:.0f} ms, p50 of 20 each in turn"
    yield Row("Slurm: overhead over sbatch, submit to first line", 150, ours - theirs, "ms", note=note)


def engine_throughput(_):
    """From the first submission until the last job is over in Slurm, sbatch's jobs and ours in turn."""
    count = 500
    with Slurm(nodes=8, cpus=8) as slurm, attached(slurm, "--partition", "high", "--max", "512") as hpc:
        start = time.monotonic()
        for _ in range(count):
            slurm.sbatch("/bin/true", "/dev/null", "--partition=high")
        wait_until(slurm.idle, 900)
        theirs = count / (time.monotonic() - start)
        start = time.monotonic()
        runs = [hpc.submit("/bin/true") for _ in range(count)]
        for run in runs:
            hpc.slipway.completed(run, timeout=900)
        wait_until(slurm.idle, 60)
        ours = count / (time.monotonic() - start)
    note = f"slipway {ours:.1f}/s, sbatch {theirs:.1f}/s, {count} one-node jobs each"
    yield Row("Slurm: throughput, of sbatch's own", 90, 100 * ours / theirs, "%", "more", note=note)


def engine_scale(_):
    """A simulated slurmrestd of 10,000 nodes and 100,000 jobs."""
    with server() as slipway, tempfile.TemporaryDirectory() as folder:
        fake = FakeSlurmrestd(Path(folder) / "rest.sock", nodes=10_000, jobs=100_000)
        hpc = Hpc(slipway, fake)
        hpc.attach("--partition", "all", "--max", "1000")
        runs = [hpc.submit("true") for _ in range(500)]
        for run in runs:
            hpc.waits_because(run, "(Priority)", timeout=120)
        times = set()

        def looked():
            times.add(slipway.api("GET", f"{W}/compute/hpc")["engine_status"]["look_seconds"] * 1e3)
            return len(times) >= 4

        wait_until(looked, 300)
        memory = resident_bytes(slipway.server_pid) / 1e6
        for run in runs:
            slipway.api("POST", f"{W}/runs/{run}/cancel")
        fake.close()
    yield Row("Slurm: reconcile with 10,000 nodes, 100,000 jobs", 2000, statistics.median(times), "ms")
    yield Row("Slurm: server memory meanwhile", 300, memory, "MB")


SLURM_ROWS = {
    "slurm-first-line": engine_first_line,
    "slurm-throughput": engine_throughput,
    "slurm-scale": engine_scale,
}
