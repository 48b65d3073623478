"""The source folder: what is taken, what is left, and what happens while it changes (faults 42 and 43)."""

import json
import os
import socket
import subprocess
import threading

from support.server import W


def submit(slipway, folder, *command, check=True):
    return slipway.cli("submit", "--source", folder, "--json", "--", *(command or ("true",)), check=check)


def submitted(slipway, folder, *command):
    return json.loads(submit(slipway, folder, *command).stdout)["id"]


def manifest(slipway, run):
    snapshot = slipway.run(run)["job"]["snapshot"]
    return {item["path"]: item for item in slipway.api("GET", f"{W}/snapshots/{snapshot}")["files"]}


def make(folder, names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def test_files_arrive_with_their_content_and_mode(slipway, tmp_path):
    make(tmp_path, ["a.txt", "sub/deep/b.txt"])
    tool = tmp_path / "tool.sh"
    tool.write_text("#!/bin/sh\ncat a.txt sub/deep/b.txt\n")
    tool.chmod(0o755)
    run = submitted(slipway, tmp_path, "./tool.sh")
    slipway.completed(run)
    assert slipway.log(run) == b"a.txtsub/deep/b.txt"


def test_gitignore_rules_with_negation_nesting_and_anchors(slipway, tmp_path):
    make(
        tmp_path,
        [
            "keep.py",
            "a.log",
            "important.log",
            "build/x.o",
            "sub/build/y.o",
            "sub/keep.txt",
            "sub/drop.txt",
            "root.txt",
            "sub/root.txt",
        ],
    )
    (tmp_path / ".gitignore").write_text("*.log\n!important.log\n/build/\n/root.txt\n# a comment\n")
    (tmp_path / "sub" / ".gitignore").write_text("drop.txt\n")
    files = set(manifest(slipway, submitted(slipway, tmp_path)))
    assert {"keep.py", "important.log", "sub/build/y.o", "sub/keep.txt", "sub/root.txt"} <= files
    assert not files & {"a.log", "build/x.o", "sub/drop.txt", "root.txt"}


def test_slipwayignore_stands_in_for_gitignore(slipway, tmp_path):
    make(tmp_path, ["a.txt", "b.txt"])
    (tmp_path / ".gitignore").write_text("a.txt\n")
    (tmp_path / ".slipwayignore").write_text("b.txt\n")
    files = set(manifest(slipway, submitted(slipway, tmp_path)))
    assert "a.txt" in files and "b.txt" not in files


def test_amlignore_is_honoured(slipway, tmp_path):
    make(tmp_path, ["a.txt", "data/big.bin"])
    (tmp_path / ".amlignore").write_text("data/\n")
    files = set(manifest(slipway, submitted(slipway, tmp_path)))
    assert "a.txt" in files and "data/big.bin" not in files


def test_links_pipes_and_sockets_are_left_out_and_said(slipway, tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (tmp_path / "outside").write_text("secret")
    make(folder, ["real.txt"])
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(folder)
        listener.bind("sock")
        os.chdir(here)
        result = slipway.cli("submit", "--source", folder, "--", "true")
    for name in ("link", "loop", "pipe", "sock"):
        assert name in result.stderr, result.stderr
    runs = slipway.items(f"{W}/runs")
    assert set(manifest(slipway, runs[0]["id"])) == {"real.txt"}


def test_git_state_is_recorded_without_credentials(slipway, tmp_path):
    def git(*args):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    make(tmp_path, ["a.txt"])
    git("init", "-b", "trunk")
    git("add", ".")
    git("commit", "-m", "one")
    git("remote", "add", "origin", "https://user:hunter2@example.invalid/repo.git")
    clean = slipway.run(submitted(slipway, tmp_path))["job"]["git"]
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True
    ).stdout.strip()
    assert (clean["commit"], clean["branch"], clean["dirty"]) == (head, "trunk", False)
    assert "hunter2" not in str(clean) and "example.invalid/repo" in clean["remote"]
    (tmp_path / "a.txt").write_text("changed")
    run = submitted(slipway, tmp_path)
    assert slipway.run(run)["job"]["git"]["dirty"] is True
    assert not [path for path in manifest(slipway, run) if path.startswith(".git/")]


def test_unchanged_folder_of_two_thousand_files_sends_nothing(slipway, tmp_path):
    for i in range(2000):
        path = tmp_path / f"d{i % 40}" / f"f{i}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"content {i}")
    first = submitted(slipway, tmp_path)
    stored = {path: path.stat().st_ino for path in slipway.home.glob("blobs/**/*") if path.is_file()}
    assert len(stored) >= 2000
    last = submitted(slipway, tmp_path)
    assert slipway.run(first)["job"]["snapshot"] == slipway.run(last)["job"]["snapshot"]
    assert stored == {path: path.stat().st_ino for path in slipway.home.glob("blobs/**/*") if path.is_file()}
    for run in slipway.items(f"{W}/runs"):
        slipway.wait(run["id"])


def test_changed_file_is_seen_even_with_its_old_size(slipway, tmp_path):
    make(tmp_path, ["a.txt"])
    (tmp_path / "a.txt").write_text("one")
    first = submitted(slipway, tmp_path, "cat", "a.txt")
    (tmp_path / "a.txt").write_text("two")
    second = submitted(slipway, tmp_path, "cat", "a.txt")
    slipway.completed(first)
    slipway.completed(second)
    assert (slipway.log(first), slipway.log(second)) == (b"one", b"two")


def test_source_that_changes_while_it_is_read_is_whole_or_refused(slipway, tmp_path):
    path = tmp_path / "changing.bin"
    size = 8 << 20
    path.write_bytes(b"\0" * size)
    stop = threading.Event()

    def change():
        value = 0
        while not stop.is_set():
            value = (value + 1) % 256
            aside = tmp_path.parent / f"aside-{tmp_path.name}"
            aside.write_bytes(bytes([value]) * size)
            os.replace(aside, path)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3):
            result = submit(
                slipway,
                tmp_path,
                "sh",
                "-c",
                "od -An -v -tu1 -w1 changing.bin | sort -u | wc -l",
                check=False,
            )
            if result.returncode != 0:
                assert "changing.bin" in result.stderr and "chang" in result.stderr
    finally:
        stop.set()
        thread.join()
    for run in slipway.items(f"{W}/runs"):
        slipway.completed(run["id"])
        assert slipway.log(run["id"]).strip() == b"1", "a torn file was submitted"


def test_unreadable_and_missing_folders_are_said(slipway, tmp_path):
    result = submit(slipway, tmp_path / "nowhere", check=False)
    assert result.returncode != 0 and "nowhere" in result.stderr
    assert slipway.items(f"{W}/runs") == []


def test_empty_folder_and_empty_files_are_fine(slipway, tmp_path):
    slipway.completed(submitted(slipway, tmp_path, "true"))
    make(tmp_path, ["x"])
    (tmp_path / "x").write_text("")
    run = submitted(slipway, tmp_path, "sh", "-c", "test -f x && test ! -s x")
    slipway.completed(run)


def test_odd_file_names_travel(slipway, tmp_path):
    names = ["with blank.txt", "ü.txt", "-dash", "quote'.txt", "100%.txt", "a/b c/d.txt"]
    make(tmp_path, names)
    run = submitted(slipway, tmp_path, "sh", "-c", "find . -type f | sort")
    slipway.completed(run)
    listed = slipway.log(run).decode().splitlines()
    for name in names:
        assert f"./{name}" in listed
