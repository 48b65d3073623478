"""Runs that a client keeps: begun, logged to and ended over HTTP, without any node."""

import pytest
from support.server import W


def begin(slipway, key=None, **fields):
    headers = {"Idempotency-Key": key} if key else {}
    return slipway.api("POST", f"{W}/interactive-runs", fields, headers=headers)


def events_of(slipway, run):
    return [(event["kind"], event["state"]) for event in slipway.events(run)]


def test_a_client_begins_a_run_logs_to_it_and_completes_it(slipway):
    run = begin(slipway, experiment="notebook", display_name="try", tags={"a": "1"}, properties={"p": "q"})
    assert run["state"] == "Running" and run["type"] == "interactive" and run["started_at"]
    assert run["tags"] == {"a": "1"} and run["properties"] == {"p": "q"} and run["display_name"] == "try"
    assert run["root"] == run["id"] and run["parent"] is None and run["rerun_of"] is None
    assert run["job"]["command"] == [] and run["nodes"] == []
    path = f"{W}/runs/{run['id']}"
    slipway.api("POST", f"{path}/metrics", {"points": [{"name": "loss", "value": 0.5}]})
    ended = slipway.api("POST", f"{path}/complete")
    assert ended["state"] == "Completed" and ended["ended_at"] and ended["error"] is None
    assert events_of(slipway, run["id"]) == [("opened", "Running"), ("closed", "Completed")]
    assert slipway.metrics(run["id"])["loss"]["last"]["value"] == 0.5
    assert run["id"] in {item["id"] for item in slipway.cli_json("run", "list")["items"]}


def test_a_failure_keeps_its_reason_and_code(slipway):
    run = begin(slipway)["id"]
    failed = slipway.api("POST", f"{W}/runs/{run}/fail", {"reason": "no data", "code": "DataError"})
    assert failed["state"] == "Failed" and failed["reason"] == "no data"
    assert failed["error"] == {"code": "DataError", "message": "no data"}
    plain = begin(slipway)["id"]
    assert slipway.api("POST", f"{W}/runs/{plain}/fail", {})["error"]["code"] == "UserError"


def test_saying_the_same_twice_changes_nothing_and_saying_something_else_is_refused(slipway):
    run = begin(slipway)["id"]
    first = slipway.api("POST", f"{W}/runs/{run}/complete")
    assert slipway.api("POST", f"{W}/runs/{run}/complete")["ended_at"] == first["ended_at"]
    for call, body in (("fail", {}), ("cancel", None)):
        answer = slipway.http("POST", f"{W}/runs/{run}/{call}", body)
        assert answer.status == 409 and "ended already" in answer.error["message"]
    assert slipway.run(run)["state"] == "Completed"


def test_one_key_begins_one_run(slipway):
    first = begin(slipway, key="k1", experiment="e")
    assert begin(slipway, key="k1", experiment="e")["id"] == first["id"]
    other = slipway.http(
        "POST", f"{W}/interactive-runs", {"experiment": "f"}, headers={"Idempotency-Key": "k1"}
    )
    assert other.status == 409
    assert len(slipway.items(f"{W}/runs")) == 1


def test_a_job_is_not_ended_by_a_client(slipway):
    run = slipway.submit("sleep 60")
    for call in ("complete", "fail"):
        answer = slipway.http("POST", f"{W}/runs/{run}/{call}", {})
        assert answer.status == 409 and "its own processes" in answer.error["message"]
    slipway.cli("run", "cancel", run)
    slipway.wait(run)


def test_an_interactive_run_is_canceled_like_any_other(slipway):
    run = begin(slipway)["id"]
    slipway.cli("run", "cancel", run)
    assert slipway.run(run)["state"] == "Canceled"


def test_an_interactive_run_survives_the_server_and_does_not_hold_up_its_shutdown(slipway):
    run = begin(slipway)["id"]
    slipway.kill_server()
    slipway.again()
    assert slipway.run(run)["state"] == "Running"
    slipway.down("--leave")
    slipway.up()
    assert slipway.api("POST", f"{W}/runs/{run}/complete")["state"] == "Completed"


def test_an_interactive_run_cannot_be_repeated(slipway):
    run = begin(slipway)["id"]
    answer = slipway.http("POST", f"{W}/runs/{run}/rerun", {})
    assert answer.status == 400 and "no command" in answer.error["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"experiment": "../x"},
        {"display_name": "a\nb"},
        {"display_name": "x" * 257},
        {"tags": {"": "x"}},
        {"tags": {"a": 1}},
        {"properties": {"k" * 251: "v"}},
        {"properties": {"k": None}},
        {"description": "x" * 20000},
        {"command": ["true"]},
        {"snapshot": "0" * 64},
    ],
)
def test_what_makes_no_sense_begins_nothing(slipway, body):
    answer = slipway.http("POST", f"{W}/interactive-runs", body)
    assert answer.status in (400, 404) and answer.error["message"]
    assert slipway.items(f"{W}/runs") == []
