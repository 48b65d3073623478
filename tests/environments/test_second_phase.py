"""Packages that build against others: after the frameworks, without isolation, kept by what they were built against.

The real thing, horovod beside TensorFlow 2.2 on Python 3.6, takes minutes: `make soak` does it (target_proof.py)."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from environments.conftest import tools_folder
from support.index import wheel

SETUP = """
import pinned  # only there when it is built against it, in an environment that has it
from setuptools import setup
with open("against.py", "w") as file:
    file.write("VERSION = %r\\n" % pinned.__version__)
setup(name="horovod", version="99.1", py_modules=["against"])
"""
METADATA = "Metadata-Version: 2.2\nName: horovod\nVersion: 99.1\nRequires-Dist: pinned\n"


def source_package(folder):
    with tarfile.open(folder / "horovod-99.1.tar.gz", "w:gz") as tar:
        for name, text in {"setup.py": SETUP, "PKG-INFO": METADATA}.items():
            info = tarfile.TarInfo(f"horovod-99.1/{name}")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))


@pytest.fixture
def links(tmp_path):
    folder = tmp_path / "links"
    folder.mkdir()
    source_package(folder)
    for version in ("1.0", "2.0"):
        file, data = wheel("pinned", version)
        (folder / file).write_bytes(data)
    return folder


def test_it_is_built_against_what_is_there(stopped, links, tmp_path):
    stopped.env["PATH"] = f"{tools_folder(tmp_path, 'uv')}:/usr/bin:/bin"
    stopped.env["UV_FIND_LINKS"] = str(links)
    for name in ("PIP_CERT", "SSL_CERT_FILE"):
        if name in os.environ:
            stopped.env[name] = os.environ[name]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    stopped.env["TMPDIR"] = str(temporary)
    stopped.up()
    caches = []
    for version in ("1.0", "2.0"):
        packages = ("--pip", "horovod==99.1", "--pip", f"pinned=={version}")
        name = stopped.cli_json("env", "create", f"late{version[0]}", "--python", "3.11", *packages)[
            "reference"
        ]
        run = stopped.submit("python", "-c", "import against; print(against.VERSION)", environment=name)
        stopped.completed(run, 120)
        log = stopped.log(run, "system_logs/environment.txt").decode()
        assert "second phase, built against what is installed: horovod" in log
        assert "horovod is built here and needs setuptools: it is added" in log
        assert stopped.log(run).decode().strip() == version, "never the wheel of another set of packages"
        caches.append({path.name for path in Path(stopped.home / "environments/cache/against").iterdir()})
    assert caches[0] < caches[1], "one cache for each set"
    assert not list(temporary.glob("uv-*")), "uv's locks go with the build"
