"""What a run writes into its data outputs: kept in a datastore, registered when asked, with lineage."""

from support.data import add_datastore, listed, show
from support.processes import wait_until


def test_output_is_kept_under_the_run_and_registered(slipway):
    run = slipway.submit(
        "mkdir -p $model/deep; echo weights > $model/w.bin; echo more > $model/deep/m.txt; echo ${outputs.model}",
        outputs={"model": {"register_as": "model"}},
    )
    slipway.completed(run)
    shown = show(slipway, "model")
    assert (shown["name"], shown["version"], shown["files"]) == ("model", 1, 2)
    assert shown["produced_by"]["run"] == run
    folder = f"dataset/{run}/model/"
    assert listed(slipway, "default", folder) == [f"{folder}deep/m.txt", f"{folder}w.bin"]


def test_output_goes_to_a_folder_of_a_datastore(slipway):
    folder = slipway.folder / "results"
    folder.mkdir()
    add_datastore(slipway, "results", folder)
    run = slipway.submit(
        "echo one > $out/a.txt", outputs={"out": {"datastore": "results", "path": "runs/{run-id}"}}
    )
    slipway.completed(run)
    assert (folder / "runs" / run / "a.txt").read_text() == "one\n"


def test_mounted_output_arrives_while_the_job_runs(slipway):
    run = slipway.submit("echo early > $out/early.txt; sleep 1000", outputs={"out": {"mode": "mount"}})
    slipway.wait_for(run, "Running")
    wait_until(lambda: listed(slipway, "default", f"dataset/{run}/out/"), 30)
    slipway.cli("run", "cancel", run)
    slipway.wait(run)


def test_output_of_one_run_is_the_input_of_the_next(slipway):
    first = slipway.submit("echo 42 > $numbers/n.txt", outputs={"numbers": {"register_as": "numbers"}})
    slipway.completed(first)
    second = slipway.submit("cat $n", inputs={"n": {"dataset": "numbers", "mode": "mount"}})
    slipway.completed(second)
    assert slipway.log(second) == b"42\n"
    shown = show(slipway, "numbers")
    assert [use["run"] for use in shown["used_by"]] == [second]


def test_output_that_is_in_the_way_of_another_is_said(slipway):
    job = {"outputs": {"out": {"path": "shared"}}}
    slipway.completed(slipway.submit("echo 1 > $out/a.txt", **job))
    run = slipway.submit("echo 2 > $out/a.txt", **job)
    ended = slipway.wait(run)
    assert "a.txt" in str(ended), ended
