"""Machines that go away with the replicas on them, or fall silent, while clients use the service."""

import os
import signal
import subprocess

import pytest
from support import processes
from support.services import Load, Shop

CLUSTER = "own"
# Losses are decided in seconds, and long after the busiest machine has sent its heartbeats.
TIMES = {"SLIPWAY_HEARTBEAT": "300ms", "SLIPWAY_SILENCE": "4s", "SLIPWAY_GRACE": "8s"}
PATIENCE = 90


class Machine:
    """A `slipway join` with a home of its own and room for one replica."""

    def __init__(self, slipway, name):
        self.slipway = slipway
        self.name = name
        self.home = slipway.folder / name
        self.home.mkdir()
        self.start()

    def start(self):
        server = ["--server", self.slipway.url, "--token-file", self.slipway.home / "token"]
        size = ["--address", "127.0.0.1", "--cpus", "1", "--memory", "1G", "--gpus", "0"]
        command = [
            self.slipway.binary,
            "--home",
            self.home,
            *server,
            "join",
            CLUSTER,
            "--name",
            self.name,
            *size,
        ]
        with open(self.home / "join.log", "ab") as log:
            self.agent = subprocess.Popen(
                list(map(str, command)),
                env={**self.slipway.env, "SLIPWAY_HOME": str(self.home)},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        processes.wait_until(
            lambda: self.state in {"idle", "busy"},
            PATIENCE,
            f"{self.name} has not joined: {(self.home / 'join.log').read_text()}",
        )

    @property
    def state(self):
        nodes = {node["id"]: node["state"] for node in self.slipway.nodes(CLUSTER)}
        return nodes.get(self.name)

    @property
    def attempts(self):
        return list((self.home / "nodes" / self.name / "attempts").iterdir())

    def pids(self):
        return processes.marked_with(self.home)

    def die(self):
        """As by a power cut: the agent, the supervisor and the replica at once."""
        for pid in self.pids():
            processes.kill(pid)
        self.agent.kill()
        self.agent.wait(10)
        processes.wait_until(lambda: not self.pids(), 10, f"processes of {self.name} live on")

    def close(self):
        processes.kill(self.agent.pid, signal.SIGCONT)
        self.agent.terminate()
        try:
            self.agent.wait(20)
        except subprocess.TimeoutExpired:
            self.agent.kill()
            self.agent.wait(10)
        for pid in self.pids():
            processes.kill(pid)


@pytest.fixture
def spread(stopped, model_files):
    """A service with a replica on each of two machines, and a third machine that has nothing to do."""
    stopped.up(env=TIMES)
    shop = Shop(stopped, model_files)
    stopped.cli("compute", "create", CLUSTER, "--max", "0")
    machines = []
    try:
        for number in range(3):
            machines.append(Machine(stopped, f"machine-{number}"))
        size = ["--compute", CLUSTER, "--cpu", "1", "--memory", "256M"]
        service = shop.deployed("times-svc", "--replicas", "2", *size, timeout=PATIENCE)
        wait_for_replicas(service, 2)
        yield service, machines
        stopped.cli("service", "delete", "times-svc")
        processes.wait_until(
            lambda: not any(machine.attempts for machine in machines),
            PATIENCE,
            "attempts are left on a machine",
        )
    finally:
        for machine in machines:
            machine.close()


def wait_for_replicas(service, count):
    service.wait_for(lambda record: record["ready_replicas"] == count, f"there are not {count}", PATIENCE)


def places(service, machines):
    """Which machine carries each replica that is ready."""
    by_name = {machine.name: machine for machine in machines}
    return {
        by_name[service.slipway.run(replica["run"])["nodes"][0]]: replica
        for replica in service.replicas("ready")
    }


def wait_for_place(service, machines, wanted):
    processes.wait_until(
        lambda: wanted in places(service, machines), PATIENCE, f"nothing was started on {wanted.name}"
    )


def test_a_replica_is_replaced_elsewhere_when_its_machine_dies(spread):
    service, machines = spread
    carrying = places(service, machines)
    assert len(carrying) == 2, "the replicas are on one machine"
    victim = next(iter(carrying))
    (free,) = set(machines) - set(carrying)
    with Load(service) as load:
        load.wait_for(50)
        victim.die()
        load.wait_for(100)
        wait_for_place(service, machines, free)
        load.wait_for(100)
    assert set(load.statuses) == {200}, load.bodies[:3]
    lost = carrying[victim]["number"]
    service.wait_for(
        lambda _: all(r["number"] != lost for r in service.replicas("ready")), "it is kept", PATIENCE
    )
    assert service.state == "Healthy"
    # The machine comes back: what it had is over.
    victim.start()
    processes.wait_until(lambda: not victim.attempts, PATIENCE, "the machine keeps what was lost")
    service.wait_for(
        lambda record: record["ready_replicas"] == 2 and len(service.replicas("ready", "starting")) == 2,
        "there are not two replicas",
        PATIENCE,
    )


def test_a_replica_on_a_silent_machine_is_doubled_and_goes_on(spread):
    service, machines = spread
    carrying = places(service, machines)
    silent = next(iter(carrying))
    (free,) = set(machines) - set(carrying)
    with Load(service) as load:
        os.kill(silent.agent.pid, signal.SIGSTOP)
        wait_for_place(service, machines, free)
        load.wait_for(50)
        os.kill(silent.agent.pid, signal.SIGCONT)
        service.wait_for(
            lambda _: len(service.replicas("ready", "starting", "draining")) == 2, "three are kept", PATIENCE
        )
        load.wait_for(50)
    assert set(load.statuses) == {200}, load.bodies[:3]
    assert service.state == "Healthy"
