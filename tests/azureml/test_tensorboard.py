"""The real TensorBoard over what a real job has written into ./logs."""

import json
import subprocess
import textwrap
import urllib.request
from pathlib import Path

import pytest
from support.processes import marked_with, wait_until

pytestmark = pytest.mark.timeout(300)  # TensorBoard is fetched first

PYTHON = Path(__file__).resolve().parent.parent.parent / "python"
TRAINING = """
import os, time
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer = EventFileWriter("logs/train")
def log(step, loss):
    value = Summary.Value(tag="loss", simple_value=loss)
    writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))
    writer.flush()

log(1, 0.5)
while not os.path.exists(os.environ["GO"]):
    time.sleep(0.05)
log(2, 0.25)
writer.close()
"""
CLIENT = """
import sys
from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.tensorboard import Tensorboard

machine = Environment("machine")
machine.python.user_managed_dependencies = True
machine.python.interpreter_path = sys.executable
machine.environment_variables = {"GO": sys.argv[2]}
config = ScriptRunConfig(sys.argv[1], script="train.py", environment=machine)
run = Experiment(Workspace.get("default"), "board").submit(config)
board = Tensorboard([run], local_root=sys.argv[3], port=0)
print(run.id, board.start(), flush=True)
sys.stdin.readline()
if "stop" in sys.argv:
    board.stop()
    print("stopped", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def client(slipway, framework, tmp_path):
    """A program that submits a run and starts TensorBoard over it: its process, and what it printed first."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(textwrap.dedent(TRAINING))
    (tmp_path / "client.py").write_text(textwrap.dedent(CLIENT))
    started = []

    def start(*words):
        process = subprocess.Popen(
            [
                framework("tensorboard"),
                tmp_path / "client.py",
                source,
                tmp_path / "go",
                tmp_path / "board",
                *words,
            ],
            env={**slipway.env, "SLIPWAY_HOME": str(slipway.home), "PYTHONPATH": str(PYTHON)},
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        process.stdout.readline()  # start() prints the address as well
        return process, *process.stdout.readline().split()

    yield start
    for process in started:
        if process.poll() is None:
            process.communicate("\n\n", timeout=60)


def ask(address, path):
    with urllib.request.urlopen(f"{address}data/{path}", timeout=60) as answer:
        return json.load(answer)


def test_tensorboard_shows_the_run_while_it_goes_on_and_after_its_end(slipway, client, tmp_path):
    process, run, address = client("stop")
    name = f"{run}/train"
    wait_until(lambda: ask(address, "runs") == [name], 90)
    losses = f"plugin/scalars/scalars?run={name}&tag=loss"
    wait_until(lambda: "loss" in ask(address, "plugin/scalars/tags").get(name, {}), 90)
    assert [point[1:] for point in ask(address, losses)] == [[1, 0.5]]
    (tmp_path / "go").touch()
    slipway.completed(run)
    wait_until(lambda: [point[1:] for point in ask(address, losses)] == [[1, 0.5], [2, 0.25]], 90)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "stopped\n"
    wait_until(lambda: marked_with(tmp_path / "board") == [process.pid], 30, "TensorBoard was left behind")


def test_tensorboard_ends_with_the_program_that_started_it(slipway, client, tmp_path):
    (tmp_path / "go").touch()
    process, run, address = client()
    slipway.completed(run)
    wait_until(lambda: ask(address, "runs") == [f"{run}/train"], 90)
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    wait_until(lambda: not marked_with(tmp_path / "board"), 30, "TensorBoard was left behind")


def test_a_machine_without_tensorboard_says_what_to_install(submit, monkeypatch, tmp_path):
    from azureml.exceptions import UserErrorException
    from azureml.tensorboard import Tensorboard

    run = submit("print(1)")
    run.wait_for_completion()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserErrorException, match="pip install tensorboard"):
        Tensorboard([run]).start()
