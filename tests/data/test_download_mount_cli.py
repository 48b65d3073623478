"""`slipway data download` and `slipway data mount` for a person at a terminal."""

import hashlib
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.processes import wait_until

MB = 1 << 20
LARGE = b"".join(b"%015d\n" % i for i in range(20 * MB // 16))


@pytest.fixture
def mixed(slipway, web):
    """Files of a web server, of a folder and of the workspace's own store in one dataset."""
    folder = slipway.folder / "images"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("A")
    (folder / "twin.txt").write_text("A")
    slipway.cli("datastore", "add", "images", "--path", folder)
    local = slipway.folder / "local"
    local.mkdir()
    (local / "own.txt").write_text("own")
    slipway.cli("data", "create", "mixed", web.put("large.bin", LARGE), "images:**", local)
    return {"large.bin": LARGE, "a.txt": b"A", "twin.txt": b"A", "own.txt": b"own"}


def by_name(folder):
    return {path.name: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_download_brings_every_file_and_leaves_nothing_else(slipway, mixed):
    done = slipway.cli_json("data", "download", "mixed", "there")
    assert by_name(slipway.folder / "there") == mixed
    assert (done["dataset"], done["files"], done["skipped"]) == ("mixed:1", 4, 0)
    again = slipway.cli_json("data", "download", "mixed:1", "there")
    assert (again["skipped"], again["received"]) == (4, 0)


def test_download_does_not_replace_what_differs_unless_told(slipway, mixed):
    slipway.cli("data", "download", "mixed", "there")
    victim = next((slipway.folder / "there").rglob("own.txt"))
    victim.write_text("mine")
    refused = slipway.cli("data", "download", "mixed", "there", check=False)
    assert refused.returncode != 0
    assert "own.txt is there already" in refused.stderr and "--overwrite" in refused.stderr
    assert victim.read_text() == "mine"
    slipway.cli("data", "download", "mixed", "there", "--overwrite")
    assert victim.read_text() == "own"


def test_download_that_was_killed_goes_on(slipway, web):
    slipway.cli("data", "create", "d", web.put("large.bin", LARGE))
    web["large.bin"].served, web["large.bin"].rate = 0, 5 * MB
    command = [str(slipway.binary), "data", "download", "d", "there"]
    process = subprocess.Popen(
        command,
        env={**slipway.env, "SLIPWAY_HOME": str(slipway.home)},
        cwd=slipway.folder,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: web["large.bin"].served > 8 * MB, 20)
    process.kill()
    process.wait()
    web["large.bin"].rate = 0
    slipway.cli("data", "download", "d", "there")
    assert by_name(slipway.folder / "there") == {"large.bin": LARGE}
    assert web["large.bin"].served < len(LARGE) + 9 * MB


def test_download_of_changed_content_says_so(slipway, web):
    slipway.cli("data", "create", "d", web.put("a.bin", b"one"))
    web.put("a.bin", b"two", tag='"2"')
    refused = slipway.cli("data", "download", "d", "there", check=False)
    assert "the content of 'a.bin' no longer matches its version, d:1" in refused.stderr
    slipway.cli("data", "download", "d", "there", "--no-verify")
    assert by_name(slipway.folder / "there") == {"a.bin": b"two"}


def start_mount(slipway, *args, prefix=(), env=None):
    process = subprocess.Popen(
        [*prefix, str(slipway.binary), "data", "mount", *args],
        env={**slipway.env, "SLIPWAY_HOME": str(slipway.home), **(env or {})},
        cwd=slipway.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = process.stdout.readline().strip()
    assert first, process.communicate()
    return process, first


def mounted(path):
    return f" {path} " in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_mount_shows_the_files_until_it_is_ended(slipway, mixed, ending):
    process, path = start_mount(slipway, "mixed", "view")
    assert mounted(path)
    assert by_name(path) == mixed
    with pytest.raises(OSError, match="Read-only"):
        (Path(path) / "new").write_text("x")
    process.send_signal(ending)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "mixed:1 is mounted; Ctrl-C unmounts it" in said and "mixed:1 is unmounted" in said
    assert not mounted(path)


def test_mount_takes_the_place_of_one_whose_server_was_killed(slipway, mixed):
    process, path = start_mount(slipway, "mixed", "view")
    process.kill()
    process.communicate()
    process, path = start_mount(slipway, "mixed", "view")
    assert by_name(path) == mixed
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert not mounted(path)


def test_mount_refuses_a_folder_that_holds_something(slipway, mixed):
    (slipway.folder / "view").mkdir()
    (slipway.folder / "view" / "x").write_text("x")
    refused = slipway.cli("data", "mount", "mixed", "view", check=False)
    assert refused.returncode != 0 and "is not empty" in refused.stderr


def test_mount_ends_when_somebody_unmounts_it(slipway, mixed):
    process, path = start_mount(slipway, "mixed", "view")
    subprocess.run(["umount", path], check=True)
    _, said = process.communicate(timeout=60)
    assert "is unmounted" in said


def test_second_read_of_a_mount_comes_from_the_cache(slipway, web):
    slipway.cli("data", "create", "d", web.put("large.bin", LARGE))
    web["large.bin"].served = 0
    for _ in range(2):
        process, path = start_mount(slipway, "d", "view")
        file = next(Path(path).rglob("large.bin"))
        assert hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(LARGE).digest()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert web["large.bin"].served == len(LARGE)


@pytest.fixture
def users_may_mount():
    """The device as Debian has it: open to everybody."""
    device = Path("/dev/fuse")
    before = device.stat().st_mode & 0o777
    yield device
    device.chmod(before)


def test_ordinary_user_mounts_through_the_helper(slipway, mixed, users_may_mount):
    """As nobody, who may not mount: fusermount3 does it, and unmounts when the command is killed."""
    home = slipway.folder / "nobody"
    home.mkdir()
    os.chown(home, 65534, 65534)
    slipway.folder.chmod(0o755)
    env = {
        "SLIPWAY_HOME": str(home),
        "SLIPWAY_URL": slipway.url,
        "SLIPWAY_TOKEN": slipway.token,
    }
    users_may_mount.chmod(0o666)
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    process, path = start_mount(slipway, "mixed", str(home / "view"), prefix=prefix, env=env)
    seen = subprocess.run(
        [*prefix, "find", path, "-type", "f"], capture_output=True, text=True, check=True
    ).stdout
    assert len(seen.split()) == 4
    process.kill()
    process.communicate()
    wait_until(lambda: not mounted(path), 10, "the helper did not unmount")
