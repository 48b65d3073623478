"""TorchScript in the model server's process, beside the same model in a process of Python."""

import contextlib
import json
import os
import tempfile
from pathlib import Path

from row import Row
from support import frameworks, models, processes

from serving import JSON, ROOT, one_row, wrk


@contextlib.contextmanager
def served(model, python, home, path):
    with models.Service(model, python=python, env={"SLIPWAY_HOME": str(home), "PATH": path}) as service:
        service.predict(json.loads(one_row()))
        yield service


def memory_of(service):
    return sum(map(processes.resident_bytes, [service.pid, *service.children()])) / 1e6


def torchscript(_):
    python = frameworks.environment(ROOT / "build" / "torch", *frameworks.SETS["pytorch"])
    figures = {}
    with tempfile.TemporaryDirectory(prefix="slw-bench-") as folder:
        model = models.make(folder, "torch_digits", python=python) / "digits.pt"
        # Without a compiler there is no runtime for libtorch: Python serves.
        for path in (os.environ["PATH"], "/nowhere"):
            with served(model, python, Path(folder) / f"home-{len(figures)}", path) as service:
                load = wrk(f"{service.url}/v1/models/digits:predict", one_row(), JSON, service.pid)
                figures[service.about["runtime"]] = load, memory_of(service)
    (ours, our_memory), (theirs, their_memory) = figures["libtorch"], figures["torchscript"]
    note = f"p99 {ours.p99_ms:.1f} ms; peer: the same in a process of Python; load {os.getloadavg()[0]:.1f}"
    yield Row(
        "TorchScript, JSON one row, wrk -c16",
        theirs.per_second,
        ours.per_second,
        "/s",
        "more",
        theirs.per_second,
        note,
    )
    yield Row("  CPU a request", theirs.cpu_us, ours.cpu_us, "us", peer=theirs.cpu_us)
    yield Row("  memory", their_memory, our_memory, "MB", peer=their_memory)


TORCH_ROWS = {"torchscript": torchscript}
