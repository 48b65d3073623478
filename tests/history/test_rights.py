"""What a job's token opens: its own run, the runs below it, and nothing else (docs/history.md)."""

import json
import re
import subprocess

import pytest
from support.processes import wait_until
from support.server import RELEASE, W

# Reading and writing one run, and bringing content in; everything else is closed to a job.
WITHOUT_RUN = {
    ("POST", "/blobs/missing"),
    ("PUT", "/blobs/{digest}"),
    ("POST", "/blobs/pack"),
    ("POST", "/snapshots"),
    ("GET", "/snapshots/{snapshot}"),
    ("POST", "/snapshots/{snapshot}/pack"),
    ("GET", "/snapshots/{snapshot}/blobs/{digest}"),
}
NOT_OF_ITS_RUN = {"DELETE /runs/{run}", "POST /runs/{run}/rerun"}


@pytest.fixture
def job(slipway):
    """A job that goes on, its token, a run below it, and a stranger of its own workspace."""
    stranger = slipway.api("POST", f"{W}/interactive-runs", {})["id"]
    run = slipway.submit("echo $SLIPWAY_TOKEN; exec sleep 60")
    token = wait_until(lambda: slipway.log(run).decode().strip(), 15, "the job did not say its token")
    body = {"children": [{}]}
    child = slipway.api("POST", f"{W}/runs/{run}/children", body, token=token)["items"][0]["id"]
    return {"run": run, "token": token, "child": child, "stranger": stranger}


def routes():
    listed = json.loads(subprocess.run([RELEASE, "routes", "--json"], capture_output=True, text=True).stdout)
    listed = listed["items"] if isinstance(listed, dict) else listed
    return [(route["method"], route["pattern"], route["access"]) for route in listed]


def status(slipway, job, method, pattern, run):
    fill = {"workspace": "default", "run": run, "digest": "0" * 64, "snapshot": "0" * 64}
    path = re.sub(r"\{(\w+)(\.\.\.)?\}", lambda m: fill.get(m.group(1), "1"), pattern)
    return slipway.http(method, path, None if method == "GET" else b"{", token=job["token"]).status


def test_no_route_opens_a_run_that_is_not_the_jobs_own(slipway, job):
    for method, pattern, access in routes():
        if access == "public" or "stream" in pattern:
            continue
        short = pattern.replace("/api/v1/workspaces/{workspace}", "")
        answer = status(slipway, job, method, pattern, job["stranger"])
        if (method, short) in WITHOUT_RUN:
            assert answer in {400, 404}, (method, pattern, answer)  # let in, and wrong
        else:
            assert answer in {403, 404}, (method, pattern, answer)
    assert slipway.run(job["stranger"])["state"] == "Running"


def test_every_route_of_a_run_opens_for_its_own_and_for_those_below(slipway, job):
    of_a_run = [(m, p) for m, p, access in routes() if "/runs/{run}" in p and access in {"reader", "run"}]
    assert len(of_a_run) > 15
    for method, pattern in of_a_run:
        if "stream" in pattern or "{" in pattern.replace("{workspace}", "").replace("{run}", ""):
            continue
        if pattern.endswith(("/cancel", "/complete")):
            continue  # they need no body, and would do it
        for run in (job["run"], job["child"]):
            assert status(slipway, job, method, pattern, run) in {200, 400, 404}, (method, pattern, run)
    closed = [(m, p) for m, p, access in routes() if f"{m} {p.partition('{workspace}')[2]}" in NOT_OF_ITS_RUN]
    assert len(closed) == 2
    for method, pattern in closed:
        assert status(slipway, job, method, pattern, job["child"]) == 403


def test_a_job_writes_below_itself_and_reads_it_back(slipway, job):
    def call(method, path, body=None):
        return slipway.api(method, f"{W}/runs/{path}", body, token=job["token"])

    for run in (job["run"], job["child"]):
        call("PATCH", run, {"tags": {"a": "b"}, "properties": {"p": "q"}, "display_name": "n"})
        call("POST", f"{run}/metrics", {"points": [{"name": "m", "value": 1}]})
        assert call("GET", run)["tags"] == {"a": "b"}
        assert call("GET", f"{run}/metrics")["items"][0]["count"] == 1
        assert call("GET", f"{run}/files")["items"] == []
    assert [item["id"] for item in call("GET", f"{job['run']}/children")["items"]] == [job["child"]]
    assert call("POST", f"{job['child']}/complete")["state"] == "Completed"
    assert call("POST", f"{job['run']}/cancel")["state"] == "CancelRequested"
    assert slipway.wait(job["run"])["state"] == "Canceled"


def test_names_that_are_not_exact_open_nothing(slipway, job):
    for name in ("latest", job["child"][:-1], job["run"][:-1], job["run"].upper()):
        assert slipway.http("GET", f"{W}/runs/{name}", token=job["token"]).status == 404


def test_a_jobs_child_is_of_its_own_family_whatever_the_body_says(slipway, job):
    for body in ({"command": ["true"], "parent": job["stranger"]}, {"command": ["true"], "rerun_of": "x"}):
        answer = slipway.http("POST", f"{W}/runs/{job['run']}/children/jobs", body, token=job["token"])
        assert answer.status == 400
    assert slipway.http("POST", f"{W}/runs", {"command": ["true"]}, token=job["token"]).status == 403
    assert slipway.http("POST", f"{W}/interactive-runs", {}, token=job["token"]).status == 403


def test_the_token_of_an_ended_job_opens_nothing_below_it(slipway, job):
    slipway.cli("run", "cancel", job["run"], "--wait")
    assert slipway.run(job["child"])["state"] == "Canceled"
    for run in (job["run"], job["child"]):
        assert slipway.http("GET", f"{W}/runs/{run}", token=job["token"]).status == 401
