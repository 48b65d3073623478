"""A server whose builds take packages from an index of the test's own, and uv from the test tools."""

import os
import shutil
from pathlib import Path

import pytest
from support.index import Index
from support.server import ROOT


@pytest.fixture
def index():
    index = Index()
    index.add("pinned", "1.0")
    index.add("pinned", "2.0")
    index.add("user", "1.0", requires=["pinned<2"])
    index.add("picky", "1.0", requires=["pinned>=2"])
    yield index
    index.stop()


def tools_folder(tmp_path, *names):
    """A folder with just these programs, to be put on a PATH."""
    folder = tmp_path / "tools"
    folder.mkdir(exist_ok=True)
    for name in names:
        found = ROOT / ".venv" / "bin" / name
        target = found if found.exists() else Path(shutil.which(name) or "")
        assert target.is_file(), f"{name} is not installed: scripts/install-dependencies test"
        (folder / name).symlink_to(target)
    return folder


@pytest.fixture
def building(stopped, index, tmp_path):
    """A started server with two slots that builds from `index`."""
    stopped.env["PATH"] = f"{tools_folder(tmp_path, 'uv')}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    stopped.env["UV_DEFAULT_INDEX"] = index.url
    stopped.env["UV_HTTP_RETRIES"] = "0"
    stopped.env["PYENV_ROOT"] = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    stopped.up()
    stopped.cli("compute", "create", "two", "--max", "2", "--cpus", "1", "--memory", "1G")
    return stopped
