"""Nodes with addresses of their own: network namespaces on one bridge, and in each a real `slipway join`.

What works by accident because everything is localhost does not work here. `Network` is the bridge and its namespaces;
`Nodes` is a server that listens on the bridge and a cluster of agents that have joined it.
"""

import contextlib
import random
import secrets
import signal
import subprocess

from . import processes
from .certificates import certificate_for

CLUSTER = "own"
# Losses are decided quickly, and long after the busiest machine has sent its heartbeats.
QUICK = {"SLIPWAY_HEARTBEAT": "300ms", "SLIPWAY_SILENCE": "2s", "SLIPWAY_GRACE": "6s"}


def ip(*words, check=True):
    return subprocess.run(["ip", *map(str, words)], check=check, capture_output=True, text=True)


class Network:
    """`count` namespaces with one interface each, eth0, on a bridge whose own address is `gateway`."""

    def __init__(self, count):
        self.tag = secrets.token_hex(3)
        self.bridge = f"sw{self.tag}"
        self.count = count
        self.names = [f"slipway-{self.tag}-{index}" for index in range(count)]
        try:
            self._make_bridge()
            for index in range(count):
                self._make_namespace(index)
        except BaseException:
            self.close()
            raise

    def _make_bridge(self):
        ip("link", "add", self.bridge, "type", "bridge")
        taken = ip("-4", "-o", "addr").stdout
        while (prefix := f"10.{random.randrange(64, 250)}.{random.randrange(250)}") + "." in taken:
            pass
        self.prefix = prefix
        self.gateway = f"{prefix}.1"
        ip("addr", "add", f"{self.gateway}/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")

    def _make_namespace(self, index):
        name = self.names[index]
        ip("netns", "add", name)
        ip("link", "add", self._port(index), "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", self._port(index), "master", self.bridge, "up")
        ip("-n", name, "addr", "add", f"{self.address(index)}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")

    def _port(self, index):
        return f"sw{self.tag}p{index}"

    def address(self, index):
        return f"{self.prefix}.{index + 2}"

    def inside(self, index, *command):
        """A command line that runs `command` there, under a host name of its own. Only the network and the name change:
        cgroups stay as they are."""
        there = ["nsenter", f"--net=/run/netns/{self.names[index]}", "unshare", "--uts"]
        named = ["sh", "-c", 'hostname "$0" && exec "$@"', self.names[index]]
        return [*there, *named, *map(str, command)]

    def cut(self, index):
        """As a pulled cable: nothing is told, nothing comes through."""
        ip("link", "set", self._port(index), "down")

    def heal(self, index):
        ip("link", "set", self._port(index), "up")

    def pids(self, index):
        found = ip("netns", "pids", self.names[index], check=False).stdout.split()
        return [int(pid) for pid in found if processes.is_alive(int(pid))]

    def close(self):
        for index, name in enumerate(self.names):
            for pid in self.pids(index):
                processes.kill(pid)
            ip("link", "del", self._port(index), check=False)
            ip("netns", "del", name, check=False)
        ip("link", "del", self.bridge, check=False)


class Nodes:
    """A server on the bridge and `count` machines that have joined its cluster `own`, each in its namespace."""

    def __init__(self, slipway, count, env=None, cpus=2):
        self.slipway = slipway
        self.cpus = cpus
        self.network = Network(count)
        self.agents = [None] * count
        try:
            self.certificate, self.key = certificate_for(self.network.gateway, slipway.folder)
            self.env = {**QUICK, **(env or {})}
            self.start_server(0)
            slipway.cli("compute", "create", CLUSTER, "--max", "0")
            for index in range(count):
                self.start_agent(index)
            for index in range(count):
                self.wait_until_ready(index)
        except BaseException:
            self.close()
            raise

    def start_server(self, port):
        self.slipway.up(
            "--tls-cert",
            self.certificate,
            "--tls-key",
            self.key,
            listen=f"{self.network.gateway}:{port}",
            env=self.env,
        )
        self.url = self.slipway.about["public_url"]

    def server_again(self):
        self.start_server(self.url.rpartition(":")[2])

    def name(self, index):
        return f"machine-{index}"

    def home(self, index):
        return self.slipway.folder / f"machine-{index}"

    def start_agent(self, index):
        options = [
            "--server",
            self.url,
            "--token-file",
            self.slipway.home / "token",
            "--ca-file",
            self.certificate,
        ]
        place = ["--name", self.name(index), "--cpus", self.cpus, "--memory", "2G", "--gpus", "0"]
        command = [self.slipway.binary, "--home", self.home(index), *options, "join", CLUSTER, *place]
        self.home(index).mkdir(exist_ok=True)
        with open(self.home(index) / "agent.log", "ab") as log:
            self.agents[index] = subprocess.Popen(
                self.network.inside(index, *command),
                env={**self.slipway.env, "SLIPWAY_HOME": str(self.home(index))},
                cwd=self.home(index),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def state(self, index):
        nodes = {node["id"]: node["state"] for node in self.slipway.nodes(CLUSTER)}
        return nodes.get(self.name(index))

    def wait_until_ready(self, index):
        processes.wait_until(
            lambda: self.state(index) in {"idle", "busy"},
            20,
            f"{self.name(index)} did not come up: {self.logs()}",
        )

    def kill_agent(self, index):
        self.agents[index].kill()
        self.agents[index].wait(10)

    def submit(self, *command, nodes=None, **job):
        return self.slipway.submit(*command, compute=CLUSTER, nodes=nodes or self.network.count, **job)

    def holder(self, run, rank, attempt=1):
        """The index of the machine that has this rank's folder; waits until one has."""
        name = f"{run}.{attempt}.{rank}"

        def holders():
            places = [
                self.home(i) / "nodes" / self.name(i) / "attempts" / name for i in range(self.network.count)
            ]
            return [index for index, place in enumerate(places) if place.exists()]

        return processes.wait_until(holders, 20, f"no machine has {name}")[0]

    def job_pids(self, index):
        """The processes there that belong to jobs: neither the agent nor a supervisor."""
        own = {"join", "supervise"}
        return [pid for pid in self.network.pids(index) if not own & set(processes.command_line(pid))]

    def wait_until_quiet(self, timeout=30):
        """Until no process of a job is left on any machine."""
        processes.wait_until(
            lambda: not any(self.job_pids(index) for index in range(self.network.count)),
            timeout,
            "processes of jobs are left",
        )

    def logs(self):
        parts = []
        for index in range(self.network.count):
            with contextlib.suppress(FileNotFoundError):
                text = (self.home(index) / "agent.log").read_text(errors="replace")
                parts.append(f"== {self.name(index)}\n{text[-4000:]}")
        return "\n".join(parts)

    def close(self):
        for agent in self.agents:
            if agent is not None and agent.poll() is None:
                agent.send_signal(signal.SIGTERM)
        for agent in self.agents:
            if agent is None:
                continue
            try:
                agent.wait(10)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait(10)
        self.network.close()
