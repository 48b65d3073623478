"""Repeating a run, and saying what changed between two."""

from support.server import W


def submit_source(slipway, folder, *args):
    return slipway.cli_json("submit", "--source", folder, *args)["id"]


def test_rerun_repeats_snapshot_command_and_variables(slipway, tmp_path):
    (tmp_path / "job.py").write_text("import os,sys; print('v1', sys.argv[1:], os.environ['K'])")
    run = submit_source(slipway, tmp_path, "--var", "K=v", "--", "python3", "job.py", "x")
    slipway.completed(run)
    (tmp_path / "job.py").write_text("print('changed')")
    again = slipway.api("POST", f"{W}/runs/{run}/rerun", {})
    assert again["rerun_of"] == run and again["id"] != run
    slipway.completed(again["id"])
    assert slipway.log(again["id"]) == slipway.log(run) == b"v1 ['x'] v\n"


def test_rerun_can_bring_tags_of_its_own(slipway):
    run = slipway.submit("true", tags={"a": "1", "b": "2"})
    slipway.completed(run)
    again = slipway.cli_json("run", "rerun", run, "--tag", "b=3", "--tag", "c=4")
    assert again["tags"] == {"a": "1", "b": "3", "c": "4"}
    assert slipway.http("POST", f"{W}/runs/{run}/rerun", {"tags": {"x": 1}}).status == 400
    slipway.completed(again["id"])


def test_rerun_is_idempotent_by_key(slipway):
    run = slipway.submit("true")
    slipway.completed(run)
    again = [
        slipway.api("POST", f"{W}/runs/{run}/rerun", {}, headers={"Idempotency-Key": "once"})["id"]
        for _ in range(2)
    ]
    assert again[0] == again[1]
    slipway.wait(again[0])


def test_diff_names_changed_files_arguments_and_result(slipway, tmp_path):
    (tmp_path / "job.py").write_text("import sys; sys.exit(int(sys.argv[1]))")
    (tmp_path / "same.txt").write_text("same")
    (tmp_path / "old.txt").write_text("old")
    one = submit_source(slipway, tmp_path, "--", "python3", "job.py", "0")
    (tmp_path / "job.py").write_text("import sys; sys.exit(int(sys.argv[1]) + 1)")
    (tmp_path / "old.txt").unlink()
    (tmp_path / "new.txt").write_text("new")
    two = submit_source(slipway, tmp_path, "--", "python3", "job.py", "4")
    slipway.wait(one)
    slipway.wait(two)
    diff = slipway.api("GET", f"{W}/run-diff", query={"from": one, "to": two})
    changes = {item["path"]: item["change"] for item in diff["code"]}
    assert changes == {"job.py": "modified", "old.txt": "removed", "new.txt": "added"}
    assert diff["command"]["from"][-1] == "0" and diff["command"]["to"][-1] == "4"
    assert diff["environment"] is None
    assert diff["result"] is not None


def test_diff_of_equal_runs_says_nothing_changed(slipway):
    one, two = (slipway.submit("true") for _ in range(2))
    slipway.completed(one)
    slipway.completed(two)
    diff = slipway.api("GET", f"{W}/run-diff", query={"from": one, "to": two})
    assert diff["code"] == []
    assert all(diff[key] is None for key in ("command", "environment", "variables", "git"))
