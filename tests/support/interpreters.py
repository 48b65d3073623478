"""The Pythons that users' jobs bring: what a job imports is tested on the oldest and the newest of them."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ROOT / "python"


def interpreter(version):
    """The path of Python `version` ("3.6"), from pyenv's folder or the PATH; a missing one fails the test."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for folder in sorted(root.glob(f"versions/{version}*/bin"), reverse=True):
        if (folder / "python").exists():
            return str(folder / "python")
    found = shutil.which(f"python{version}")
    assert found, f"Python {version} is not on this machine: pyenv install {version}"
    return found


def interpreters():
    """Version -> path of every Python 3.6 and later in pyenv's folder."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(root.glob("versions/3.*/bin/python"), key=lambda path: path.parts)
    return {path.parent.parent.name: str(path) for path in found}


OLDEST, NEWEST = "3.6", "3.13"
