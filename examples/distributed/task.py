"""The small task that every script of this folder trains, with numpy alone, on Python 3.6 and later.

Softmax regression on points in a few clusters. The batch of a step is the same for any number of ranks, who take equal
shares of it, and the optimiser is plain gradient descent: so every framework, on one node or on many, has to come to
the curve that numpy comes to. Each rank starts with weights of its own, and only those of rank 0 lead there: a script
that forgets to make them equal is found out, as is one whose ranks train alone.
"""

import argparse
import os
import sys

import numpy as np

FEATURES, CLASSES = 8, 3
BATCH = 48  # of all ranks together
RATE = 0.5
TOLERANCE = 1e-3  # single against double precision, and other orders of adding up


def options():
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--ranks", type=int, help="fail unless so many take part")
    return parser.parse_args()


def require(condition, message):
    """Ends this process, and thereby the run, when the ranks do not agree."""
    if not condition:
        sys.exit("ranks disagree: " + message)


def batch(step):
    """The points of a step and their classes, as one-hot rows."""
    draw = np.random.RandomState(step)
    centres = np.random.RandomState(12345).normal(size=(CLASSES, FEATURES))
    classes = draw.randint(CLASSES, size=BATCH)
    points = centres[classes] + draw.normal(size=(BATCH, FEATURES))
    return points.astype(np.float32), np.eye(CLASSES, dtype=np.float32)[classes]


def share(step, rank, size):
    """The part of a step's batch that one of `size` ranks takes."""
    require(BATCH % size == 0, f"a batch of {BATCH} cannot be divided among {size}")
    each = BATCH // size
    return tuple(part[rank * each : (rank + 1) * each] for part in batch(step))


def start(rank):
    """Weights and bias that a rank begins with."""
    draw = np.random.RandomState(99 + rank)
    return [draw.normal(size=shape).astype(np.float32) for shape in ((FEATURES, CLASSES), (CLASSES,))]


def gradients(weights, bias, points, classes):
    """The mean loss of some points and its gradients, without any framework."""
    scores = points @ weights + bias
    scores = scores - scores.max(axis=1, keepdims=True)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    loss = -np.mean(np.log((chances * classes).sum(axis=1)))
    slope = (chances - classes) / len(points)
    return loss, points.T @ slope, slope.sum(axis=0)


def curve(steps):
    """The losses of one process that takes whole batches."""
    weights, bias = (value.astype(np.float64) for value in start(0))
    losses = []
    for step in range(steps):
        loss, by_weights, by_bias = gradients(weights, bias, *batch(step))
        weights, bias = weights - RATE * by_weights, bias - RATE * by_bias
        losses.append(loss)
    return losses


def flat(*values):
    """All numbers of a rank's model in one row, to be gathered and compared."""
    return np.concatenate([np.asarray(value, dtype=np.float32).ravel() for value in values])


def log(step, loss):
    """Shows a step and records it with the run; for one rank to call."""
    import slipway

    print(f"step {step:3} loss {loss:.6f}", flush=True)
    slipway.log(loss=float(loss), step=step)


def finish(given, size, losses, models):
    """What everybody checks at the end. `models` holds the row of each rank."""
    models = np.asarray(models)
    require(given.ranks in (None, size), f"{size} take part, not {given.ranks}")
    require(len(models) == size, f"{size} ranks, and {len(models)} models")
    for rank, model in enumerate(models):
        require((model == models[0]).all(), f"rank {rank} has other weights than rank 0")
    error = max(abs(loss - expected) for loss, expected in zip(losses, curve(given.steps)))
    require(len(losses) == given.steps and error < TOLERANCE, f"the losses are {error:.2g} off")
    where = os.environ.get("SLIPWAY_NODE_RANK", "0")
    print(f"{size} ranks agree, says node {where}; losses are within {error:.1e}", flush=True)
