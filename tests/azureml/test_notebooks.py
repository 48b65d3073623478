"""Notebooks as people write them, executed, the widget included."""

import os
import sys

import nbformat
import pytest
from nbclient import NotebookClient

PYTHON = os.path.join(os.path.dirname(__file__), "..", "..", "python")

SETUP = """
from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.widgets import RunDetails
import sys, time
ws = Workspace.from_config()
ws
"""
SUBMIT = """
env = Environment("machine")
env.python.user_managed_dependencies = True
env.python.interpreter_path = sys.executable
env.environment_variables = {"PYTHONPATH": PYTHONPATH}
src = ScriptRunConfig(".", script="train.py", environment=env)
run = Experiment(ws, "notebook").submit(src)
run
"""
WIDGET = """
details = RunDetails(run)
details.show()
"""
WAIT = """
run.wait_for_completion(show_output=True)
details.wait(20)
"""
TRAIN = """
from azureml.core import Run
run = Run.get_context()
for step in range(5):
    run.log("loss <b>", 1 / (step + 1))
    print("step", step, "<i>")
"""


@pytest.fixture
def kernel(slipway, here, monkeypatch):
    """Notebooks of these tests run in the interpreter of these tests."""
    monkeypatch.setenv("JUPYTER_PATH", os.path.join(sys.prefix, "share", "jupyter"))
    monkeypatch.setenv("PYTHONPATH", PYTHON)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    (here / "config.json").write_text(
        '{"subscription_id": "s", "resource_group": "g", "workspace_name": "notes"}'
    )

    def execute(*cells):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        NotebookClient(
            notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(here)}}
        ).execute()
        return notebook.cells

    return execute


def html(cell):
    return "".join(output.data.get("text/html", "") for output in cell.outputs if "data" in output)


def test_the_widget_follows_a_run_to_its_end(kernel, here):
    (here / "train.py").write_text(TRAIN)
    setup, submit, widget, wait = kernel(
        SETUP, f"PYTHONPATH = {os.path.realpath(PYTHON)!r}\n" + SUBMIT, WIDGET, WAIT
    )
    assert "notes" in html(setup)
    assert "<table" in html(submit) and "notebook" in html(submit)
    drawn = html(widget)
    assert "Completed" in drawn and "<polyline" in drawn and "step 4" in drawn
    assert "Queued" in drawn and "&rarr;" in drawn
    assert "<i>" not in drawn and "loss &lt;b&gt;" in drawn
    printed = "".join(output.text for output in wait.outputs if output.output_type == "stream")
    assert "Streaming azureml-logs/70_driver_log.txt" in printed
