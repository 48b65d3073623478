"""Families of runs: children begun by clients and by jobs, listed, filtered, canceled and ended together."""

import json

import pytest
from support.jobs import WITH_TOKEN, until
from support.server import W

SLEEP = ["sleep", "60"]


def begin(slipway, **fields):
    return slipway.api("POST", f"{W}/interactive-runs", fields)["id"]


def children(slipway, parent, *wanted, **headers):
    body = {"children": list(wanted) or [{}]}
    answer = slipway.api("POST", f"{W}/runs/{parent}/children", body, headers=headers)
    return [item["id"] for item in answer["items"]]


def listed(slipway, run, **query):
    return [item["id"] for item in slipway.items(f"{W}/runs/{run}/children", **query)]


def test_children_are_begun_together_in_order_and_know_their_family(slipway):
    parent = begin(slipway, experiment="family")
    made = children(slipway, parent, *[{"display_name": f"c{i}", "tags": {"i": str(i)}} for i in range(200)])
    assert len(set(made)) == 200
    first = slipway.run(made[0])
    assert first["parent"] == parent and first["root"] == parent and first["experiment"] == "family"
    assert first["state"] == "Running" and first["display_name"] == "c0"
    (grandchild,) = children(slipway, made[3])
    assert slipway.run(grandchild)["root"] == parent and slipway.run(grandchild)["parent"] == made[3]
    assert listed(slipway, parent) == list(reversed(made))
    assert set(listed(slipway, parent, recursive="true", limit=50)) == {*made, grandchild}
    tops = slipway.items(f"{W}/runs", without_parent="true")
    assert [item["id"] for item in tops] == [parent]


def test_children_are_filtered_by_state_type_tags_and_properties(slipway):
    parent = begin(slipway)
    a, b = children(
        slipway,
        parent,
        {"tags": {"k": "1", "both": "x"}, "properties": {"p": "1"}},
        {"tags": {"k": "2", "both": "x"}},
    )
    job = slipway.api("POST", f"{W}/runs/{parent}/children/jobs", {"command": ["true"], "tags": {"k": "1"}})
    slipway.completed(job["id"])
    slipway.api("POST", f"{W}/runs/{b}/complete")
    assert listed(slipway, parent, tags=json.dumps({"k": "1"})) == [job["id"], a]
    assert listed(slipway, parent, tags=json.dumps({"k": "1", "both": "x"})) == [a]
    assert listed(slipway, parent, tags=json.dumps({"both": None})) == [b, a]
    assert listed(slipway, parent, tag="k=2") == [b]
    assert listed(slipway, parent, properties=json.dumps({"p": "1"})) == [a]
    assert listed(slipway, parent, type="job") == [job["id"]]
    assert listed(slipway, parent, state="Running") == [a]
    for query in ({"tags": "[]"}, {"tags": '{"a": 1}'}, {"type": "x"}, {"recursive": "1"}, {"state": "x"}):
        assert slipway.http("GET", f"{W}/runs/{parent}/children", query=query).status == 400
    shown = slipway.cli("run", "children", parent).stdout
    assert a in shown and b in shown and job["id"] in shown
    assert parent in slipway.cli("run", "show", a).stdout
    assert a in slipway.cli("run", "show", parent).stdout


def test_one_key_begins_the_same_children(slipway):
    parent = begin(slipway)
    made = children(slipway, parent, {}, {}, **{"Idempotency-Key": "k"})
    assert children(slipway, parent, {}, {}, **{"Idempotency-Key": "k"}) == made
    assert len(listed(slipway, parent)) == 2


def test_canceling_a_parent_cancels_all_below_it(slipway):
    parent = begin(slipway)
    open_child, done = children(slipway, parent, {}, {})
    (deep,) = children(slipway, open_child)
    slipway.api("POST", f"{W}/runs/{done}/complete")
    job = slipway.api("POST", f"{W}/runs/{open_child}/children/jobs", {"command": SLEEP})["id"]
    queued = slipway.api("POST", f"{W}/runs/{parent}/children/jobs", {"command": SLEEP})["id"]
    slipway.wait_for(job, "Running")
    slipway.cli("run", "cancel", parent)
    for run in (parent, open_child, deep, job, queued):
        assert slipway.wait(run)["state"] == "Canceled"
    assert slipway.run(done)["state"] == "Completed"
    late = slipway.http("POST", f"{W}/runs/{parent}/children", {"children": [{}]})
    assert late.status == 409 and "no more children" in late.error["message"]


def test_a_job_begins_children_and_submits_jobs_with_its_own_token(slipway):
    script = """
def made(method, path, body):
    request = urllib.request.Request(
        os.environ["SLIPWAY_URL"] + "/api/v1/workspaces/default" + path, method=method, data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["SLIPWAY_TOKEN"], "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=60))
own = "/runs/" + me
done, left = [item["id"] for item in made("POST", own + "/children", {"children": [{"tags": {"a": "b"}}, {}]})["items"]]
deep = made("POST", f"/runs/{left}/children", {"children": [{}]})["items"][0]["id"]
job = made("POST", own + "/children/jobs", {"command": ["true"]})["id"]
for child in (done, left, deep, job):
    made("POST", f"/runs/{child}/metrics", {"points": [{"name": "m", "value": 1}]})
    made("PATCH", f"/runs/{child}", {"tags": {"by": "parent"}, "properties": {"x": "y"}})
made("POST", f"/runs/{done}/complete", {})
print(json.dumps({"done": done, "left": left, "deep": deep, "job": job}))
"""
    run = slipway.submit("python3", "-c", WITH_TOKEN + script, experiment="drives")
    parent = slipway.completed(run)
    made = json.loads(slipway.log(run))
    slipway.completed(made["job"])
    for child in made.values():
        record = slipway.run(child)
        assert record["root"] == run and record["experiment"] == "drives" and record["state"] == "Completed"
        assert record["tags"]["by"] == "parent" and record["properties"] == {"x": "y"}
        assert record["submitted_by"] == parent["submitted_by"]
        assert slipway.points(child, "m")[0]["value"] == 1
    left_open = slipway.events(made["deep"])[-1]
    assert left_open["kind"] == "closed" and run in left_open["reason"]


@pytest.mark.parametrize(("end", "state"), [("exit 3", "Failed"), ("sleep 60", "Canceled")])
def test_interactive_children_of_a_job_end_as_it_did(slipway, end, state):
    run = slipway.submit(f"{until('go')}; {end}")
    slipway.wait_for(run, "Running")
    (child,) = children(slipway, run)
    (slipway.attempt_folder(run) / "work" / "go").touch()
    if state == "Canceled":
        slipway.cli("run", "cancel", run)
    assert slipway.wait(run)["state"] == state
    assert slipway.run(child)["state"] == state


def test_a_family_has_a_deepest_level_and_a_parent_in_the_same_workspace(slipway):
    run = begin(slipway)
    for _ in range(32):
        (run,) = children(slipway, run)
    answer = slipway.http("POST", f"{W}/runs/{run}/children", {"children": [{}]})
    assert answer.status == 400 and "deep" in answer.error["message"]
    slipway.api("POST", "/api/v1/workspaces", {"name": "elsewhere"})
    foreign = slipway.http("POST", f"/api/v1/workspaces/elsewhere/runs/{run}/children", {"children": [{}]})
    assert foreign.status == 404


@pytest.mark.parametrize("body", [{}, {"children": []}, {"children": [3]}, {"children": [{"a": 1}]}])
def test_children_that_make_no_sense_are_refused_as_a_whole(slipway, body):
    parent = begin(slipway)
    if body.get("children"):
        body = {"children": [{}, *body["children"]]}
    assert slipway.http("POST", f"{W}/runs/{parent}/children", body).status == 400
    assert listed(slipway, parent) == []


def test_properties_are_set_once_and_tags_come_and_go(slipway):
    run = begin(slipway, tags={"a": "1"}, properties={"p": "1"})
    path = f"{W}/runs/{run}"
    changed = slipway.api(
        "PATCH",
        path,
        {"tags": {"a": "2", "b": "3"}, "properties": {"q": "2", "p": "1"}, "description": "two\nlines"},
    )
    assert changed["tags"] == {"a": "2", "b": "3"} and changed["properties"] == {"p": "1", "q": "2"}
    assert changed["description"] == "two\nlines"
    refused = slipway.http("PATCH", path, {"tags": {"c": "1"}, "properties": {"p": "other"}})
    assert refused.status == 409 and "'p'" in refused.error["message"]
    assert slipway.api("PATCH", path, {"tags": {"a": None, "b": None}, "display_name": "n"})["tags"] == {}
    assert slipway.run(run)["display_name"] == "n"
    found = slipway.items(f"{W}/runs", properties=json.dumps({"q": "2"}))
    assert [item["id"] for item in found] == [run]


def test_a_family_is_deleted_as_a_whole_and_only_when_asked_to(slipway):
    parent = begin(slipway)
    (child,) = children(slipway, parent)
    slipway.api("POST", f"{W}/runs/{parent}/complete")
    alone = slipway.cli("run", "delete", parent, "--yes", check=False)
    assert alone.returncode != 0 and "--recursive" in alone.stderr
    still_open = slipway.cli("run", "delete", parent, "--yes", "--recursive", check=False)
    assert still_open.returncode != 0 and child in still_open.stderr
    slipway.api("POST", f"{W}/runs/{child}/complete")
    slipway.cli("run", "delete", parent, "--yes", "--recursive")
    assert slipway.items(f"{W}/runs") == []
