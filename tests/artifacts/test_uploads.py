"""Blobs over HTTP: never visible unless whole and true (fault 39), resumable, packed, read by range."""

import hashlib
import os
import socket
import struct
import threading
from urllib.parse import urlsplit

from support.http import request
from support.processes import wait_until
from support.server import W


def digest(content):
    return hashlib.sha256(content).hexdigest()


def put(slipway, content, name=None, offset=0, **kwargs):
    path = f"{W}/blobs/{name or digest(content)}?offset={offset}"
    return slipway.http("PUT", path, content, headers={"Content-Type": "application/octet-stream"}, **kwargs)


def missing(slipway, *digests):
    answer = slipway.api("POST", f"{W}/blobs/missing", {"digests": list(digests)})
    return {item["digest"]: item["offset"] for item in answer["missing"]}


def blob_file(slipway, name):
    return slipway.home / "blobs" / name[:2] / name[2:]


def test_upload_makes_a_blob_that_is_no_longer_missing(slipway):
    content = os.urandom(1 << 20)
    assert missing(slipway, digest(content)) == {digest(content): 0}
    answer = put(slipway, content)
    assert answer.status == 201 and answer.json() == {"digest": digest(content), "size": len(content)}
    assert missing(slipway, digest(content)) == {}
    assert blob_file(slipway, digest(content)).read_bytes() == content


def test_empty_blob_is_a_blob(slipway):
    assert put(slipway, b"").status == 201
    assert missing(slipway, digest(b"")) == {}


def test_wrong_digest_is_refused_and_never_visible(slipway):
    name = digest(b"what was promised")
    assert put(slipway, b"something else", name).status == 400
    assert name in missing(slipway, name)
    assert not blob_file(slipway, name).exists()
    assert put(slipway, b"what was promised", name).status == 201


def test_names_that_are_no_digest_are_refused(slipway):
    for name in [
        "..%2f..%2fetc%2fpasswd",
        "abc",
        "Z" * 64,
        digest(b"x").upper(),
        "%00" * 32,
        "a" * 63,
        "a" * 65,
    ]:
        assert put(slipway, b"x", name).status in {400, 404}, name


def test_cut_upload_is_never_visible_and_goes_on_where_it_stopped(slipway):
    content = os.urandom(4 << 20)
    name = digest(content)
    parts = urlsplit(slipway.url)
    with socket.create_connection((parts.hostname, parts.port)) as raw:
        head = (
            f"PUT {W}/blobs/{name}?offset=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {slipway.token}\r\n"
            f"Content-Type: application/octet-stream\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        raw.sendall(head.encode() + content[: 3 << 20])
    held = wait_until(
        lambda: missing(slipway, name).get(name) is not None and [missing(slipway, name)[name]], 5
    )[0]
    assert not blob_file(slipway, name).exists()

    def resumed():
        offset = missing(slipway, name)[name]
        return put(slipway, content[offset:], name, offset).status == 201

    assert held <= 3 << 20
    wait_until(resumed, 10, "the upload could not be resumed")
    assert blob_file(slipway, name).read_bytes() == content


def test_wrong_offset_is_a_conflict_that_names_the_right_one(slipway):
    content = b"0123456789"
    answer = put(slipway, content[5:], digest(content), 5)
    assert answer.status == 409
    assert "0" in answer.error["message"] + answer.error["next"]


def test_short_upload_is_not_accepted(slipway):
    content = os.urandom(1000)
    answer = put(slipway, content[:500], digest(content))
    assert answer.status in {400, 409}
    assert digest(content) in missing(slipway, digest(content))


def frame(content):
    return hashlib.sha256(content).digest() + struct.pack("<Q", len(content)) + content


def test_small_blobs_travel_packed(slipway):
    contents = [os.urandom(i * 37 % 5000) for i in range(200)]
    answer = slipway.http(
        "POST",
        f"{W}/blobs/pack",
        b"".join(map(frame, contents)),
        headers={"Content-Type": "application/octet-stream"},
    )
    assert answer.status == 200 and answer.json()["stored"] >= len(set(contents))
    assert missing(slipway, *map(digest, contents)) == {}


def test_pack_with_a_lie_or_a_cut_frame_stores_only_what_is_true(slipway):
    lie = hashlib.sha256(b"other").digest() + struct.pack("<Q", 4) + b"this"
    headers = {"Content-Type": "application/octet-stream"}
    assert slipway.http("POST", f"{W}/blobs/pack", frame(b"good") + lie, headers=headers).status == 400
    assert slipway.http("POST", f"{W}/blobs/pack", frame(b"cut")[:-1], headers=headers).status == 400
    huge = hashlib.sha256(b"x").digest() + struct.pack("<Q", 1 << 62) + b"x"
    assert slipway.http("POST", f"{W}/blobs/pack", huge, headers=headers).status in {400, 413}
    assert set(missing(slipway, digest(b"other"), digest(b"cut"), digest(b"x"))) == set(
        map(digest, (b"other", b"cut", b"x"))
    )


def test_same_blob_from_many_at_once_ends_whole(slipway):
    content = os.urandom(2 << 20)
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.append(put(slipway, content).status)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {200, 201, 409} and {200, 201} & set(statuses)
    assert blob_file(slipway, digest(content)).read_bytes() == content


def test_manifest_is_refused_while_something_it_names_is_missing(slipway):
    content = b"print('hi')\n"
    manifest = {
        "version": 1,
        "files": [{"path": "a.py", "mode": 0o644, "size": len(content), "digest": digest(content)}],
    }
    answer = slipway.http("POST", f"{W}/snapshots", manifest)
    assert answer.status == 409 and digest(content) in answer.error["message"] + answer.error["next"]
    put(slipway, content)
    made = slipway.http("POST", f"{W}/snapshots", manifest)
    assert made.status == 201 and made.json()["files"] == 1
    snapshot = made.json()["snapshot"]
    run = slipway.submit("python3", "a.py", snapshot=snapshot)
    slipway.completed(run)
    assert slipway.log(run) == b"hi\n"


def test_manifest_with_hostile_paths_is_refused(slipway):
    put(slipway, b"x")
    for path in ["../x", "/etc/x", "a/../../x", "", ".", "a//b", "a\\b", "a\x00b", "a/./b", "x" * 300]:
        manifest = {"version": 1, "files": [{"path": path, "mode": 0o644, "size": 1, "digest": digest(b"x")}]}
        assert slipway.http("POST", f"{W}/snapshots", manifest).status == 400, path


def test_snapshot_blob_is_read_by_range(slipway):
    content = b"0123456789" * 1000
    put(slipway, content)
    manifest = {
        "version": 1,
        "files": [{"path": "a", "mode": 0o644, "size": len(content), "digest": digest(content)}],
    }
    snapshot = slipway.api("POST", f"{W}/snapshots", manifest)["snapshot"]
    path = f"{W}/snapshots/{snapshot}/blobs/{digest(content)}"
    assert slipway.http("GET", path).body == content
    part = slipway.http("GET", path, headers={"Range": "bytes=5-14"})
    assert (part.status, part.body) == (206, content[5:15])
    other = f"{W}/snapshots/{snapshot}/blobs/{digest(b'x')}"
    assert slipway.http("GET", other).status == 404


def test_blob_of_another_workspace_cannot_be_claimed_by_its_digest_alone(slipway):
    slipway.api("POST", "/api/v1/workspaces", {"name": "theirs"})
    token = slipway.api(
        "POST", "/api/v1/tokens", {"name": "t", "role": "contributor", "workspace": "theirs"}
    )["token"]
    secret = os.urandom(100)
    put(slipway, secret)
    manifest = {"version": 1, "files": [{"path": "a", "mode": 0o644, "size": 100, "digest": digest(secret)}]}
    answer = request(slipway.url, "POST", "/api/v1/workspaces/theirs/snapshots", manifest, token=token)
    if answer.status == 201:
        path = f"/api/v1/workspaces/theirs/snapshots/{answer.json()['snapshot']}/blobs/{digest(secret)}"
        assert request(slipway.url, "GET", path, token=token).status == 404, (
            "a digest was enough to read foreign bytes"
        )
