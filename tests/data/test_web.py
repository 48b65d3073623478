"""Datasets of addresses, from a real web server."""

import pytest
from support.nginx import Nginx
from support.server import W
from support.web_server import WebServer


@pytest.fixture
def site(slipway):
    with Nginx(slipway.folder / "site") as server:
        server.put("mnist/train-images-idx3-ubyte.gz", "images")
        server.put("mnist/train-labels-idx1-ubyte.gz", "labels")
        yield server


def files(slipway, dataset):
    return {file["path"]: file for file in slipway.cli_json("data", "files", dataset)["items"]}


def test_one_address_is_one_file_and_several_nest_by_host_and_path(slipway, site):
    images = f"{site.url}/mnist/train-images-idx3-ubyte.gz"
    labels = f"{site.url}/mnist/train-labels-idx1-ubyte.gz"
    slipway.cli("data", "create", "one", images)
    (one,) = files(slipway, "one").values()
    assert one["path"] == "train-images-idx3-ubyte.gz" and one["size"] == 6 and one["tag"].startswith('"')
    slipway.cli("data", "create", "mnist", images, labels)
    below = f"127.0.0.1_{site.port}/mnist/"
    assert list(files(slipway, "mnist")) == [
        below + "train-images-idx3-ubyte.gz",
        below + "train-labels-idx1-ubyte.gz",
    ]


def test_a_changed_entity_tag_is_a_new_version(slipway, site):
    address = site.put("a.bin", "first")
    assert slipway.cli_json("data", "create", "a", address)["version"] == 1
    assert slipway.cli_json("data", "create", "a", address)["existed"]
    site.put("a.bin", "second, and longer")
    assert slipway.cli_json("data", "create", "a", address)["version"] == 2


@pytest.mark.parametrize(
    "path, code, words",
    [
        ("none.bin", 5, "there is no file"),
        ("forbidden/x", 2, "may not be read: its server answers 403"),
        ("broken/x", 12, "its server answers 500"),
        ("to-file", 2, "another scheme than http and https"),
        ("to-ftp", 2, "another scheme than http and https"),
        ("to-loop", 2, "redirected more than 5 times"),
        ("to-metadata", 2, "link-local"),
    ],
)
def test_what_a_server_refuses_is_said(slipway, site, path, code, words):
    answer = slipway.cli("data", "create", "bad", f"{site.url}/{path}?sig=hunter2", check=False)
    assert answer.returncode == code, answer.stderr
    assert words in answer.stderr
    assert "hunter2" not in answer.stderr and "hunter2" not in (slipway.home / "server.log").read_text()


def test_redirects_to_web_servers_are_followed(slipway, site):
    slipway.cli("data", "create", "moved", f"{site.url}/moved/mnist/train-images-idx3-ubyte.gz")
    (file,) = files(slipway, "moved").values()
    assert file["size"] == 6 and file["path"] == "train-images-idx3-ubyte.gz"


def test_nobody_answers(slipway):
    answer = slipway.cli("data", "create", "bad", "http://127.0.0.1:9/x", check=False)
    assert answer.returncode == 12 and "http://127.0.0.1:9/x cannot be reached" in answer.stderr


def test_500_then_good_is_tried_again_and_a_file_without_a_tag_is_read_through(slipway):
    with WebServer() as server:
        address = server.put("a.bin", b"content", tag="", fail=2)
        slipway.cli("data", "create", "a", address)
        (file,) = files(slipway, "a").values()
        assert file["size"] == 7 and file["digest"]


def test_files_of_an_http_datastore_keep_their_paths(slipway, site):
    slipway.cli("datastore", "add", "web", "--url", f"{site.url}/mnist")
    site.put("mnist/odd name #1.bin", "odd")
    slipway.cli("data", "create", "odd", "web:odd name #1.bin")
    (file,) = files(slipway, "odd").values()
    assert file["path"] == "odd name #1.bin" and file["source"] == "web"
    content = slipway.http("GET", f"{W}/data/odd/content", query={"path": "odd name #1.bin"})
    assert content.body == b"odd"
    listed = slipway.cli("data", "create", "bad", "web:*.gz", check=False)
    assert listed.returncode == 9 and "cannot be asked which files it has" in listed.stderr


def test_a_large_file_of_a_web_server_is_read_through_slipway(slipway, site):
    body = bytes(range(256)) * (160 << 10)  # 40 MiB
    slipway.cli("data", "create", "large", site.put("large.bin", body))
    path = f"{W}/data/large/content"
    whole = slipway.http("GET", path, query={"path": "large.bin"})
    assert whole.status == 200 and whole.body == body
    part = slipway.http("GET", path, query={"path": "large.bin"}, headers={"Range": "bytes=255-258"})
    assert (part.status, part.body) == (206, body[255:259])
    assert slipway.http("GET", path, query={"path": "none"}).status == 404
