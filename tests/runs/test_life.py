"""A run from submit to its end."""

import pytest
from support.server import FINAL, W


def test_passes_through_the_states_people_know_in_order(slipway):
    run = slipway.submit("echo hello")
    ended = slipway.completed(run)
    states = [event["state"] for event in slipway.events(run)]
    order = ["Queued", "Preparing", "Starting", "Running", "Finalizing", "Completed"]
    positions = [states.index(state) for state in order]
    assert positions == sorted(positions), states
    assert ended["exit_code"] == 0
    assert ended["phase"] == "done"
    assert ended["attempt"] == 1
    assert ended["submitted_at"] <= ended["started_at"] <= ended["ended_at"]
    assert ended["duration_seconds"] >= 0
    assert slipway.log(run) == b"hello\n"


def test_true_exit_code_is_kept(slipway):
    ended = slipway.wait(slipway.submit("exit 7"))
    assert (ended["state"], ended["exit_code"]) == ("Failed", 7)
    assert "7" in ended["reason"]


def test_signal_that_ended_the_job_is_named(slipway):
    ended = slipway.wait(slipway.submit("kill -SEGV $$"))
    assert (ended["state"], ended["exit_code"]) == ("Failed", 128 + 11)
    assert "signal" in ended["reason"].lower() or "SEGV" in ended["reason"], ended


def test_missing_program_fails_with_a_sentence(slipway):
    ended = slipway.wait(slipway.submit("no-such-program-here", "--flag"))
    assert ended["state"] == "Failed"
    assert "no-such-program-here" in ended["reason"], ended


def test_command_reaches_execve_as_it_is_and_no_shell_sees_it(slipway):
    odd = ["$HOME", "`id`", "a b", "*", "'", '"', ";exit 3", "ü", ""]
    run = slipway.submit("/usr/bin/printf", "[%s]", *odd)
    slipway.completed(run)
    assert slipway.log(run).decode() == "".join(f"[{word}]" for word in odd)


def test_job_sees_its_variables_and_nothing_of_the_agents_environment(slipway):
    slipway.down()
    slipway.up(env={"SECRET_OF_THE_SERVER": "visible"})
    run = slipway.submit("env; pwd", variables={"MY_VARIABLE": "a=b c"}, experiment="vars")
    slipway.completed(run)
    seen = dict(line.split("=", 1) for line in slipway.log(run).decode().splitlines() if "=" in line)
    assert seen["MY_VARIABLE"] == "a=b c"
    assert seen["SLIPWAY_RUN_ID"] == run
    assert seen["SLIPWAY_EXPERIMENT"] == "vars"
    assert seen["SLIPWAY_NODE_RANK"] == "0" and seen["SLIPWAY_NODE_COUNT"] == "1"
    assert seen["SLIPWAY_TOKEN"].startswith("slw_")
    assert "SECRET_OF_THE_SERVER" not in seen


def test_time_limit_ends_the_job_and_says_so(slipway):
    ended = slipway.wait(slipway.submit("sleep 60", timeout_seconds=1, grace_seconds=1))
    assert ended["state"] == "Failed"
    assert "time limit" in ended["reason"] or "timeout" in ended["reason"], ended
    assert ended["duration_seconds"] < 59


def test_outputs_are_kept_and_logs_folder_is_followed(slipway):
    script = (
        "mkdir -p outputs/deep logs; printf model > outputs/deep/model.bin; chmod 750 outputs/deep/model.bin;"
        "echo first > logs/train.log; echo second >> logs/train.log; : > outputs/empty"
    )
    run = slipway.submit(script)
    slipway.completed(run)
    files = slipway.files(run)
    assert set(files) == {"outputs/deep/model.bin", "outputs/empty"}
    assert slipway.file(run, "outputs/deep/model.bin") == b"model"
    assert slipway.file(run, "outputs/empty") == b""
    assert files["outputs/deep/model.bin"]["mode"] == 0o750
    assert slipway.log(run, "logs/train.log") == b"first\nsecond\n"


def test_outputs_of_a_failed_run_are_kept_too(slipway):
    run = slipway.submit("mkdir -p outputs; echo partial > outputs/checkpoint; exit 1")
    assert slipway.wait(run)["state"] == "Failed"
    assert slipway.file(run, "outputs/checkpoint") == b"partial\n"


def test_resource_use_is_sampled(slipway):
    run = slipway.submit(
        "python3", "-c", "import time\nb=bytearray(50<<20)\nt=time.time()\nwhile time.time()-t<8: pass"
    )
    slipway.completed(run)
    samples = slipway.items(f"{W}/runs/{run}/resources")
    assert samples
    assert max(sample["memory_bytes"] for sample in samples) > 30 << 20
    assert max(sample["cpu_percent"] for sample in samples) > 2  # of a machine it shares with other tests


def test_waiting_run_says_why(slipway):
    slipway.api("POST", f"{W}/compute", {"name": "small", "min_nodes": 0, "max_nodes": 1, "cpus": 1})
    first = slipway.submit("sleep 60", compute="small")
    slipway.wait_for(first, "Running")
    second = slipway.submit("true", compute="small")
    third = slipway.submit("true", compute="small")
    why = slipway.run(third)["waiting_because"]
    assert "small" in why and "1 of 1" in why, why
    assert "1 run" in why, why
    slipway.api("POST", f"{W}/runs/{first}/cancel")
    slipway.completed(second)
    slipway.completed(third)
    assert slipway.run(third)["waiting_because"] == ""


def test_tags_can_be_added_changed_and_removed(slipway):
    run = slipway.submit("true", tags={"a": "1", "b": "2"})
    slipway.api(
        "PATCH", f"{W}/runs/{run}", {"tags": {"a": "one", "b": None, "c": "3"}, "display_name": "mine"}
    )
    shown = slipway.run(run)
    assert shown["tags"] == {"a": "one", "c": "3"}
    assert shown["display_name"] == "mine"
    slipway.completed(run)


def test_run_is_found_by_a_unique_prefix_of_its_id(slipway):
    run = slipway.submit("true", experiment="prefix")
    assert slipway.run(run[:-2])["id"] == run
    slipway.submit("true", experiment="prefix")
    answer = slipway.http("GET", f"{W}/runs/prefix-")
    assert answer.status in {400, 404, 409}
    assert answer.error["message"]


@pytest.mark.parametrize("count", [40])
def test_many_runs_at_once_all_complete(slipway, count):
    runs = [slipway.submit("/bin/true") for _ in range(count)]
    for run in runs:
        slipway.completed(run)


def test_deleting_a_run_removes_it_and_frees_its_bytes(slipway):
    run = slipway.submit("mkdir -p outputs; head -c 3000000 /dev/urandom > outputs/big")
    slipway.completed(run)
    digest = slipway.files(run)["outputs/big"]["digest"]
    blob = slipway.home / "blobs" / digest[:2] / digest[2:]
    assert blob.stat().st_size == 3000000
    slipway.api("DELETE", f"{W}/runs/{run}")
    assert slipway.http("GET", f"{W}/runs/{run}").status == 404
    assert not (slipway.home / "logs" / run).exists() or not any((slipway.home / "logs" / run).rglob("*.txt"))
    from support.processes import wait_until

    wait_until(lambda: not blob.exists(), 20, "the blob was not swept")


def test_deleting_one_of_two_runs_keeps_the_bytes_they_share(slipway):
    one, two = (slipway.submit("mkdir -p outputs; echo same > outputs/file") for _ in range(2))
    slipway.completed(one)
    slipway.completed(two)
    slipway.api("DELETE", f"{W}/runs/{one}")
    assert slipway.file(two, "outputs/file") == b"same\n"


def test_active_run_cannot_be_deleted(slipway):
    run = slipway.submit("sleep 60")
    slipway.wait_for(run, "Running")
    answer = slipway.http("DELETE", f"{W}/runs/{run}")
    assert answer.status == 409
    assert "cancel" in (answer.error["message"] + answer.error["next"])


def test_list_is_newest_first_and_pages_through_everything(slipway):
    runs = [slipway.submit("true", compute="local") for _ in range(7)]
    for run in runs:
        slipway.wait(run)
    listed = slipway.items(f"{W}/runs", limit=3)
    assert [item["id"] for item in listed] == runs[::-1]


def test_list_filters_by_experiment_state_and_tag(slipway):
    good = slipway.submit("true", experiment="one", tags={"team": "a"})
    bad = slipway.submit("false", experiment="one", tags={"team": "b"})
    other = slipway.submit("true", experiment="two", tags={"team": "a"})
    for run in (good, bad, other):
        assert slipway.wait(run)["state"] in FINAL
    ids = lambda **query: {item["id"] for item in slipway.items(f"{W}/runs", **query)}  # noqa: E731
    assert ids(experiment="one") == {good, bad}
    assert ids(state="Failed") == {bad}
    assert ids(tag="team=a") == {good, other}
    assert ids(tag="team=a", experiment="one") == {good}
    assert ids(tag="team=nobody") == set()


def test_experiments_count_their_runs(slipway):
    for name in ("alpha", "alpha", "beta"):
        slipway.wait(slipway.submit("true", experiment=name))
    found = {item["name"]: item["runs"] for item in slipway.items(f"{W}/experiments")}
    assert found["alpha"] == 2 and found["beta"] == 1
    assert slipway.api("GET", f"{W}/experiments/alpha")["runs"] == 2
