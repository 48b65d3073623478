"""`slipway mpi-rank`, the parent of a rank that mpirun starts: what the rank is given, what is told of its end."""

import contextlib
import os
import signal
import subprocess

import pytest
from support.processes import is_alive, wait_until
from support.server import RELEASE


class Place:
    """What the supervisor and mpirun would have made for rank 3."""

    def __init__(self, folder):
        self.folder, self.work = folder / "mpi", folder / "work"
        self.folder.mkdir()
        self.work.mkdir()
        self.pipes = {}
        for name in ("3.out", "3.err", "ended"):
            os.mkfifo(self.folder / name)
            self.pipes[name] = os.open(self.folder / name, os.O_RDWR | os.O_NONBLOCK)
        self.said = dict.fromkeys(self.pipes, "")
        self.parent = None

    def start(self, *command):
        variables = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "SLIPWAY_MPI_SECRET": "s3cret"}
        places = {"SLIPWAY_MPI_FOLDER": str(self.folder), "SLIPWAY_MPI_WORK": str(self.work)}
        self.parent = subprocess.Popen(
            [RELEASE, "mpi-rank", "--", *command],
            env={**os.environ, **variables, **places},
            start_new_session=True,
        )

    def read(self, name):
        with contextlib.suppress(BlockingIOError):
            self.said[name] += os.read(self.pipes[name], 65536).decode()
        return self.said[name]

    def ended(self):
        """How the parent ended, and what it told of the rank."""
        return self.parent.wait(30), self.read("ended")

    def close(self):
        if self.parent is not None and self.parent.poll() is None:
            os.killpg(self.parent.pid, signal.SIGKILL)
            self.parent.wait(10)
        for pipe in self.pipes.values():
            os.close(pipe)


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


def shell(line):
    return ("/bin/sh", "-c", line)


def test_rank_that_ends_well_has_its_log_and_folder_and_nothing_is_told(place):
    place.start(*shell("pwd; echo $RANK of $WORLD_SIZE >&2; env | grep SLIPWAY_MPI_ || true"))
    assert place.ended() == (0, "")
    assert place.read("3.out") == f"{place.work}\n" and place.read("3.err") == "3 of 4\n"


def test_code_of_a_failed_rank_is_told_and_is_the_parents(place):
    place.start(*shell("exit 7"))
    assert place.ended() == (7, "3 1792\n")


def test_signal_that_ended_a_rank_is_told_and_ends_the_parent(place):
    place.start(*shell("kill -9 $$"))
    assert place.ended() == (-9, "3 9\n")


def test_rank_that_cannot_start_is_told_and_says_why(place):
    place.start("./missing")
    assert place.ended() == (127, f"3 {127 << 8}\n")
    assert "cannot start './missing'" in place.read("3.err")


def test_rank_that_is_told_to_end_has_its_time_and_has_not_failed(place):
    place.start(*shell("trap 'sleep 0.5; echo saved; exit 9' TERM; echo here; while :; do sleep 0.02; done"))
    wait_until(lambda: "here" in place.read("3.out"), 30, "the rank does not start")
    os.killpg(place.parent.pid, signal.SIGTERM)
    assert place.ended() == (9, "")
    assert "saved\n" in place.read("3.out")


def test_rank_does_not_outlive_its_parent(place):
    place.start(*shell("echo $$; exec sleep 600"))
    rank = int(wait_until(lambda: place.read("3.out"), 30, "the rank does not start"))
    place.parent.kill()
    place.parent.wait(10)
    wait_until(lambda: not is_alive(rank), 30, "the rank lives on")
