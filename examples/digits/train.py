"""Trains a digit classifier with nothing but Python's standard library.

The digits are drawn from small glyphs, shifted and blurred with noise; the model is softmax regression. It prints its
progress, logs its metrics to Slipway, and leaves outputs/model.json and outputs/confusion.txt. It runs the same without
Slipway: then the metrics are only printed.
"""

import argparse
import json
import math
import os
import random
import socket
import time

SIDE = 8
GLYPHS = [
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111",
    "11110 00001 00001 01110 00001 00001 11110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
]


class Tracker:
    """Logs metrics through the run's socket: one datagram, one JSON object. Never waits for a server."""

    def __init__(self):
        self.path = os.environ.get("SLIPWAY_SOCKET")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if self.path else None

    def log(self, step, **metrics):
        if self.socket:
            self.socket.sendto(json.dumps({"metrics": metrics, "step": step}).encode(), self.path)


def draw(rng, digit, noise):
    """One picture of `digit` as 64 grey values and a constant for the bias."""
    rows = GLYPHS[digit].split()
    dx, dy = rng.randint(1, 2), rng.randint(0, SIDE - 7)
    pixels = [rng.gauss(0, noise) for _ in range(SIDE * SIDE)]
    for y, row in enumerate(rows):
        for x, bit in enumerate(row):
            pixels[(y + dy) * SIDE + x + dx] += float(bit)
    return [*pixels, 1.0]


def make_set(rng, count, noise):
    digits = [rng.randrange(10) for _ in range(count)]
    return [(draw(rng, digit, noise), digit) for digit in digits]


def predict(weights, pixels):
    scores = [sum(w * p for w, p in zip(row, pixels, strict=True)) for row in weights]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def train_epoch(weights, examples, rate):
    """One pass of stochastic gradient descent; the mean loss over it."""
    loss = 0.0
    for pixels, digit in examples:
        chances = predict(weights, pixels)
        loss -= math.log(max(chances[digit], 1e-12))
        for label, row in enumerate(weights):
            step = rate * (chances[label] - (label == digit))
            if abs(step) > 1e-4:
                for index, pixel in enumerate(pixels):
                    row[index] -= step * pixel
    return loss / len(examples)


def confusion(weights, examples):
    table = [[0] * 10 for _ in range(10)]
    for pixels, digit in examples:
        chances = predict(weights, pixels)
        table[digit][chances.index(max(chances))] += 1
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--examples", type=int, default=4000)
    parser.add_argument("--noise", type=float, default=0.35)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()

    rng = random.Random(options.seed)
    training = make_set(rng, options.examples, options.noise)
    test = make_set(rng, options.examples // 3, options.noise)
    weights = [[0.0] * (SIDE * SIDE + 1) for _ in range(10)]
    tracker = Tracker()
    print(f"{len(training)} pictures to learn from, {len(test)} to test with", flush=True)

    for epoch in range(1, options.epochs + 1):
        start = time.monotonic()
        rng.shuffle(training)
        loss = train_epoch(weights, training, options.rate)
        table = confusion(weights, test)
        accuracy = sum(table[digit][digit] for digit in range(10)) / len(test)
        tracker.log(epoch, loss=loss, accuracy=accuracy)
        bar = "#" * round(accuracy * 30)
        seconds = time.monotonic() - start
        print(
            f"epoch {epoch:2}  loss {loss:6.4f}  accuracy {accuracy:6.1%}  {bar:30}  {seconds:.2f} s",
            flush=True,
        )

    os.makedirs("outputs", exist_ok=True)
    with open("outputs/model.json", "w") as file:
        json.dump({"kind": "softmax", "side": SIDE, "weights": weights}, file)
    with open("outputs/confusion.txt", "w") as file:
        file.write("true\\said " + " ".join(f"{digit:4}" for digit in range(10)) + "\n")
        for digit, row in enumerate(table):
            file.write(f"{digit:9} " + " ".join(f"{count:4}" for count in row) + "\n")
    print("wrote outputs/model.json and outputs/confusion.txt")


if __name__ == "__main__":
    main()
