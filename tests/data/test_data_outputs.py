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


def test_output_that_is_in_the_way_of_another_fails_the_run(slipway):
    job = {"outputs": {"out": {"path": "shared", "register_as": "shared"}}}
    slipway.completed(slipway.submit("echo 1 > $out/a.txt", **job))
    ended = slipway.wait(slipway.submit("echo 2 > $out/a.txt", **job))
    assert (ended["state"], ended["exit_code"]) == ("Failed", 0), ended
    assert ended["reason"].startswith("the output 'out' could not be kept: the file 'shared/a.txt'"), ended
    assert any(line.startswith("data/out/a.txt: ") for line in ended["skipped"]), ended
    assert show(slipway, "shared")["version"] == 1


def test_output_whose_folder_cannot_be_made_fails_the_run(slipway):
    folder = slipway.folder / "results"
    folder.mkdir()
    (folder / "taken").write_text("a file where the output's folder would be")
    add_datastore(slipway, "results", folder)
    run = slipway.submit(
        "echo one > $out/a.txt", outputs={"out": {"datastore": "results", "path": "taken/here"}}
    )
    ended = slipway.wait(run)
    assert ended["state"] == "Failed", ended
    assert "the output 'out' could not be kept: cannot open the folder taken" in ended["reason"], ended
    assert (folder / "taken").read_text().startswith("a file")


def test_output_whose_datastore_was_removed_fails_the_run(slipway):
    folder = slipway.folder / "results"
    folder.mkdir()
    add_datastore(slipway, "results", folder)
    go = slipway.folder / "go"
    run = slipway.submit(
        f"echo one > $out/a.txt; until [ -e {go} ]; do sleep 0.05; done",
        outputs={"out": {"datastore": "results"}},
    )
    slipway.wait_for(run, "Running")
    slipway.cli("datastore", "remove", "results")
    go.touch()
    ended = slipway.wait(run)
    assert ended["state"] == "Failed", ended
    assert "the datastore 'results' has been removed" in ended["reason"], ended


def test_mounted_output_that_was_refused_while_the_job_ran_is_tried_again_at_the_end(slipway):
    folder = slipway.folder / "results"
    folder.mkdir()
    (folder / "taken").write_text("in the way for now")
    add_datastore(slipway, "results", folder)
    go = slipway.folder / "go"
    run = slipway.submit(
        f"echo one > $out/a.txt; until [ -e {go} ]; do sleep 0.05; done",
        outputs={"out": {"datastore": "results", "path": "taken", "mode": "mount"}},
    )
    slipway.wait_for(run, "Running")
    refused = f"agent.output_later attempt={run}"
    wait_until(lambda: any(refused in log.read_text() for log in slipway.home.glob("nodes/*/agent.log")), 60)
    (folder / "taken").unlink()
    go.touch()
    slipway.completed(run)
    assert (folder / "taken" / "a.txt").read_text() == "one\n"


def test_a_failed_job_keeps_its_own_reason_when_its_output_is_lost_too(slipway):
    job = {"outputs": {"out": {"path": "shared"}}}
    slipway.completed(slipway.submit("echo 1 > $out/a.txt", **job))
    ended = slipway.wait(slipway.submit("echo 2 > $out/a.txt; exit 3", **job))
    assert (ended["state"], ended["exit_code"]) == ("Failed", 3), ended
    assert "could not be kept" not in ended["reason"], ended
    assert any(line.startswith("data/out/a.txt: ") for line in ended["skipped"]), ended


def test_an_empty_output_that_was_to_be_registered_is_said(slipway):
    ended = slipway.completed(slipway.submit("true", outputs={"out": {"register_as": "nothing"}}))
    assert any("nothing was written into the output 'out'" in line for line in ended["warnings"]), ended
