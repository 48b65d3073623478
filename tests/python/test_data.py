"""Datastores, datasets and environments from Python."""

import pytest
import slipway as package
from slipway import errors


@pytest.fixture
def folder(tmp_path):
    source = tmp_path / "images"
    for name in ("train/0/a.png", "train/1/b.png", "train/1/c.png", "test/d.png", "readme.txt"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    return source


def test_files_of_a_folder_are_referred_to_by_name_and_version(ws, folder, tmp_path):
    store = ws.datastores.add("images", path=str(folder), description="by hand")
    assert {s.name for s in ws.datastores} >= {"images"} and store.document["kind"] == "folder"
    assert [f.path for f in store.files("train/1")] == ["train/1/b.png", "train/1/c.png"]
    first = ws.data.create("train", "images:train/**/*.png", tags={"kind": "png"})
    assert (first.reference, len(first.files())) == ("train:1", 3)
    assert ws.data.create("train", "images:train/**/*.png").version == 1  # nothing has changed
    (folder / "train/0/e.png").write_text("new")
    second = ws.data.create("train", "images:train/**/*.png")
    assert second.version == 2 and [d.version for d in second.versions()] == [2, 1]
    assert [f["change"] for f in first.diff(second)["files"]] == ["added"]
    assert ws.data("train").reference == "train:2" and ws.data("train", 1).tags == {"kind": "png"}
    assert "train" in ws.data and "nope" not in ws.data
    target = tmp_path / "here"
    paths = ws.data("train").download(str(target))
    assert sorted(p.read_text() for p in target.rglob("*.png")) == sorted(
        ["new", "train/0/a.png", "train/1/b.png", "train/1/c.png"]
    )
    assert len(paths) == 4 and second.read(second.files()[0].path)
    train, test = second.split("part1", "part2", 0.5, seed=3)
    names = [f.path for f in train.files()] + [f.path for f in test.files()]
    assert sorted(names) == sorted(f.path for f in second.files())
    assert len(second.take("few", 2).files()) == 2
    second.tag(checked=True)
    second.untag("kind")
    second.describe("pictures")
    assert ws.data("train").document["description"] == "pictures"
    for shown in (ws.data, second, ws.datastores):
        assert shown._repr_html_().startswith("<table>")


def test_what_is_not_there_is_named(ws, folder):
    ws.datastores.add("images", path=str(folder))
    with pytest.raises(errors.SlipwayError, match=r"none/\*\.jpg"):
        ws.data.create("none", "images:none/*.jpg")
    with pytest.raises(errors.NotFoundError, match="nope"):
        ws.data("nope")
    with pytest.raises(errors.NotFoundError):
        ws.datastores["nope"]
    with pytest.raises(errors.SlipwayError):
        ws.submit(command=["true"], source=None, inputs={"x": "nope"})
    with pytest.raises(errors.InvalidArgumentError, match="no name for one of the inputs"):
        ws.submit(command=["true"], source=None, inputs={"not a name": "nope"})
    assert ws.runs() == []


def test_folder_is_uploaded_to_the_workspace_and_brought_back(ws, folder, tmp_path):
    dataset = ws.data.upload("pictures", str(folder))
    assert len(dataset.files()) == 5
    store = ws.datastores.default()
    assert len(store.files("uploads/pictures")) == 5
    store.upload(str(folder / "readme.txt"), "one/readme.txt")
    with pytest.raises(errors.ConflictError):
        (folder / "readme.txt").write_text("other")
        store.upload(str(folder / "readme.txt"), "one/readme.txt")
    store.upload(str(folder / "readme.txt"), "one/readme.txt", existing="skip")
    store.upload(str(folder / "readme.txt"), "one/readme.txt", existing="replace")
    store.download("one", to=str(tmp_path / "back"))
    assert (tmp_path / "back/one/readme.txt").read_text() == "other"
    with pytest.raises(errors.NotFoundError, match="no file"):
        store.download("nothing", to=str(tmp_path / "back"))


def test_table_becomes_a_frame(ws, tmp_path):
    source = tmp_path / "tables"
    source.mkdir()
    (source / "a.csv").write_text("x,y,z\n1,2,3\n4,5,6\n")
    (source / "b.csv").write_text("x,y,z\n7,8,9\n")
    ws.datastores.add("tables", path=str(source))
    table = ws.data.create(
        "table", "tables:*.csv", table={"format": "delimited", "drop": ["z"], "types": {"x": "float"}}
    )
    frame = table.to_pandas()
    assert list(frame.columns) == ["x", "y"] and frame["x"].tolist() == [1.0, 4.0, 7.0]
    assert table.preview()["dataset"] == "table:1"


@pytest.mark.parametrize("mode", ["mount", "download"])
def test_dataset_reaches_a_job_as_an_input(ws, folder, mode):
    ws.datastores.add("images", path=str(folder))
    dataset = ws.data.create("train", "images:train/**/*.png")
    data = dataset.mount() if mode == "mount" else dataset.download_on_node()
    script = (
        "import glob, os, slipway, sys\n"
        "assert sys.argv[1] == slipway.inputs['pictures'], (sys.argv, dict(slipway.inputs))\n"
        "found = glob.glob(sys.argv[1] + '/**/*.png', recursive=True)\n"
        "slipway.log(files=len(found), size=sum(len(open(f).read()) for f in found), step=0)\n"
        "open(os.path.join(slipway.outputs['model'], 'weights'), 'w').write('trained')\n"
    )
    run = ws.submit(
        command=["python3", "-c", script, data],
        source=None,
        inputs={"pictures": data},
        outputs={"model": package.output(register_as="weights")},
    ).wait(timeout=60)
    assert run.metrics() == {"files": 3, "size": 39}
    assert run.job["inputs"]["pictures"]["dataset"] == "train:1"
    made = ws.data("weights")
    assert made.read("weights") == b"trained" and made.document["produced_by"]["run"] == run.id
    assert dataset.reference == "train:1"


def test_input_among_the_arguments_gets_a_name_of_its_own(ws, folder):
    ws.datastores.add("images", path=str(folder))
    ws.data.create("some-data", "images:readme.txt")
    run = ws.submit(command=["cat", ws.data("some-data").download_on_node()], source=None).wait(timeout=60)
    assert list(run.job["inputs"]) == ["some_data"] and run.logs() == "readme.txt"
