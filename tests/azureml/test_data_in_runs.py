"""Data on its way into runs and out of them: mounted, downloaded, written, resumed from."""

import os

import pytest
from azureml.core import Dataset
from azureml.data import OutputFileDatasetConfig
from azureml.data.datapath import DataPath


@pytest.fixture
def store(ws, files):
    made = ws.get_default_datastore()
    made.upload(str(files), target_path="up", show_progress=False)
    return made


READ = """
import os, sys
from azureml.core import Run
run = Run.get_context()
mounted, one, reference, out = sys.argv[1:5]
print(sorted(os.listdir(mounted)), open(one).read(), sorted(os.listdir(reference)))
print(os.environ["named"] == mounted == run.input_datasets["named"])
print(os.environ["AZUREML_DATAREFERENCE_ref"] == reference)
print(os.environ["AZUREML_RUN_ID"] == run.id, os.environ["AZUREML_ARM_WORKSPACE_NAME"])
assert os.environ["AZUREML_RUN_TOKEN"]
open(os.path.join(out, "result.txt"), "w").write("made by the run")
print(run.input_datasets["rows"].to_pandas_dataframe()["y"].tolist())
"""


def test_a_run_reads_and_writes_data_by_every_way(ws, store, submit):
    texts = Dataset.File.from_files((store, "up/*.txt"))
    out = OutputFileDatasetConfig(name="out", destination=(store, "results")).as_upload()
    rows = Dataset.Tabular.from_delimited_files((store, "up/deep/d.csv"))
    run = submit(
        READ,
        arguments=[
            texts.as_named_input("named").as_mount(),
            Dataset.File.from_files((store, "up/a.txt")).as_download(),
            store.path("up/deep", "ref").as_download(),
            out.register_on_complete("results"),
            rows.as_named_input("rows"),
        ],
    )
    details = run.wait_for_completion(raise_on_error=False)
    said = run.get_details_with_logs()["logFiles"]["azureml-logs/70_driver_log.txt"].splitlines()
    assert "Traceback" not in "".join(said), "\n".join(said)
    assert said == [
        "['a.txt', 'b.txt'] one ['c.txt', 'd.csv']",
        "True",
        "True",
        "True default",
        "[2]",
    ]
    assert {entry["consumptionDetails"]["inputName"] for entry in details["inputDatasets"]} >= {
        "named",
        "rows",
    }
    results = Dataset.get_by_name(ws, "results")
    assert [os.path.basename(path) for path in results.to_path()] == ["result.txt"]


def test_a_dataset_is_mounted_here(ws, store, slipway, monkeypatch):
    monkeypatch.setenv("PATH", f"{slipway.binary.parent}{os.pathsep}{os.environ['PATH']}")
    dataset = Dataset.File.from_files((store, "up/*.txt"))
    with dataset.mount() as mounted:
        assert sorted(os.listdir(mounted.mount_point)) == ["a.txt", "b.txt"]
        assert os.path.ismount(mounted.mount_point)
        place = mounted.mount_point
    assert not os.path.exists(place)


RESUME = """
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--resume-from", default=None)
folder = parser.parse_args().resume_from
start = int(open(os.path.join(folder, "step.txt")).read()) if folder else 0
os.makedirs("outputs", exist_ok=True)
open("outputs/step.txt", "w").write(str(start + 5))
print("from", start)
"""


def test_a_run_resumes_from_the_checkpoints_of_another(ws, submit, here):
    first = submit(RESUME)
    first.wait_for_completion()
    first.download_file("outputs/step.txt", str(here / "ckpt" / "step.txt"))
    store = ws.get_default_datastore()
    store.upload(str(here / "ckpt"), target_path="checkpoints", show_progress=False)
    second = submit(RESUME, resume_from=DataPath(store, "checkpoints"))
    second.wait_for_completion(raise_on_error=False)
    assert "from 5" in second.get_details_with_logs()["logFiles"]["azureml-logs/70_driver_log.txt"]
