"""Submitting twice (faults 2 and 3)."""

import concurrent.futures

from support.http import request
from support.proxy import FaultProxy
from support.server import W

JOB = {"command": ["/bin/true"], "experiment": "once"}


def submit(slipway, key, job=JOB, **kwargs):
    return slipway.http("POST", f"{W}/runs", job, headers={"Idempotency-Key": key}, **kwargs)


def test_same_key_gives_the_same_run(slipway):
    first, second = submit(slipway, "k"), submit(slipway, "k")
    assert (first.status, second.status) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    assert len(slipway.items(f"{W}/runs")) == 1
    slipway.wait(first.json()["id"])


def test_same_key_with_another_body_is_a_conflict(slipway):
    submit(slipway, "k")
    answer = submit(slipway, "k", {**JOB, "command": ["/bin/false"]})
    assert answer.status == 409 and answer.error["code"] == "conflict"
    assert len(slipway.items(f"{W}/runs")) == 1


def test_sixteen_at_once_with_one_key_make_one_run(slipway):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: submit(slipway, "same"), range(48)))
    assert {answer.status for answer in answers} <= {200, 201}
    assert [answer.status for answer in answers].count(201) == 1
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_answer_lost_after_the_commit_is_found_again_by_the_key(slipway):
    with FaultProxy(slipway.url) as proxy:
        proxy.set("lose-answers")
        try:
            request(
                proxy.url, "POST", f"{W}/runs", JOB, token=slipway.token, headers={"Idempotency-Key": "lost"}
            )
            raise AssertionError("the answer was to be lost")
        except OSError:
            pass
        assert proxy.lost
    runs = slipway.items(f"{W}/runs")
    assert len(runs) == 1
    assert submit(slipway, "lost").json()["id"] == runs[0]["id"]


def test_key_outlives_a_killed_server(slipway):
    first = submit(slipway, "k").json()["id"]
    slipway.kill_server()
    slipway.again()
    assert submit(slipway, "k").json()["id"] == first


def test_creates_of_clusters_workspaces_and_tokens_take_keys_too(slipway):
    creates = [
        (f"{W}/compute", {"name": "c1", "min_nodes": 0, "max_nodes": 1, "cpus": 1}),
        ("/api/v1/workspaces", {"name": "other"}),
    ]
    for path, body in creates:
        headers = {"Idempotency-Key": "key-" + path}
        first = slipway.http("POST", path, body, headers=headers)
        second = slipway.http("POST", path, body, headers=headers)
        assert (first.status, second.status) in {(201, 200), (201, 201)}, (path, first, second)
        assert second.json()["name"] == body["name"]
