"""slurmrestd goes away while runs run, end, wait and are canceled, and comes back to a Slurm that has moved on."""

import time

from .processes import wait_until
from .server import W


def up(hpc, run):
    hpc.slipway.wait_for(run, "Running")
    wait_until(lambda: hpc.slipway.log(run), 30, f"{run} says nothing")


def live_through(hpc, seconds=0):
    """An outage of at least that long, and of whatever it takes for everything to have happened within it."""
    slipway, slurm = hpc.slipway, hpc.slurm
    go = slipway.folder / "go"
    running = hpc.submit(f"echo up; while [ ! -e {go} ]; do sleep 0.1; done; echo done")
    canceled = hpc.submit("echo up; exec sleep 600")
    outside = hpc.submit("echo up; exec sleep 600", max_attempts=2)
    for run in (running, canceled, outside):
        up(hpc, run)
    queued = hpc.submit("echo at last", resources={}, nodes=3)
    hpc.waits_because(queued, "nodes to become free")

    slurm.stop_rest()
    gone = time.monotonic()
    later = hpc.submit("echo later")
    hpc.waits_because(later, "slurmrestd does not answer")
    assert "slurmrestd does not answer" in slipway.cli("compute", "show", "hpc").stdout
    slipway.api("POST", f"{W}/runs/{canceled}/cancel")
    assert slipway.wait(canceled)["state"] == "Canceled"
    slurm.run("scancel", str(hpc.job(outside)["job_id"]))
    go.touch()
    # Neither the end of what runs nor the start of what Slurm has already taken needs slurmrestd.
    assert slipway.completed(running)["attempt"] == 1 and slipway.log(running) == b"up\ndone\n"
    slipway.completed(queued)
    assert [slipway.log(queued, rank=rank) for rank in range(3)] == [b"at last\n"] * 3
    assert slurm.jobs_of(later) == []
    time.sleep(max(0.0, gone + seconds - time.monotonic()))
    slurm.start_rest()

    slipway.completed(later)
    ended = slipway.wait(outside)
    assert ended["state"] == "Canceled" and "canceled outside Slipway" in ended["reason"], ended
    for run in (running, canceled, outside, queued, later):
        assert slipway.run(run)["attempt"] == 1 and len(slurm.jobs_of(run)) == 1, run
    hpc.all_given_back()
