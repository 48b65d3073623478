"""Files that clients give to a run: named after their content is stored, replaced only when asked to."""

import hashlib
import json

import pytest
from support.jobs import WITH_TOKEN
from support.server import W


def digest(content):
    return hashlib.sha256(content).hexdigest()


def put(slipway, content, workspace="default"):
    path = f"/api/v1/workspaces/{workspace}/blobs/{digest(content)}"
    answer = slipway.http("PUT", path, content, headers={"Content-Type": "application/octet-stream"})
    assert answer.status == 201
    return digest(content)


def file(path, content, **more):
    return {"path": path, "digest": digest(content), "size": len(content), **more}


def add(slipway, run, *files, **more):
    return slipway.http("POST", f"{W}/runs/{run}/files", {"files": list(files), **more})


@pytest.fixture
def run(slipway):
    return slipway.api("POST", f"{W}/interactive-runs", {})["id"]


def test_a_client_adds_files_also_to_a_run_that_has_ended(slipway, run):
    for content in (b"one", b"two"):
        put(slipway, content)
    assert (
        add(slipway, run, file("outputs/a.txt", b"one"), file("notes/b.txt", b"two", mode=0o755)).status
        == 200
    )
    slipway.api("POST", f"{W}/runs/{run}/complete")
    assert add(slipway, run, file("late.txt", b"one")).status == 200
    assert set(slipway.files(run)) == {"outputs/a.txt", "notes/b.txt", "late.txt"}
    assert slipway.file(run, "late.txt") == b"one"
    assert [item["path"] for item in slipway.items(f"{W}/runs/{run}/files", prefix="outputs/")] == [
        "outputs/a.txt"
    ]
    job = slipway.submit("true")
    slipway.completed(job)
    assert add(slipway, job, file("report.txt", b"two")).status == 200
    assert slipway.file(job, "report.txt") == b"two"


def test_another_content_under_the_same_name_is_refused_unless_it_is_to_replace(slipway, run):
    put(slipway, b"first")
    put(slipway, b"second")
    assert add(slipway, run, file("a", b"first")).status == 200
    assert add(slipway, run, file("a", b"first")).status == 200
    refused = add(slipway, run, file("new", b"first"), file("a", b"second"))
    assert refused.status == 409 and "'a'" in refused.error["message"]
    assert set(slipway.files(run)) == {"a"} and slipway.file(run, "a") == b"first"
    assert add(slipway, run, file("a", b"second"), replace=True).status == 200
    assert slipway.file(run, "a") == b"second"
    # Nothing needs the first content any more.
    missing = slipway.api("POST", f"{W}/blobs/missing", {"digests": [digest(b"first"), digest(b"second")]})
    assert [item["digest"] for item in missing["missing"]] == [digest(b"first")]


def test_content_that_is_not_there_is_refused(slipway, run):
    slipway.api("POST", "/api/v1/workspaces", {"name": "elsewhere"})
    put(slipway, b"theirs", "elsewhere")
    put(slipway, b"ours")
    for files in ([file("a", b"never sent")], [file("ok", b"ours"), file("a", b"theirs")]):
        answer = add(slipway, run, *files)
        assert answer.status == 409 and "not been uploaded" in answer.error["message"]
    assert add(slipway, run, {**file("a", b"ours"), "size": 3}).status == 400
    assert slipway.files(run) == {}


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../b", "a//b", "a\\b", "./a", "x" * 300])
def test_names_that_are_no_clean_paths_are_refused(slipway, run, path):
    put(slipway, b"x")
    assert add(slipway, run, file(path, b"x")).status == 400
    assert slipway.files(run) == {}


def test_a_job_gives_files_to_its_own_run_and_to_its_children_and_to_no_other(slipway, run):
    script = f"""
import hashlib
content = b"made here"
name = hashlib.sha256(content).hexdigest()
request = urllib.request.Request(os.environ["SLIPWAY_URL"] + "/api/v1/workspaces/default/blobs/" + name, method="PUT",
    data=content, headers={{"Authorization": "Bearer " + os.environ["SLIPWAY_TOKEN"],
                            "Content-Type": "application/octet-stream"}})
urllib.request.urlopen(request, timeout=60)
files = {{"files": [{{"path": "made.txt", "digest": name, "size": len(content)}}]}}
print(json.dumps([call("POST", "/runs/" + me + "/files", files), call("POST", "/runs/{run}/files", files)]))
"""
    job = slipway.submit("python3", "-c", WITH_TOKEN + script)
    slipway.completed(job)
    assert json.loads(slipway.log(job)) == [200, 404]
    assert slipway.file(job, "made.txt") == b"made here" and slipway.files(run) == {}


def test_a_log_is_read_from_an_offset_again_and_again(slipway):
    run = slipway.submit("printf 0123456789")
    slipway.completed(run)
    path = f"{W}/runs/{run}/logs/content"
    for offset, rest in ((0, b"0123456789"), (4, b"456789"), (10, b""), (99, b"")):
        answer = slipway.http("GET", path, query={"offset": offset})
        assert answer.status == 200 and answer.body == rest and answer.headers["x-slipway-offset"] == "10"
    assert slipway.http("GET", path, query={"offset": -1}).status == 400
    (log,) = slipway.items(f"{W}/runs/{run}/logs")
    assert log["name"] == "std_log.txt" and log["size"] == 10
