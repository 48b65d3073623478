"""Datastores: folders, web servers, the workspace's own store."""

import os
import subprocess

import pytest
from support.nginx import Nginx
from support.server import W


@pytest.fixture
def images(slipway):
    """A folder with files, added as the datastore `images`."""
    folder = slipway.folder / "images"
    for name in ["train/1.jpg", "train/2.jpg", "train/deep/3.jpg", "labels.csv"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    slipway.cli("datastore", "add", "images", "--path", folder)
    return folder


def test_the_workspace_has_its_own_stores_from_the_beginning(slipway):
    stores = {store["name"]: store for store in slipway.cli_json("datastore", "list")["items"]}
    assert set(stores) == {"workspaceblobstore", "workspacefilestore"}
    assert stores["workspaceblobstore"]["default"]
    refused = slipway.cli("datastore", "remove", "workspaceblobstore", check=False)
    assert refused.returncode == 6 and "stays" in refused.stderr


def test_a_folder_is_added_listed_chosen_and_removed(slipway, images):
    listed = slipway.cli_json("datastore", "ls", "images", "train")["items"]
    assert [file["path"] for file in listed] == ["train/1.jpg", "train/2.jpg", "train/deep/3.jpg"]
    assert slipway.cli_json("datastore", "set-default", "images")["default"]
    refused = slipway.cli("datastore", "remove", "images", check=False)
    assert refused.returncode == 6 and "set-default" in refused.stderr
    slipway.cli("datastore", "set-default", "workspaceblobstore")
    slipway.cli("datastore", "remove", "images")
    assert (images / "labels.csv").exists()
    gone = slipway.cli("datastore", "show", "images", check=False)
    assert gone.returncode == 5 and "workspaceblobstore" in gone.stderr


def test_bad_datastores_are_refused_with_a_sentence(slipway, images):
    for arguments, code, words in [
        (["add", "images", "--path", str(images)], 6, "already"),
        (["add", "x", "--path", str(slipway.folder / "none")], 2, "cannot use the folder"),
        (["add", "x"], 2, "a folder or at an address"),
        (["add", "x", "--url", "ftp://host/"], 2, "only http and https"),
        (["add", "x", "--url", "http://user:hunter2@host/"], 2, "user or a password"),
        (["add", "default", "--path", str(images)], 6, "Slipway's own"),
        (["add", "a:b", "--path", str(images)], 2, "datastore"),
        (["ls", "images", "../etc"], 2, "no path below a datastore"),
    ]:
        answer = slipway.cli("datastore", *arguments, check=False)
        assert answer.returncode == code, (arguments, answer.stderr)
        assert words in answer.stderr and "hunter2" not in answer.stderr


def test_upload_ls_and_download_bring_the_same_files_back(slipway):
    source = slipway.folder / "source"
    for name, content in {"a.txt": "A", "deep/b.bin": "B" * 100_000}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(content)
    done = slipway.cli_json("datastore", "upload", "default", source, "mine")
    assert (done["datastore"], done["path"], done["files"]) == ("workspaceblobstore", "mine", 2)
    again = slipway.cli_json("datastore", "upload", "default", source, "mine")
    assert again["sent_bytes"] == 0 and again["skipped"] == []
    (source / "a.txt").write_text("other")
    assert slipway.cli_json("datastore", "upload", "default", source, "mine")["skipped"] == ["mine/a.txt"]
    target = slipway.folder / "target"
    slipway.cli("datastore", "download", "default", "mine", target)
    assert (target / "mine/a.txt").read_text() == "A"
    slipway.cli("datastore", "upload", "default", source, "mine", "--overwrite")
    slipway.cli("datastore", "download", "default", "mine", target)
    assert (target / "mine/a.txt").read_text() == "other"
    assert (target / "mine/deep/b.bin").read_text() == "B" * 100_000
    slipway.cli("datastore", "rm", "default", "mine/a.txt")
    listed = slipway.cli_json("datastore", "ls", "default")["items"]
    assert [file["path"] for file in listed] == ["mine/deep/b.bin"]


def test_content_takes_ranges_and_never_leaves_the_folder(slipway, images):
    path = f"{W}/datastores/images/content"
    assert slipway.http("GET", path, query={"path": "train/1.jpg"}).body == b"train/1.jpg"
    part = slipway.http("GET", path, query={"path": "train/1.jpg"}, headers={"Range": "bytes=0-4"})
    assert (part.status, part.body) == (206, b"train")
    (images / "leaves").symlink_to("/etc/passwd")
    (images / "loop").symlink_to("loop")
    for name, status in [
        ("leaves", 400),
        ("loop", 400),
        ("../x", 400),
        ("%2e%2e/x", 404),
        ("/etc/passwd", 400),
    ]:
        answer = slipway.http("GET", path, query={"path": name})
        assert answer.status == status, (name, answer.body)
        assert b"root:" not in answer.body
    refused = {file["path"]: file["refused"] for file in slipway.items(f"{W}/datastores/images/files")}
    assert "leaves the datastore" in refused["leaves"] and "loop" in refused["loop"]


def test_a_written_file_is_whole_or_not_there(slipway, images):
    path = f"{W}/datastores/images/content"
    body = b"z" * 200_000
    assert slipway.http("PUT", path, body, query={"path": "new/file"}).status == 201
    assert (images / "new/file").read_bytes() == body
    assert slipway.http("PUT", path, b"x", query={"path": "new/file"}).status == 409
    assert slipway.http("PUT", path, b"x", query={"path": "new/file", "overwrite": "true"}).status == 201
    assert (images / "new/file").read_bytes() == b"x"
    assert slipway.http("PUT", path, b"x", query={"path": "../out"}).status == 400
    assert not (slipway.folder / "out").exists()


def test_credentials_are_used_and_shown_to_nobody(slipway):
    root = slipway.folder / "site"
    secret = "hunter2-in-the-clear"
    with Nginx(root, authorization=f"Bearer {secret}") as site:
        site.put("a.bin", "behind a door")
        slipway.cli("datastore", "add", "open", "--url", f"{site.url}/private")
        closed = slipway.cli("data", "create", "d", "open:a.bin", check=False)
        assert closed.returncode == 2 and "may not be read: its server answers 401" in closed.stderr
        (slipway.folder / "credentials").write_text(f"bearer {secret}\n")
        for name, how in [
            ("by-file", ["--credentials-file", slipway.folder / "credentials"]),
            ("by-env", ["--credentials-env", "DOOR"]),
        ]:
            slipway.cli(
                "datastore",
                "add",
                name,
                "--url",
                f"{site.url}/private",
                *how,
                env={"DOOR": f"bearer {secret}"},
            )
            assert slipway.cli_json("data", "create", name, f"{name}:a.bin")["files"] == 1
        shown = "".join(
            slipway.cli(*arguments).stdout
            for arguments in [
                ["datastore", "list"],
                ["--json", "datastore", "list"],
                ["--json", "datastore", "show", "by-file"],
                ["datastore", "show", "by-env"],
                ["--json", "data", "show", "by-env"],
                ["--json", "data", "files", "by-env"],
            ]
        )
        assert "not shown" in shown and secret not in shown
        content = slipway.http("GET", f"{W}/data/by-env/content", query={"path": "a.bin"})
        assert content.body == b"behind a door"
        # Sealed on disk as well: neither the metadata nor a log holds the word.
        held = subprocess.run(["grep", "-rl", secret, str(slipway.home)], capture_output=True, text=True)
        assert held.stdout == ""
        mode = os.stat(slipway.home / "secrets.key").st_mode & 0o777
        assert mode == 0o600


def test_only_owners_add_and_remove_datastores(slipway, images):
    made = slipway.api("POST", "/api/v1/tokens", {"name": "c", "role": "contributor", "workspace": "default"})
    token = made["token"]
    body = {"name": "etc", "path": "/etc"}
    assert slipway.http("POST", f"{W}/datastores", body, token=token).status == 403
    assert slipway.http("DELETE", f"{W}/datastores/images", token=token).status == 403
    assert slipway.http("GET", f"{W}/datastores/images/files", token=token).status == 200
