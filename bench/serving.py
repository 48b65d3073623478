"""What `slipway serve` is measured with: the models, the peers and wrk, all on this machine."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from support import models, processes  # noqa: E402

# Made by `scripts/install-dependencies bench`: the peers' own environment.
PEERS = ROOT / "build" / "peers" / "bin" / "python"
SECONDS = 8

# FastAPI with ONNX Runtime and orjson, as its users write it.
FASTAPI = """
import sys, numpy, onnxruntime, orjson, uvicorn
from fastapi import FastAPI, Request, Response
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options)
app = FastAPI()
@app.post("/predict")
async def predict(request: Request):
    rows = numpy.asarray(orjson.loads(await request.body())["instances"], dtype=numpy.float32)
    answer = session.run(None, {"x": rows})[0]
    return Response(orjson.dumps({"predictions": answer.tolist()}), media_type="application/json")
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
"""

SKLEARN = """
import sys, warnings, joblib, numpy
warnings.filterwarnings("ignore")
from sklearn.neural_network import MLPClassifier
random = numpy.random.default_rng(1)
model = MLPClassifier((128,), max_iter=1).fit(random.random((200, 784)), numpy.arange(200) % 10)
joblib.dump(model, sys.argv[1])
"""


class Load:
    """What wrk and the process table said."""

    def __init__(self, text, cpu_seconds):
        requests = int(re.search(r"(\d+) requests in", text)[1])
        failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        assert requests > 0 and failed is None, text
        self.per_second = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
        self.p99_ms = milliseconds(re.search(r"99%\s+(\S+)", text)[1])
        self.cpu_us = cpu_seconds / requests * 1e6


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def cpu_seconds(pid):
    """Of a process and those it has started."""
    total = 0
    for line in subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True).stdout.splitlines()[
        1:
    ]:
        child, parent = map(int, line.split())
        if pid in (child, parent):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def wrk(url, body, headers, pid, seconds=SECONDS):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "body").write_bytes(body)
        lines = [
            'wrk.method = "POST"',
            f'local file = io.open("{folder}/body", "rb")',
            'wrk.body = file:read("*a")',
        ]
        lines += [f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items()]
        (Path(folder) / "script.lua").write_text("\n".join(lines))
        command = ["wrk", "-t1", "-c16", "--latency", "-s", f"{folder}/script.lua"]
        subprocess.run([*command, "-d1", url], capture_output=True, check=True)
        before = cpu_seconds(pid)
        text = subprocess.run(
            [*command, f"-d{seconds}", url], capture_output=True, text=True, check=True
        ).stdout
        return Load(text, cpu_seconds(pid) - before)


def one_row(member="instances"):
    """784 numbers with four digits, as people send pictures."""
    return json.dumps({member: [[(i * 7919 % 10_000) / 10_000 for i in range(784)]]}).encode()


JSON = {"Content-Type": "application/json"}


@contextlib.contextmanager
def peer(command, ready, env=None):
    """A peer's process, once `ready(url)` can be asked."""
    process = subprocess.Popen(
        list(map(str, command)),
        env={**os.environ, **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        processes.wait_until(lambda: answers(ready), 120, f"{command} does not answer")
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(url):
    with contextlib.suppress(OSError):
        return subprocess.run(["curl", "-sf", "-o", "/dev/null", url]).returncode == 0
    return False


def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def fastapi(model):
    port = free_port()
    with peer([PEERS, "-c", FASTAPI, str(model), str(port)], f"http://127.0.0.1:{port}/docs") as pid:
        return wrk(f"http://127.0.0.1:{port}/predict", one_row(), JSON, pid)


def mlserver(model, folder):
    port = free_port()
    home = Path(folder) / "mlserver"
    home.mkdir()
    shutil.copy(model, home / "model.joblib")
    (home / "settings.json").write_text(
        json.dumps(
            {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port(), "parallel_workers": 0}
        )
    )
    (home / "model-settings.json").write_text(
        json.dumps(
            {
                "name": "m",
                "implementation": "mlserver_sklearn.SKLearnModel",
                "parameters": {"uri": "./model.joblib"},
            }
        )
    )
    row = json.loads(one_row())["instances"][0]
    body = {"inputs": [{"name": "x", "shape": [1, 784], "datatype": "FP64", "data": row}]}
    command = [PEERS.with_name("mlserver"), "start", home]
    with peer(command, f"http://127.0.0.1:{port}/v2/models/m/ready") as pid:
        return wrk(f"http://127.0.0.1:{port}/v2/models/m/infer", json.dumps(body).encode(), JSON, pid)


def binary_batch(rows):
    content = bytes(4 * 784 * rows)
    head = json.dumps(
        {
            "inputs": [
                {
                    "name": "x",
                    "shape": [rows, 784],
                    "datatype": "FP32",
                    "parameters": {"binary_data_size": len(content)},
                }
            ],
            "parameters": {"binary_data_output": True},
        }
    ).encode()
    return head + content, {"Inference-Header-Content-Length": len(head)}


def start_times(model, count=7):
    """Milliseconds from the start of the program to its first answer, and its memory."""
    times = []
    for _ in range(count):
        start = time.monotonic()
        with models.Service(model) as service:
            assert service.request("GET", "/v2/health/ready").status == 200
            times.append((time.monotonic() - start) * 1e3)
            service.predict(json.loads(one_row()))
            memory = processes.resident_bytes(service.pid) / 1e6
    return times, memory


def measure(row):
    """Yields the rows of the table; `row` makes one."""
    with tempfile.TemporaryDirectory(prefix="slw-bench-") as folder:
        made = models.make(folder, "onnx_digits", "tensorflow")
        onnx = made / "digits.onnx"
        with models.Service(onnx) as service:
            url = f"{service.url}/v1/models/digits:predict"
            ours = wrk(url, one_row(), JSON, service.pid)
            theirs = fastapi(onnx)
            note = (
                f"p99 {ours.p99_ms:.1f} ms; peer: FastAPI + ONNX Runtime, orjson, {theirs.cpu_us:.0f} us CPU"
            )
            yield row(
                "ONNX, JSON one row, wrk -c16", 20_000, ours.per_second, "/s", "more", theirs.per_second, note
            )
            yield row("  p99", 5, ours.p99_ms, "ms", peer=theirs.p99_ms)
            yield row("  CPU a request", 40, ours.cpu_us, "us", peer=theirs.cpu_us)
            body, headers = binary_batch(32)
            batch = wrk(f"{service.url}/v2/models/digits/infer", body, headers, service.pid)
            yield row("ONNX, binary tensors, batch of 32", 300_000, batch.per_second * 32, "rows/s", "more")
        with models.Service(made / "digits") as service:
            ours = wrk(f"{service.url}/v1/models/digits:predict", one_row(), JSON, service.pid)
            yield row("TensorFlow SavedModel, JSON one row", 12_000, ours.per_second, "/s", "more")
        model = made / "mlp.joblib"
        subprocess.run([PEERS, "-c", SKLEARN, model], check=True)
        with models.Service(model, python=PEERS) as service:
            ours = wrk(f"{service.url}/v1/models/mlp:predict", one_row(), JSON, service.pid)
        theirs = mlserver(model, folder)
        yield row(
            "scikit-learn in its own process, 4 times MLServer's",
            4 * theirs.per_second,
            ours.per_second,
            "/s",
            "more",
            theirs.per_second,
            "peer: MLServer",
        )
        times, memory = start_times(onnx)
        yield row("model server, ONNX: start to ready", 150, sorted(times)[len(times) // 2], "ms")
        yield row("model server, ONNX: memory", 60, memory, "MB")
