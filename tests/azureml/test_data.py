"""Datasets and datastores through the SDK's names."""

import json
import os
from pathlib import Path

import pytest
from azureml.core import Dataset, Datastore
from azureml.data.datapath import DataPath
from azureml.data.dataset_factory import DataType
from azureml.exceptions import UserErrorException


@pytest.fixture
def store(ws, files, capsys):
    made = ws.get_default_datastore()
    made.upload(str(files), target_path="up", show_progress=True)
    assert "4 of 4 files" in capsys.readouterr().out
    return made


def test_files_go_into_a_datastore_and_come_back(ws, store, files, here, capsys):
    assert (store.name, store.is_default) == ("workspaceblobstore", True)
    (files / "a.txt").write_text("changed")
    store.upload_files(
        [str(files / "a.txt"), str(files / "deep" / "c.txt")], relative_root=str(files), target_path="up"
    )
    assert "there already" in capsys.readouterr().out
    assert store.download(str(here / "back"), prefix="up/deep", show_progress=False) == 2
    assert (here / "back" / "up" / "deep" / "c.txt").read_text() == "three"
    store.download(str(here / "back"), prefix="up/a.txt")
    assert (here / "back" / "up" / "a.txt").read_text() == "one"
    store.upload_files([str(files / "a.txt")], target_path="up", overwrite=True)
    store.download(str(here / "back"), prefix="up/a.txt", overwrite=True)
    assert (here / "back" / "up" / "a.txt").read_text() == "changed"
    assert set(ws.datastores) == {"workspaceblobstore", "workspacefilestore"}
    with pytest.raises(UserErrorException, match="cannot be removed"):
        store.unregister()
    with pytest.raises(UserErrorException, match="nowhere"):
        Datastore.get(ws, "nowhere")
    with pytest.raises(UserErrorException, match="no file"):
        store.upload_files([str(files / "none")])


def test_web_addresses_are_a_dataset_by_reference(ws, files, web, here):
    base = web(files)
    single = Dataset.File.from_files(f"{base}/a.txt")
    assert single.to_path() == ["/a.txt"]
    several = Dataset.File.from_files([f"{base}/a.txt", f"{base}/deep/c.txt"])
    names = [os.path.basename(path) for path in several.to_path()]
    assert sorted(names) == ["a.txt", "c.txt"]
    got = several.download(str(here / "got"))
    assert sorted(Path(path).read_text() for path in got) == ["one", "three"]
    with pytest.raises(UserErrorException, match="overwrite"):
        several.download(str(here / "got"))
    with pytest.raises(UserErrorException, match=r"none\.txt"):
        Dataset.File.from_files(f"{base}/none.txt")
    with pytest.raises(UserErrorException, match="http address"):
        Dataset.File.from_files(str(files / "a.txt"))


def test_paths_are_relative_to_the_stripped_prefix(ws, store):
    assert sorted(Dataset.File.from_files((store, "up/*.txt")).to_path()) == ["/a.txt", "/b.txt"]
    assert sorted(Dataset.File.from_files((store, "up/**/*.txt")).to_path()) == [
        "/a.txt",
        "/b.txt",
        "/deep/c.txt",
    ]
    assert Dataset.File.from_files(DataPath(store, "up/deep")).to_path()
    with pytest.raises(UserErrorException):
        Dataset.File.from_files((store, "up/*.jpg"))


def test_versions_come_with_changes_and_only_when_asked_for(ws, store):
    one = Dataset.File.from_files((store, "up/*.txt"))
    assert (one.name, one.version) == (None, None)
    first = one.register(ws, "texts", description="some", tags={"a": "b"})
    assert (first.name, first.version, first.tags, first.description) == ("texts", 1, {"a": "b"}, "some")
    assert one.register(ws, "texts").version == 1
    other = Dataset.File.from_files((store, "up/deep/*"))
    with pytest.raises(UserErrorException, match="create_new_version"):
        other.register(ws, "texts")
    assert other.register(ws, "texts", create_new_version=True).version == 2
    assert Dataset.get_by_name(ws, "texts").version == 2
    assert sorted(Dataset.get_by_name(ws, "texts", 1).to_path()) == ["/a.txt", "/b.txt"]
    assert Dataset.get_by_id(ws, "texts:1").version == 1
    assert list(ws.datasets) == ["texts"]
    for wanted in ({"name": "nope"}, {"name": "texts", "version": 9}):
        with pytest.raises(UserErrorException, match=wanted["name"]):
            Dataset.get_by_name(ws, **wanted)
    first.add_tags({"c": "d"})
    first.remove_tags(["a"])
    assert first.tags == {"c": "d"}
    first.unregister_all_versions()
    assert list(ws.datasets) == []


def test_operations_are_part_of_the_definition(ws, store):
    every = Dataset.File.from_files((store, "up"))
    assert len(every.take(2).to_path()) == 2 and len(every.skip(1).to_path()) == 3
    left, right = every.random_split(0.5, seed=7)
    assert sorted(left.to_path() + right.to_path()) == sorted(every.to_path())
    for call in (lambda: every.take(0), lambda: every.random_split(2)):
        with pytest.raises(UserErrorException):
            call()


def test_rows_come_as_pandas_frames(ws, here):
    (here / "t.csv").write_text("name,when,value\na,2020-01-02,1\nb,2020-01-03,2\nc,2020-01-04,3\n")
    (here / "t.jsonl").write_text("\n".join(json.dumps({"x": n}) for n in range(3)))
    store = ws.get_default_datastore()
    store.upload_files([str(here / "t.csv"), str(here / "t.jsonl")], target_path="rows", show_progress=False)
    rows = Dataset.Tabular.from_delimited_files(
        (store, "rows/t.csv"), set_column_types={"when": DataType.to_datetime()}
    )
    frame = rows.to_pandas_dataframe()
    assert list(frame.columns) == ["name", "when", "value"] and frame["when"].dt.year.tolist() == [2020] * 3
    assert rows.keep_columns(["name"]).take(2).to_pandas_dataframe().values.tolist() == [["a"], ["b"]]
    assert list(rows.drop_columns("value").skip(1).to_pandas_dataframe()["name"]) == ["b", "c"]
    left, right = rows.random_split(0.67, seed=1)
    assert len(left.to_pandas_dataframe()) == 2 and len(right.to_pandas_dataframe()) == 1
    lines = Dataset.Tabular.from_json_lines_files((store, "rows/t.jsonl"))
    assert lines.to_pandas_dataframe()["x"].tolist() == [0, 1, 2]
    kept = rows.register(ws, "rows")
    assert Dataset.get_by_name(ws, "rows").to_pandas_dataframe().equals(kept.to_pandas_dataframe())
    with pytest.raises(UserErrorException, match="neither mounted"):
        rows.as_named_input("r").as_mount()


def test_a_bare_dataset_in_the_arguments_is_refused(ws, store, submit):
    dataset = Dataset.File.from_files((store, "up/*.txt"))
    with pytest.raises(UserErrorException, match="as_mount"):
        submit("print(1)", arguments=["--data", dataset])
    with pytest.raises(UserErrorException, match="1data"):
        dataset.as_named_input("1data")
    assert dataset.as_mount().name.startswith("input__")
