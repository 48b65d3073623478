"""Runs through the SDK's names, against a real server: what they print, keep and give back."""

import json
import os
import re
import subprocess

import pytest
from azureml.core import Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.run import RunStatus
from azureml.exceptions import ActivityFailedException, UserErrorException

EVERYTHING = """
import os, sys
from azureml.core import Run
run = Run.get_context()
print("hello", sys.argv[1:])
print("to stderr", file=sys.stderr)
run.log("loss", 0.5)
run.log("loss", 0.25)
run.log("once", 7)
run.log("note", "warm")
run.log_list("list", [1, 2, 3])
run.log_row("rows", x=1, y="a")
run.log_row("rows", x=2, y="b")
run.log_row("one row", x=1)
run.log_table("table", {"a": [1, 2], "b": ["u", float("nan")]})
run.log_confusion_matrix("matrix", {"schema_type": "confusion_matrix", "data": {"matrix": [[1]]}})
run.log_accuracy_table("accuracy", '{"schema_type": "accuracy_table", "data": {"probability_tables": []}}')
run.log_residuals("residuals", {"schema_type": "residuals", "data": {"bin_edges": []}})
run.log_predictions("predictions", {"schema_type": "predictions", "data": {"bin_averages": []}})
os.makedirs("outputs/deep", exist_ok=True)
open("outputs/deep/model.txt", "w").write("weights")
open("picture.png", "wb").write(b"PNG")
run.log_image("picture", path="picture.png")
run.tag("who", "job")
run.add_properties({"made": "here"})
run.upload_file("kept/notes.txt", "picture.png")
os.makedirs("logs", exist_ok=True)
open("logs/own.txt", "w").write("own log")
assert run.experiment.name == "tests" and run.get_status() == "Running"
run.complete()
"""


def test_a_run_keeps_and_gives_back_all_that_the_sdk_can_log(submit, here, capsys):
    run = submit(EVERYTHING, arguments=["--lr", 0.1, "--rank", "$SLIPWAY_NODE_RANK"], tags={"by": "test"})
    details = run.wait_for_completion(show_output=True)
    shown = capsys.readouterr().out
    heading = "Streaming azureml-logs/70_driver_log.txt"
    for line in (
        f"RunId: {run.id}\nWeb View: {run.get_portal_url()}\n",
        f"\n{heading}\n{'=' * len(heading)}\n\n",
        "hello ['--lr', '0.1', '--rank', '0']\n",
        "to stderr\n",
        f"\nExecution Summary\n=================\n\nRunId: {run.id}\n",
    ):
        assert line in shown
    assert run.get_metrics() | {"table": None, "picture": None} == {
        "loss": [0.5, 0.25],
        "once": 7,
        "list": [1, 2, 3],
        "note": "warm",
        "rows": {"x": [1, 2], "y": ["a", "b"]},
        "one row": {"x": 1},
        "table": None,
        "matrix": {"schema_type": "confusion_matrix", "data": {"matrix": [[1]]}},
        "accuracy": {"schema_type": "accuracy_table", "data": {"probability_tables": []}},
        "residuals": {"schema_type": "residuals", "data": {"bin_edges": []}},
        "predictions": {"schema_type": "predictions", "data": {"bin_averages": []}},
        "picture": None,
    }
    table = run.get_metrics("table")["table"]
    assert table["a"] == [1, 2] and table["b"][0] == "u" and table["b"][1] != table["b"][1]
    assert run.get_metrics("picture")["picture"].startswith("aml://artifactId/")
    assert run.get_tags() == {"by": "test", "who": "job"}
    assert run.get_properties()["made"] == "here"
    names = run.get_file_names()
    for name in (
        "azureml-logs/70_driver_log.txt",
        "logs/own.txt",
        "outputs/deep/model.txt",
        "kept/notes.txt",
    ):
        assert name in names
    assert details["runDefinition"]["script"] == "train.py"
    assert details["runDefinition"]["arguments"][:2] == ["--lr", "0.1"]
    assert details["status"] == "Completed" and details["target"] == "local"
    for key in ("runId", "startTimeUtc", "endTimeUtc", "properties", "inputDatasets", "outputDatasets", "logFiles",
                "submittedBy"):  # fmt: skip
        assert key in details
    check_downloads(run, here)


def check_downloads(run, here):
    run.download_file("outputs/deep/model.txt")
    assert (here / "model.txt").read_text() == "weights"
    run.download_file("user_logs/std_log.txt", str(here / "log.txt"))
    assert "hello" in (here / "log.txt").read_text()
    run.download_files(prefix="outputs", output_directory=str(here / "all"))
    assert (here / "all" / "outputs" / "deep" / "model.txt").read_text() == "weights"
    run.download_files(prefix="outputs/deep", output_directory=str(here / "flat"), append_prefix=False)
    assert (here / "flat" / "model.txt").read_text() == "weights"
    assert any(path.endswith("own.txt") for path in run.get_all_logs(str(here / "logs")))
    assert "hello" in run.get_details_with_logs()["logFiles"]["azureml-logs/70_driver_log.txt"]
    with pytest.raises(UserErrorException, match="has no file 'nope'"):
        run.download_file("nope")
    with pytest.raises(UserErrorException, match="never replaced"):
        run.upload_file("kept/notes.txt", str(here / "log.txt"))


def test_a_failed_run_raises_and_says_why(submit):
    run = submit("import sys; print('so far'); sys.exit(3)")
    with pytest.raises(ActivityFailedException) as failure:
        run.wait_for_completion()
    assert json.loads(failure.value.message)["error"]["details"][0]["message"] == "3"
    details = run.wait_for_completion(raise_on_error=False)
    assert details["status"] == "Failed" and details["error"]["error"]["message"]


def test_a_command_runs_as_it_is_in_a_shell(submit):
    run = submit(command=["echo one && echo", "two", 3])
    details = run.wait_for_completion()
    assert details["runDefinition"]["command"] == "echo one && echo two 3"
    assert run.get_details_with_logs()["logFiles"]["azureml-logs/70_driver_log.txt"] == "one\ntwo 3\n"


def test_canceling_and_time_limits(submit):
    run = submit("import time; time.sleep(60)")
    run.cancel()
    assert run.wait_for_completion()["status"] == "Canceled"
    run = submit("import time; time.sleep(60)", max_run_duration_seconds=1)
    assert run.wait_for_completion(raise_on_error=False)["status"] in ("Canceled", "Failed")
    assert set(RunStatus.get_terminal_statuses()) == {"Completed", "Failed", "Canceled"}


def test_interactive_runs_and_their_children(ws, here):
    experiment = Experiment(ws, "by-hand")
    (here / "notebook.py").write_text("1")
    run = experiment.start_logging(snapshot_directory=str(here))
    run.log("a", 1)
    run.log_list("b", [1, 2])
    (here / "f.txt").write_text("file")
    run.upload_file("f.txt", str(here / "f.txt"))
    run.upload_folder("folder", str(here))
    with run.child_run("first") as child:
        child.log("c", 1)
    second, third = run.create_children(tag_key="n", tag_values=["2", "3"])
    second.log("c", 2)
    second.complete()
    third.fail("it broke", "Broken")
    run.complete()
    assert run.get_status() == "Completed" and run.get_metrics() == {"a": 1, "b": [1, 2]}
    assert sorted(run.get_metrics(recursive=True)["c"]) == [1, 2]
    assert {c.id for c in run.get_children()} == {child.id, second.id, third.id}
    assert [c.id for c in run.get_children(tags={"n": "2"})] == [second.id]
    assert [c.id for c in run.get_children(status="Failed")] == [third.id]
    assert third.get_details()["error"]["error"]["message"] == "it broke"
    assert child.parent.id == run.id
    assert [r.id for r in experiment.get_runs()] == [run.id]
    assert len(list(experiment.get_runs(include_children=True))) == 4
    assert os.path.basename(run.restore_snapshot(path=str(here))).endswith(".zip")
    with pytest.raises(UserErrorException):
        run.complete() if run.fail() is None else None


def test_a_block_that_raises_fails_its_run(ws):
    with pytest.raises(ZeroDivisionError):
        with Experiment(ws, "by-hand").start_logging(snapshot_directory=None) as run:
            raise ZeroDivisionError("no")
    assert run.get_status() == "Failed"


CHILDREN = """
from azureml.core import Run
run = Run.get_context()
for place in range(2):
    child = run.child_run(str(place))
    child.log("n", place)
    child.complete()
print(len(list(run.get_children())))
"""


def test_a_job_has_children_of_its_own(submit):
    run = submit(CHILDREN)
    run.wait_for_completion()
    assert sorted(c.get_metrics()["n"] for c in run.get_children()) == [0, 1]


def test_tags_change_and_properties_do_not(ws):
    run = Experiment(ws, "by-hand").start_logging(snapshot_directory=None)
    run.tag("only key")
    run.set_tags({"a": 1, "b": "x"})
    run.remove_tags(["b"])
    assert run.get_tags() == {"only key": "", "a": "1"}
    run.add_properties({"p": 1})
    with pytest.raises(UserErrorException):
        run.add_properties({"p": 2})
    run.display_name = "Mine"
    run.description = "what it is"
    again = ws.get_run(run.id)
    assert (again.display_name, again.description, again.properties["p"]) == ("Mine", "what it is", "1")
    assert [r.id for r in Run.list(Experiment(ws, "by-hand"), tags="a")] == [run.id]
    run.complete()


def test_git_facts_are_properties(submit, here):
    run = lambda *words: subprocess.run(["git", *words], cwd=here, check=True, capture_output=True)  # noqa: E731
    run("init", "-q", "-b", "trunk")
    run("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x")
    submitted = submit("print(1)")
    submitted.wait_for_completion()
    properties = submitted.get_properties()
    assert properties["azureml.git.branch"] == "trunk"
    assert re.match("^[0-9a-f]{40}$", properties["mlflow.source.git.commit"])
    assert properties["azureml.git.dirty"] == "True"


def test_distributed_configurations_start_their_processes(ws, machine, here):
    from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration

    # The worker's end ends the server of parameters: it waits until that one has spoken.
    text = (
        "import os, time\n"
        "print(*(os.environ.get(name) for name in ('OMPI_COMM_WORLD_RANK', 'RANK', 'TF_CONFIG')), flush=True)\n"
        "config = os.environ.get('TF_CONFIG', '')\n"
        'if \'"type":"ps"\' in config:\n'
        "    open('spoken', 'w').close()\n"
        "while '\"type\":\"worker\"' in config and not os.path.exists('spoken'):\n"
        "    time.sleep(0.01)\n"
    )
    (here / "a.py").write_text(text)
    tasks = TensorflowConfiguration(worker_count=1, parameter_server_count=1)
    for config, words in (
        (MpiConfiguration(2, 1), ["0 0 None", "1 1 None"]),
        (PyTorchConfiguration(2), ["None 0 None", "None 1 None"]),
        (tasks, ['"type":"worker"', '"type":"ps"']),
    ):
        made = ScriptRunConfig(str(here), script="a.py", environment=machine, distributed_job_config=config)
        made.run_config.node_count = 1
        run = Experiment(ws, "tests").submit(made)
        run.wait_for_completion()
        logs = run.get_details_with_logs()["logFiles"]
        for rank, word in enumerate(words):
            assert word in logs[f"azureml-logs/70_driver_log_{rank}.txt"], logs


def test_what_cannot_be_submitted_says_so(ws, machine, here):
    experiment = Experiment(ws, "tests")
    (here / "a.py").write_text("1")
    from azureml.core.runconfig import PyTorchConfiguration
    from azureml.pipeline.core import Pipeline
    from azureml.pipeline.steps import PythonScriptStep
    from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal, RandomParameterSampling, choice

    plain = ScriptRunConfig(str(here), script="a.py", environment=machine)
    sweep = HyperDriveConfig(
        RandomParameterSampling({"x": choice(1, 2)}), "loss", PrimaryMetricGoal.MINIMIZE, 4, run_config=plain
    )
    uneven = ScriptRunConfig(
        str(here),
        script="a.py",
        environment=machine,
        distributed_job_config=PyTorchConfiguration(3, node_count=2),
    )
    for config, word in (
        (sweep, "later version"),
        (Pipeline(ws, [PythonScriptStep("a.py")]), "later version"),
        (uneven, "multiple of node_count"),
        (ScriptRunConfig(str(here), script="b.py", environment=machine), "no script 'b.py'"),
        (ScriptRunConfig(str(here / "none"), script="a.py", environment=machine), "no source folder"),
        ("train.py", "ScriptRunConfig"),
    ):
        with pytest.raises(UserErrorException, match=word):
            experiment.submit(config)
    with pytest.raises(TypeError):
        experiment.submit(plain, colour="red")
    plain.arguments = [["nested"]]
    with pytest.raises(UserErrorException, match="flat list"):
        experiment.submit(plain)


def test_objects_show_themselves_in_notebooks(ws):
    run = Experiment(ws, "by-hand").start_logging(snapshot_directory=None, display_name="<b>x</b>")
    run.complete()
    assert run.id in run._repr_html_() and "Completed" in run._repr_html_()
    assert "by-hand" in run.experiment._repr_html_() and "default" in ws._repr_html_()
    assert "<script" not in run._repr_html_()
    assert Workspace.list(None)["default"][0].name == "default"
