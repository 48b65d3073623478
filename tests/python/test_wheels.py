"""The wheels: the same bytes each time, taken by pip, and one that brings the program along."""

import hashlib
import os
import subprocess
import sys
import venv
import zipfile

import pytest
from support.server import RELEASE, ROOT, Slipway

BUILD = ROOT / "python" / "build_wheels.py"


def build(out, *more):
    done = subprocess.run(
        [sys.executable, BUILD, "--out", out, *more], capture_output=True, text=True, check=True
    )
    return [out / line.rpartition("/")[2] for line in done.stdout.splitlines()]


def bare_venv(folder):
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin"


def pip(tools, *words):
    subprocess.run(
        [tools / "python", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "-q", *words],
        check=True,
    )


def test_pure_wheels_are_reproducible_and_their_records_true(tmp_path):
    first, second = build(tmp_path / "a"), build(tmp_path / "b")
    assert [w.name for w in first] == [w.name for w in second]
    assert first[0].name.startswith("slipway-") and first[0].name.endswith("-py3-none-any.whl")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        with zipfile.ZipFile(one) as wheel:
            names = set(wheel.namelist())
            record = next(name for name in names if name.endswith(".dist-info/RECORD"))
            rows = [line.split(",") for line in wheel.read(record).decode().splitlines()]
            assert {row[0] for row in rows} == names
            for path, digest, size in rows[:-1]:
                content = wheel.read(path)
                assert len(content) == int(size)
                import base64

                wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert digest == "sha256=" + wanted
            assert not [name for name in names if name.endswith((".pyc", ".so"))]


def test_program_holds_the_wheels_of_this_tree(tmp_path):
    """What a node offers its jobs is what the server is."""
    program = RELEASE.read_bytes()
    for wheel in build(tmp_path):
        assert wheel.read_bytes() in program, f"{RELEASE} was built from another state of python/"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A bare venv into which the wheel with the program was installed, and its companion."""
    folder = tmp_path_factory.mktemp("installed")
    wheels = build(folder / "dist", "--binary", RELEASE)
    assert [wheel.name.split("-")[0] for wheel in wheels] == ["slipway", "slipway_azureml"]
    assert "-manylinux_2_" in wheels[0].name
    tools = bare_venv(folder / "venv")
    pip(tools, "install", "--no-index", *wheels)
    return tools


def test_wheel_in_a_bare_venv_starts_a_server_that_runs_a_script(installed, tmp_path):
    server = Slipway(installed / "slipway")
    try:
        server.up()
        script = tmp_path / "train.py"
        script.write_text("import slipway\nslipway.log(loss=0.5, step=1)\nprint('trained')\n")
        program = (
            "import slipway\n"
            f"run = slipway.workspace(home={str(server.home)!r}).submit({script.name!r}, source={str(tmp_path)!r})\n"
            "run.follow()\n"
            "print(run.metrics())\n"
            "from azureml.core import Run, Workspace\n"
            "print(Run.get(Workspace.get('default'), run.id).get_metrics())\n"
        )
        done = subprocess.run(
            [installed / "python", "-c", program],
            env={**server.env, "SLIPWAY_HOME": str(server.home)},
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert "trained\n" in done.stdout and done.stdout.count("{'loss': 0.5}") == 2
        version = subprocess.run(
            [installed / "python", "-m", "slipway", "--version"], capture_output=True, text=True, check=True
        )
        assert version.stdout.split()[-1] == server.cli("--version").stdout.split()[-1]
        server.down()
    finally:
        server.stop_everything()
        server.remove()


def test_uninstalling_leaves_nothing(installed):
    show = subprocess.run(
        [installed / "python", "-m", "pip", "show", "slipway"], capture_output=True, text=True, check=True
    )
    assert (
        "Name: slipway" in show.stdout
        and "License: Apache-2.0" in show.stdout
        and "Requires: \n" in show.stdout
    )
    pip(installed, "uninstall", "-y", "slipway", "slipway-azureml")
    assert not os.path.exists(installed / "slipway")
    assert not list(installed.parent.glob("lib/*/site-packages/azureml*"))
    pip(installed, "install", "--no-index", *build(installed.parent.parent / "pure")[:1])
    subprocess.run([installed / "python", "-c", "import slipway; slipway.Run"], check=True)
