"""The Python package: importing it, logging with it, starting a script that does. MLflow's client is the peer."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from row import Row, server

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
PACKAGES = {"PYTHONPATH": str(ROOT / "python")}
POINTS = 100_000
PEER_POINTS = 2_000

# What both clients are measured with: each call by itself, and all of them together.
MEASURE = """
import json, sys, time
def measure(log, count):
    log(0.5, 0)
    calls = []
    begin = time.perf_counter()
    for step in range(1, count):
        before = time.perf_counter()
        log(0.123456 * step, step)
        calls.append(time.perf_counter() - before)
    seconds = time.perf_counter() - begin
    calls.sort()
    print(json.dumps({"median_us": calls[len(calls) // 2] * 1e6, "per_second": (count - 1) / seconds}))
"""


def import_cost(statement, environment=PACKAGES, python="/usr/bin/python3", rounds=21):
    """Milliseconds on top of the bare interpreter; both are started in turn, so that noise hits both. The default
    is Debian's interpreter: one with site packages of its own may have loaded much of it already."""
    bare, loaded = [], []
    for _ in range(rounds):
        for code, times in (("pass", bare), (statement, loaded)):
            begin = time.perf_counter()
            subprocess.run([python, "-c", code], env={**os.environ, **environment}, check=True)
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(loaded) - statistics.median(bare)


def mlflow():
    """The interpreter of an environment of its own with MLflow, made on the first call."""
    folder = ROOT / "build" / "bench-mlflow"
    if not (folder / "ready").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", folder], check=True)
        pip = [folder / "bin" / "pip", "--disable-pip-version-check", "install", "--quiet", "mlflow"]
        subprocess.run(pip, check=True)
        (folder / "ready").touch()
    return folder / "bin" / "python"


def mlflow_logging(folder):
    script = MEASURE + (
        "import mlflow\n"
        "mlflow.set_tracking_uri('sqlite:///mlflow.db')\n"
        "mlflow.start_run()\n"
        f"measure(lambda value, step: mlflow.log_metric('loss', value, step=step), {PEER_POINTS})\n"
    )
    done = subprocess.run(
        [mlflow(), "-c", script], cwd=folder, capture_output=True, text=True, check=True, timeout=600
    )
    return json.loads(done.stdout.splitlines()[-1])


def imports(_):
    peer = import_cost("import mlflow", {}, mlflow(), rounds=5)
    yield Row(
        "import slipway in a job",
        40,
        import_cost("import slipway"),
        "ms",
        peer=peer,
        note="peer: import mlflow",
    )
    if (ROOT / "python" / "azureml").is_dir():
        yield Row("from azureml.core import Run", 120, import_cost("from azureml.core import Run"), "ms")


def logging(_):
    with server() as slipway:
        import slipway as package

        ws = package.workspace(home=str(slipway.home))
        script = (
            MEASURE
            + f"import slipway\nmeasure(lambda value, step: slipway.log(loss=value, step=step), {POINTS})\n"
        )
        best = None
        for _ in range(3):
            run = ws.submit(command=[sys.executable, "-c", script], source=None, variables=PACKAGES).wait(
                timeout=300
            )
            found = json.loads(run.logs())
            assert len(run.metrics("loss")) == POINTS
            best = found if best is None or found["per_second"] > best["per_second"] else best
        peer = mlflow_logging(slipway.folder)
    note = "peer: mlflow.log_metric to SQLite in the same process"
    yield Row("slipway.log, median", 15, best["median_us"], "us", peer=peer["median_us"], note=note)
    yield Row("slipway.log, one thread", 50_000, best["per_second"], "/s", "more", peer["per_second"])


def python_script(_):
    """From ws.submit to what the script logs first, which stands behind `import slipway`."""
    with server() as slipway:
        import slipway as package

        ws = package.workspace(home=str(slipway.home))
        folder = slipway.folder / "code"
        folder.mkdir()
        (folder / "train.py").write_text(
            "import time\nimport slipway\nslipway.log(first=1, step=0)\nprint(time.time(), flush=True)\n"
        )
        times = []
        for _ in range(21):
            begin = time.time()
            run = ws.submit("train.py", source=str(folder), variables=PACKAGES).wait(timeout=60)
            times.append((float(run.logs()) - begin) * 1e3)
        yield Row(
            "submit to the first line of a Python script that logs, p50",
            150,
            statistics.median(times[1:]),
            "ms",
        )

        run = ws.submit(command="while sleep 0.05; do date +%s.%N; done", source=None)
        delays = []
        for piece in run.follow_log():
            delays.append((time.time() - float(piece.content.split()[-1])) * 1e3)
            if len(delays) == 41:
                break
        run.cancel()
        yield Row(
            "a line printed by the job appears at the caller, p50", 100, statistics.median(delays[1:]), "ms"
        )


PYTHON_ROWS = {"python-import": imports, "python-log": logging, "python-script": python_script}
