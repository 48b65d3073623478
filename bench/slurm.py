"""Slurm on this machine, in a folder of its own, as the peer that runs are measured against."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CONF = """
ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=26817
AuthType=auth/munge
AuthInfo=socket={base}/munge.sock
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool/%n
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd-%n.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
NodeName=node[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=27001-27002 CPUs=8 RealMemory=4000
PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES:8
"""


class Slurm:
    """Up while the `with` block lasts."""

    @staticmethod
    def available():
        return os.geteuid() == 0 and all(map(shutil.which, ("slurmctld", "slurmd", "sbatch", "munged")))

    def __enter__(self):
        self.base = Path(tempfile.mkdtemp(prefix="slw-slurm-"))
        self.base.chmod(0o755)
        for name in ("state", "spool/node1", "spool/node2"):
            (self.base / name).mkdir(parents=True)
        (self.base / "slurm.conf").write_text(CONF.format(base=self.base))
        key = self.base / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.env = {**os.environ, "SLURM_CONF": str(self.base / "slurm.conf")}
        files = {
            "socket": "munge.sock",
            "key-file": "munge.key",
            "pid-file": "munged.pid",
            "log-file": "munged.log",
            "seed-file": "munge.seed",
        }
        self._run("munged", "--force", *[f"--{option}={self.base / name}" for option, name in files.items()])
        self._run("slurmctld", "-c")
        for node in ("node1", "node2"):
            self._run("slurmd", "-N", node)
        end = time.monotonic() + 30
        while "idle" not in self._run("sinfo", "-h", "-o", "%T", check=False).stdout:
            if time.monotonic() > end:
                raise RuntimeError((self.base / "slurmctld.log").read_text()[-2000:])
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self._run("scancel", "--user=root", check=False)
        for pid_file in self.base.glob("*.pid"):
            try:
                os.kill(int(pid_file.read_text()), 15)
            except (ProcessLookupError, ValueError):
                continue
        time.sleep(1)
        shutil.rmtree(self.base, ignore_errors=True)

    def _run(self, *command, check=True):
        return subprocess.run(command, env=self.env, check=check, capture_output=True, text=True, timeout=60)

    def sbatch(self, line, output="/dev/null"):
        """Submits a shell line; gives the job's number."""
        return self._run("sbatch", "--parsable", f"--output={output}", "--wrap", line).stdout.strip()

    def idle(self):
        return not self._run("squeue", "-h").stdout.strip()
