"""A real Slurm on this machine, in a folder and on ports of its own: for tests of the engine and as the bench's peer.

munged, slurmctld, several slurmd and slurmrestd (over a Unix socket, and with JWT over TCP) from Debian's packages.
Needs root. Everything that was started is stopped by `stop`, also what a test has killed and started again meanwhile.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from .processes import is_alive, kill, marked_with, wait_until

CONF = """
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={base}/munge.sock,cred_expire=5
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={base}/jwt.key
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool/%n
TmpFS={base}/tmp/%n
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd-%n.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
GresTypes=gpu
MpiDefault=none
ReturnToService=2
SlurmdTimeout=5
KillWait=2
TCPTimeout=2
MessageTimeout=5
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PrivateData=cloud
ResumeProgram={base}/resume.sh
SuspendProgram={base}/suspend.sh
SuspendTime=5
SuspendTimeout=2
ResumeTimeout=15
ResumeRate=0
SuspendRate=0
SuspendExcNodes=node[1-{nodes}]
SlurmctldParameters=idle_on_node_suspend,power_save_interval=1
{node_lines}
PartitionName=high Nodes=node[1-{nodes}] Default=YES PriorityTier=10 PreemptMode=OFF OverSubscribe=YES:8
PartitionName=low Nodes=node[1-{nodes}] PriorityTier=1 PreemptMode=REQUEUE
{cloud_partition}
"""

# A quicker resume is lost to a comparison of whole seconds. What is started here inherits slurmctld's blocked SIGTERM,
# an empty PATH and no standard streams, without which slurmd cannot start a job.
RESUME = """#!/bin/sh
export SLURM_CONF={base}/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin
sleep 1.1
for node in $(scontrol show hostnames "$1"); do
  python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_SETMASK, [])
os.execvp("slurmd", ["slurmd", "-b", "-N", sys.argv[1]])' "$node" </dev/null >/dev/null 2>&1
done
"""
# Without it a batch job on a node that was just started waits for a tick of 30 seconds.
PROLOG = """#!/bin/sh
export SLURM_CONF={base}/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin
while sinfo -h -N -n "$SLURM_JOB_NODELIST" -o %T | grep -q '[#~*%]'; do
  sleep 0.1
done
"""
SUSPEND = """#!/bin/sh
export SLURM_CONF={base}/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin
for node in $(scontrol show hostnames "$1"); do
  kill "$(cat {base}/slurmd-"$node".pid)"
done
"""


def free_ports(count):
    """Ports that nobody has now. All are held until the last is known, so that none comes twice."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]


class Slurm:
    """`nodes` are always up; those of the partition `cloud` only while jobs want them."""

    def __init__(self, nodes=2, cpus=8, cloud=0, gpus=0):
        self.nodes = [f"node{number + 1}" for number in range(nodes)]
        self.cloud = [f"cloud{number + 1}" for number in range(cloud)]
        self.cpus, self.gpus = cpus, gpus
        self.base = None

    @staticmethod
    def available():
        programs = ("slurmctld", "slurmd", "sbatch", "munged", "slurmrestd")
        return os.geteuid() == 0 and all(map(shutil.which, programs))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    # -- life -----------------------------------------------------------------------------------------------

    def start(self):
        self.base = Path(tempfile.mkdtemp(prefix="slw-slurm-"))
        try:
            self._write_files()
            self._start_daemons()
        except BaseException:
            self.stop()
            raise

    def _write_files(self):
        self.base.chmod(0o755)
        for node in [*self.nodes, *self.cloud]:
            (self.base / "spool" / node).mkdir(parents=True)
            (self.base / "tmp" / node).mkdir(parents=True)
            (self.base / "tmp" / node).chmod(0o1777)
        (self.base / "state").mkdir()
        for name in ("munge.key", "jwt.key"):
            key = self.base / name
            key.write_bytes(os.urandom(128))
            key.chmod(0o600)
        control, self.rest_port, *ports = free_ports(2 + len(self.nodes) + len(self.cloud))
        lines = []
        gres = f" Gres=gpu:{self.gpus}" if self.gpus else ""
        for node, port in zip([*self.nodes, *self.cloud], ports, strict=True):
            state = " State=CLOUD" if node in self.cloud else ""
            lines.append(
                f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
                f"CPUs={self.cpus} RealMemory=4000{gres}{state}"
            )
        cloud = (
            f"PartitionName=cloud Nodes=cloud[1-{len(self.cloud)}] PriorityTier=10 PreemptMode=OFF\n"
            f"PrologSlurmctld={self.base}/prolog.sh"
        )
        self._write(
            "slurm.conf",
            CONF,
            port=control,
            nodes=len(self.nodes),
            node_lines="\n".join(lines),
            cloud_partition=cloud if self.cloud else "",
        )
        for name, text in (("resume.sh", RESUME), ("suspend.sh", SUSPEND), ("prolog.sh", PROLOG)):
            self._write(name, text)
            (self.base / name).chmod(0o755)
        if self.gpus:
            for number in range(self.gpus):
                os.mknod(self.base / f"gpu{number}", 0o600 | 0o020000, os.makedev(1, 3))
            (self.base / "gres.conf").write_text(f"Name=gpu File={self.base}/gpu[0-{self.gpus - 1}]\n")
        self.env = {**os.environ, "SLURM_CONF": str(self.base / "slurm.conf")}

    def _write(self, name, text, **more):
        (self.base / name).write_text(text.format(base=self.base, **more))

    def _start_daemons(self):
        files = {
            "socket": "munge.sock",
            "key-file": "munge.key",
            "pid-file": "munged.pid",
            "log-file": "munged.log",
            "seed-file": "munge.seed",
        }
        self.run("munged", "--force", *[f"--{option}={self.base / name}" for option, name in files.items()])
        self.start_controller("-c")
        for node in self.nodes:
            self.start_node(node)
        self.rest = None
        self.start_rest()
        wait_until(self._all_idle, 30, "the nodes of Slurm did not come up")

    def _all_idle(self):
        states = self.run("sinfo", "-h", "-N", "-n", ",".join(self.nodes), "-o", "%T", check=False).stdout
        return states and set(states.split()) == {"idle"}

    def start_controller(self, *options):
        self.run("slurmctld", *options)

    def start_node(self, node):
        self.run("slurmd", "-N", node)

    def start_rest(self):
        """One for the Unix socket, where the kernel says who calls, and one for TCP, where a token does."""
        with contextlib.suppress(FileNotFoundError):
            self.socket.unlink()
        self.rest = [
            self._slurmrestd("rest_auth/local", f"unix:{self.socket}"),
            self._slurmrestd("rest_auth/jwt", f"127.0.0.1:{self.rest_port}", SLURM_JWT="daemon"),
        ]
        wait_until(self.socket.exists, 10, "slurmrestd did not come up")

    def _slurmrestd(self, auth, address, **variables):
        with (self.base / "slurmrestd.log").open("ab") as log:
            return subprocess.Popen(
                ["slurmrestd", "-a", auth, "-s", "openapi/v0.0.38", address],
                env={**self.env, "SLURMRESTD_SECURITY": "disable_user_check", **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def stop_rest(self):
        for process in self.rest or []:
            process.kill()
            process.wait(10)
        self.rest = None

    def kill_controller(self):
        pid = self._pid("slurmctld.pid")
        kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), 10, "slurmctld lives on")

    def kill_node(self, node):
        """The daemon alone: what it has started lives on."""
        pid = self._pid(f"slurmd-{node}.pid")
        kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), 10, f"slurmd of {node} lives on")

    def _pid(self, name):
        return int((self.base / name).read_text())

    def stop(self):
        if self.base is None:
            return
        with contextlib.suppress(subprocess.SubprocessError, AttributeError):
            self.run("scancel", "--user=root", check=False, timeout=10)
            wait_until(self.idle, 10)
        with contextlib.suppress(AttributeError):
            self.stop_rest()
        # All of it carries the folder in its environment or on its command line: whatever was started, and its jobs.
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in marked_with(self.base):
                kill(pid, number)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not marked_with(self.base), 5, patience=5)
        shutil.rmtree(self.base, ignore_errors=True)
        self.base = None

    # -- use ------------------------------------------------------------------------------------------------

    @property
    def socket(self):
        return self.base / "rest.sock"

    @property
    def endpoint(self):
        return f"unix:{self.socket}"

    @property
    def tcp_endpoint(self):
        return f"http://127.0.0.1:{self.rest_port}"

    def token(self, seconds=3600):
        return (
            self.run("scontrol", "token", "username=root", f"lifespan={seconds}")
            .stdout.strip()
            .split("=", 1)[1]
        )

    def run(self, *command, check=True, timeout=60):
        return subprocess.run(
            command, env=self.env, check=check, capture_output=True, text=True, timeout=timeout
        )

    def sbatch(self, line, output="/dev/null", *options):
        """Submits a shell line; gives the job's number."""
        return self.run("sbatch", "--parsable", f"--output={output}", *options, "--wrap", line).stdout.strip()

    def jobs(self):
        """All that slurmctld remembers."""
        return json.loads(self.run("squeue", "--json").stdout)["jobs"]

    def jobs_of(self, run):
        return [job for job in self.jobs() if run in job["comment"]]

    def mend(self):
        """Everything runs again, and no job is left."""
        if not self._alive("slurmctld.pid"):
            self.start_controller()
        for node in self.nodes:
            if not self._alive(f"slurmd-{node}.pid"):
                self.start_node(node)
        if self.rest is None:
            self.start_rest()
        self.run("scancel", "--user=root", check=False)
        for node in self.nodes:
            self.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)
        wait_until(lambda: self.idle() and self._all_idle(), 30, "Slurm does not come to rest")

    def _alive(self, name):
        with contextlib.suppress(OSError, ValueError):
            return is_alive(self._pid(name))
        return False

    def idle(self):
        return not self.run("squeue", "-h", check=False).stdout.strip()
