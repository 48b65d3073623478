"""What a user does with a cluster of Slurm's."""

from .processes import wait_until


class Hpc:
    """The server, and what a user does with its cluster of Slurm's."""

    def __init__(self, slipway, slurm):
        self.slipway, self.slurm = slipway, slurm
        self.scratch = slipway.folder / "scratch"

    def attach(self, *options, name="hpc", endpoint=None):
        where = ("--endpoint", endpoint or self.slurm.endpoint) if endpoint != "commands" else ()
        return self.slipway.cli_json(
            "compute", "attach", name, "--engine", "slurm", "--scratch", self.scratch, *where, *options
        )

    def submit(self, *command, compute="hpc", **job):
        job.setdefault("resources", {"cpus": 1})
        return self.slipway.submit(*command, compute=compute, **job)

    def why(self, run):
        return self.slipway.run(run)["waiting_because"]

    def waits_because(self, run, text, timeout=20):
        wait_until(lambda: text in self.why(run), timeout, f"{run} does not wait because of '{text}'")

    def job(self, run, attempt=1):
        """The Slurm job of that attempt, once Slurm has it."""

        def found():
            jobs = [job for job in self.slurm.jobs_of(run) if f"attempt={attempt} " in job["comment"]]
            return jobs[-1] if jobs else None

        return wait_until(found, 20, f"Slurm has no job of {run}, attempt {attempt}")

    def kinds(self, run):
        return [event["kind"] for event in self.slipway.events(run)]

    def all_given_back(self, name="hpc", timeout=40):
        wait_until(lambda: not self.slipway.nodes(name), timeout, "nodes were not given back")
