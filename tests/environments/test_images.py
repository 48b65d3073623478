"""Environments that are images: fetched or built by Podman, run like every other job."""

import shutil
from pathlib import Path

import pytest
from environments.conftest import tools_folder
from support import processes
from support.images import Registry

BUILD_LOG = "system_logs/environment.txt"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("registry"))
    registry.image = registry.publish("small")
    yield registry
    registry.stop()


@pytest.fixture
def imaging(stopped, registry, index, tmp_path):
    stopped.env["PATH"] = f"{tools_folder(tmp_path, 'uv')}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    stopped.env["UV_DEFAULT_INDEX"] = index.url
    stopped.env.update(registry.env)
    stopped.up()
    return stopped


def create(slipway, name, *args):
    return slipway.cli_json("env", "create", name, *args)["reference"]


def test_a_job_in_an_image(imaging, registry):
    name = create(imaging, "small", "--image", registry.image, "--shm-size", "7m", "--var", "MINE=too")
    script = (
        "import os, slipway\n"
        "print(os.path.exists('/bin/busybox'), os.path.exists('/usr/share/doc'), os.environ['FROM_IMAGE'])\n"
        "print(os.environ['MINE'], os.statvfs('/dev/shm').f_blocks * os.statvfs('/dev/shm').f_frsize)\n"
        "open('/etc/changed', 'w').write('x'); open('outputs/result.txt', 'w').write('kept')\n"
        "slipway.log({'loss': 0.5})\n"
        "raise SystemExit(7)\n"
    )
    run = imaging.submit("python", "-c", script, environment=name)
    ended = imaging.wait(run, 120)
    assert imaging.log(run).decode().split() == ["True", "False", "yes", "too", str(7 << 20)], imaging.log(
        run
    )
    assert ended["state"] == "Failed" and ended["exit_code"] == 7
    assert imaging.file(run, "outputs/result.txt") == b"kept"
    assert imaging.metrics(run)["loss"]["last"]["value"] == 0.5
    assert "fetching the image" in imaging.log(run, BUILD_LOG).decode()
    record = imaging.run(run)["environment"]
    assert record["builder"] == "image" and record["build"]
    assert "digest: " in imaging.cli("env", "lock", name).stdout

    again = imaging.submit(
        "python", "-c", "import os; print(os.path.exists('/etc/changed'))", environment=name
    )
    imaging.completed(again)
    assert imaging.log(again) == b"False\n", "what one job changes is its own"
    assert imaging.run(again)["environment"]["reused"] is True


def test_limits_cancel_and_a_killed_supervisor_hold_in_an_image(imaging, registry):
    name = create(imaging, "small", "--image", registry.image)
    hog = imaging.submit(
        "python",
        "-c",
        "x = b'x' * (600 << 20)",
        environment=name,
        resources={"cpus": 1, "memory_bytes": 256 << 20},
    )
    ended = imaging.wait(hog, 120)
    assert ended["state"] == "Failed" and "out of memory" in ended["reason"], ended
    run = imaging.submit("/bin/sh", "-c", "echo up; sleep 600", environment=name)
    imaging.wait_for(run, "Running")
    imaging.cli("run", "cancel", run)
    assert imaging.wait(run)["state"] == "Canceled"
    run = imaging.submit("/bin/sh", "-c", "echo up; sleep 601", environment=name, max_attempts=1)
    imaging.wait_for(run, "Running")
    processes.kill_and_wait(imaging.supervisor_pid(run))
    assert imaging.wait(run)["state"] == "Failed"
    assert not registry.podman("ps", "--all", "--quiet"), "no container is left"
    assert str(imaging.home) not in Path("/proc/mounts").read_text()


def test_packages_on_top_and_a_dockerfile(imaging, registry):
    dockerfile = imaging.folder / "Dockerfile"
    dockerfile.write_text(f"FROM {registry.image}\nENV STEP=made\nRUN echo built > /etc/built\n")
    name = create(imaging, "made", "--dockerfile", dockerfile, "--pip", "user")
    script = (
        "import os, pinned; print(open('/etc/built').read().strip(), os.environ['STEP'], pinned.__version__)"
    )
    run = imaging.submit("python", "-c", script, environment=name)
    imaging.completed(run, 120)
    assert imaging.log(run) == b"built made 1.0\n"
    assert not registry.podman("ps", "--all", "--quiet")


def test_an_image_that_does_not_exist(imaging, registry):
    name = create(imaging, "none", "--image", f"{registry.address}/none:1")
    ended = imaging.wait(imaging.submit("true", environment=name))
    assert ended["state"] == "Failed"
    assert f"the image {registry.address}/none:1 cannot be had: " in ended["reason"]
    assert "manifest unknown" in ended["reason"] and "podman pull" in ended["reason"]
    assert not list(imaging.home.glob("environments/builds/*"))
    program = create(imaging, "small", "--image", registry.image)
    ended = imaging.wait(imaging.submit("no-such-program", "-x", environment=program), 120)
    assert "cannot start 'no-such-program': there is no such program in the image" in ended["reason"]


def test_podman_absent(stopped, registry, tmp_path):
    folder = tools_folder(tmp_path, "uv")
    for name in ("sh", "tar", "python3"):
        (folder / name).symlink_to(shutil.which(name, path="/usr/bin:/bin"))
    stopped.env["PATH"] = str(folder)
    stopped.up()
    name = create(stopped, "small", "--image", registry.image)
    ended = stopped.wait(stopped.submit("/bin/true", environment=name))
    assert ended["state"] == "Failed"
    assert "neither Podman nor a Docker engine" in ended["reason"] and "apt install podman" in ended["reason"]
    stopped.completed(stopped.submit("/bin/true"))
