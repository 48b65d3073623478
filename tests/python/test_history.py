"""Runs that a program keeps itself: logged to from outside, with children, properties and files."""

import os
import time

import pytest
from slipway import errors


def test_interactive_run_is_logged_to_and_completes_with_its_block(ws, tmp_path):
    (tmp_path / "notebook.py").write_text("x = 1\n")
    with ws.start_run(
        "notes", name="first", tags={"a": 1}, properties={"data": "mnist:2"}, source=str(tmp_path)
    ) as run:
        assert run.type == "interactive" and run.state == "Running"
        for step in range(10):
            run.log(loss=1 / (step + 1), step=step)
        run.log({"odd name": float("inf")})
        run.log_text("note", "warm")
        run.log_row("epochs", loss=0.5, phase="train")
        run.log_row("epochs", loss=float("nan"), phase="test")
        run.log_table("curve", {"x": [1, 2], "y": [0.5, None]})
        run.log_chart("matrix", "confusion_matrix", {"schema_type": "confusion_matrix", "data": {}})
        picture = run.log_image("grey", [[0, 255]], step=2)
    assert run.document["state"] == "Completed"
    assert run.metrics("loss").values == [1 / (i + 1) for i in range(10)]
    assert run.metrics()["odd name"] == float("inf")
    kinds = [(value.name, value.kind) for value in run.values()]
    assert kinds == [
        ("note", "string"),
        ("epochs", "row"),
        ("epochs", "row"),
        ("curve", "table"),
        ("matrix", "confusion_matrix"),
        ("grey", "image"),
    ]
    rows = run.values("epochs")
    assert rows[0].value == {"loss": 0.5, "phase": "train"} and str(rows[1].value["loss"]) == "nan"
    assert run.values("curve")[0].value == {"x": [1, 2], "y": [0.5, None]}
    assert run.values("grey")[0].value == {"path": picture} and run.read(picture).startswith(b"\x89PNG")
    assert run.properties == {"data": "mnist:2"} and run.tags == {"a": "1"} and run.display_name == "first"
    assert run.job["snapshot"] and ws.experiment("notes").runs() == [run]


def test_exception_in_the_block_fails_the_run_with_its_words(ws):
    with pytest.raises(ZeroDivisionError), ws.start_run() as run:
        run.log(loss=1)
        run.log(loss=1 / 0)
    assert run.state == "Failed" and run.reason == "ZeroDivisionError: division by zero"
    with pytest.raises(errors.ConflictError):
        run.complete()


def test_long_table_is_kept_whole_in_pieces(ws):
    with ws.start_run() as run:
        run.log_table("long", {"x": list(range(50000)), "text": ["t" * 50] * 50000})
    pieces = run.values("long")
    assert len(pieces) > 1
    assert [x for piece in pieces for x in piece.value["x"]] == list(range(50000))


def test_children_of_every_kind_are_found_from_their_parent(ws):
    with ws.start_run("family") as parent:
        first = parent.child("first", tags={"fold": 1})
        second, third = parent.begin_children([{"tags": {"fold": 2}}, {"properties": {"p": "q"}}])
        grandchild = second.child("deep")
        job = parent.submit_child(command=["true"], source=None, tags={"kind": "job"}).wait(timeout=60)
        assert parent.children() == [job, third, second, first]
        assert parent.children(recursive=True) == [job, grandchild, third, second, first]
        assert parent.children(tags={"fold": "2"}) == [second]
        assert parent.children(tags={"fold": None}) == [second, first]
        assert parent.children(properties={"p": "q"}) == [third]
        assert parent.children(type="job") == [job] and parent.children(state="Completed") == [job]
        assert grandchild.parent == second and first.parent == parent and parent.parent is None
        assert job.experiment == "family"
        for run in (first, second, third, grandchild):
            run.complete()


def test_properties_are_set_once(ws):
    run = ws.start_run()
    run.set_properties(data="mnist:2")
    run.set_properties(data="mnist:2", more=1)
    with pytest.raises(errors.ConflictError):
        run.set_properties(data="other")
    assert run.properties == {"data": "mnist:2", "more": "1"}
    run.describe("what it was for")
    run.rename("shown")
    assert run.refresh().description == "what it was for" and run.display_name == "shown"
    run.complete()


def test_files_are_added_replaced_and_refused(ws, tmp_path):
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    (folder / "small").write_text("s")
    (folder / "deep" / "big").write_bytes(os.urandom(300000))
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    with ws.start_run() as run:
        assert sorted(run.upload_folder(str(folder), "outputs/model")) == [
            "outputs/model/deep/big",
            "outputs/model/run.sh",
            "outputs/model/small",
        ]
        run.upload(str(folder / "small"))
        run.upload(str(folder / "small"))  # the same content again is no change
        (folder / "small").write_text("other")
        with pytest.raises(errors.ConflictError):
            run.upload(str(folder / "small"))
        run.upload(str(folder / "small"), overwrite=True)
        with pytest.raises(errors.InvalidArgumentError):
            run.upload(str(folder / "small"), "../out")
        with pytest.raises(FileNotFoundError):
            run.upload(str(folder / "nope"))
    assert (
        run.read("small") == b"other"
        and run.read("outputs/model/deep/big") == (folder / "deep/big").read_bytes()
    )
    assert {f.path: f.mode for f in run.files()}["outputs/model/run.sh"] == 0o755
    run.upload(str(folder / "small"), "late.txt")  # ended runs take files too
    assert len(run.files()) == 5


def test_logging_waits_for_no_server_and_nothing_is_lost_or_doubled(slipway, ws):
    run = ws.start_run()
    run.log(loss=0, step=0)
    run.flush()
    slipway.kill_server()
    begin = time.monotonic()
    for step in range(1, 3000):
        run.log(loss=step, step=step)
    assert time.monotonic() - begin < 60  # had each waited for it, this would take hours
    assert not run.flush(timeout=0.2)
    slipway.again()
    run.complete()
    assert run.metrics("loss").values == list(range(3000))


def test_what_cannot_be_stored_is_said(ws):
    run = ws.start_run()
    run.complete()
    run.delete()
    run.log(loss=1)
    with pytest.raises(errors.NotFoundError):
        run.flush()
    with pytest.raises(TypeError):
        run.log(loss="text")
    with pytest.raises(ValueError, match="no columns"):
        run.log_row("row")
    with pytest.raises(TypeError):
        run.log_table("table", {"x": 3})
    with pytest.raises(ValueError, match="no kind of chart"):
        run.log_chart("c", "pie", {})
