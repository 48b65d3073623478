"""Data parallel training with mpi4py and numpy: the gradients go through MPI_Allreduce."""

import os

import numpy as np
import task
from mpi4py import MPI

world = MPI.COMM_WORLD


def average(value):
    """The mean of what all ranks have."""
    total = np.empty_like(value)
    world.Allreduce(value, total, MPI.SUM)
    return total / np.float32(world.size)


def check_neighbours():
    """Horovod, and MPI's shared memory, rely on every rank knowing who is on its node."""
    found = world.Split_type(MPI.COMM_TYPE_SHARED).size
    expected = int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", found))
    task.require(found == expected, f"{found} ranks seem to share a node, not {expected}")


def main():
    given = task.options()
    check_neighbours()
    weights, bias = task.start(world.rank)
    world.Bcast(weights, root=0)
    world.Bcast(bias, root=0)
    losses = []
    for step in range(given.steps):
        loss, by_weights, by_bias = task.gradients(weights, bias, *task.share(step, world.rank, world.size))
        weights -= task.RATE * average(by_weights)
        bias -= task.RATE * average(by_bias)
        losses.append(average(np.array([loss], np.float32))[0])
        if world.rank == 0:
            task.log(step, losses[-1])
    task.finish(given, world.size, losses, world.allgather(task.flat(weights, bias)))


if __name__ == "__main__":
    main()
