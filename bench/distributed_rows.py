"""Distributed runs: two machines in network namespaces, four ranks, beside plain mpirun over the same namespaces."""

import contextlib
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from row import Row
from support.namespaces import Nodes
from support.processes import wait_until
from support.server import RELEASE, Slipway, W

RANKS = 4
TIMES = 15
# The moment of the first line, by the clock that all namespaces share.
FIRST_LINE = ("/bin/sh", "-c", "date +%s%N")


@contextlib.contextmanager
def machines():
    slipway = Slipway(RELEASE)
    nodes = None
    try:
        nodes = Nodes(
            slipway, 2, {"SLIPWAY_HEARTBEAT": "5s", "SLIPWAY_SILENCE": "30s", "SLIPWAY_GRACE": "600s"}
        )
        yield nodes
    finally:
        if nodes is not None:
            nodes.close()
        slipway.stop_everything()
        slipway.remove()


def rank_logs(nodes, run):
    logs = nodes.slipway.items(f"{W}/runs/{run}/logs")
    return [
        nodes.slipway.log(run, log["name"], rank=log["rank"])
        for log in logs
        if "std_log_process" in log["name"]
    ]


def to_first_lines(nodes, launcher):
    """Milliseconds from the submission to the first line of the last rank."""
    begin = time.time_ns()
    run = nodes.submit(*FIRST_LINE, launcher=launcher, processes=RANKS // 2)
    nodes.slipway.completed(run)
    printed = [int(text) for text in rank_logs(nodes, run)]
    assert len(printed) == RANKS, printed
    return (max(printed) - begin) / 1e6


def plain_mpirun(nodes, folder):
    """The same with mpirun alone: its remote start is nsenter, which costs nothing."""
    agent = folder / "agent"
    words = [f"  {nodes.network.address(i)}) ns={nodes.network.names[i]} ;;" for i in range(2)]
    cases = "\n".join(words)
    agent.write_text(
        f'#!/bin/sh\ncase $1 in\n{cases}\nesac\nshift\nexec nsenter --net=/run/netns/$ns sh -c "$*"\n'
    )
    agent.chmod(0o755)
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{nodes.network.address(i)} slots=2\n" for i in range(2)))
    net = f"{nodes.network.prefix}.0/24"
    settings = {
        "plm_rsh_agent": agent,
        "plm_rsh_no_tree_spawn": 1,
        "oob_tcp_if_include": net,
        "btl_tcp_if_include": net,
        "btl": "self,vader,tcp",
        "pml": "ob1",
    }
    options = [word for name, value in settings.items() for word in ("--mca", name, str(value))]
    command = [
        "mpirun",
        "--hostfile",
        str(hosts),
        "-np",
        str(RANKS),
        "--bind-to",
        "none",
        *options,
        *FIRST_LINE,
    ]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    begin = time.time_ns()
    done = subprocess.run(
        nodes.network.inside(0, *command),
        env={**os.environ, **root},
        capture_output=True,
        text=True,
        timeout=60,
    )
    printed = [int(line) for line in done.stdout.split()]
    assert len(printed) == RANKS, done
    return (max(printed) - begin) / 1e6


def first_lines(_):
    with machines() as nodes, tempfile.TemporaryDirectory() as folder:
        for launcher in ("pytorch", "mpi"):
            to_first_lines(nodes, launcher)  # warm
        plain_mpirun(nodes, Path(folder))
        pytorch = [to_first_lines(nodes, "pytorch") for _ in range(TIMES)]
        # By turns, so that whatever else the machine does hits both alike.
        pairs = [(to_first_lines(nodes, "mpi"), plain_mpirun(nodes, Path(folder))) for _ in range(TIMES)]
        mpi, plain = (statistics.median(side) for side in zip(*pairs, strict=True))
        yield Row(
            "2 nodes, 4 ranks: submit to every first line, pytorch, p50",
            400,
            statistics.median(pytorch),
            "ms",
        )
        yield Row(
            "2 nodes, 4 ranks: submit to every first line, mpi, p50",
            400,
            mpi,
            "ms",
            peer=plain,
            note="peer: plain mpirun",
        )
        yield Row("the same, times plain mpirun over the same namespaces", 1.3, mpi / plain, "times")


def failure(_):
    """From one rank's failure to the end of the last process anywhere: those that obey, and those that do not."""
    grace = 2.0
    with machines() as nodes:
        for what, rest in (
            ("SIGTERM obeyed", "exec sleep 600"),
            ("SIGTERM ignored", "trap '' TERM; while :; do sleep 1; done"),
        ):
            taken = []
            for _ in range(5):
                script = f'if [ "$RANK" = 3 ]; then sleep 0.5; date +%s%N; exit 1; fi; {rest}'
                run = nodes.submit(script, launcher="pytorch", processes=2, grace_seconds=grace)
                nodes.slipway.wait_for(run, "Running")
                wait_until(lambda: any(nodes.job_pids(i) for i in range(2)), 20)
                wait_until(lambda: not any(nodes.job_pids(i) for i in range(2)), 60)
                gone = time.time_ns()
                nodes.slipway.wait(run)
                failed = max(int(text) for text in rank_logs(nodes, run) if text.strip())
                taken.append((gone - failed) / 1e6)
            over = grace * 1e3 if "ignored" in what else 0
            yield Row(
                f"failure of one rank to the last process gone on all nodes, {what}, beyond the grace",
                2000,
                statistics.median(taken) - over,
                "ms",
            )


DISTRIBUTED_ROWS = {"first-lines": first_lines, "rank-failure": failure}
