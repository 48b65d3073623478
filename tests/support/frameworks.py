"""Environments with real frameworks, made once for all test processes of a session."""

import fcntl
import os
import subprocess
from pathlib import Path

from .interpreters import NEWEST, OLDEST, ROOT, interpreter

UV = ROOT / ".venv" / "bin" / "uv"
# What tests need of real frameworks, by name: a Python and the packages on it. Few sets, since each costs a download.
SETS = {
    "tensorflow": (NEWEST, "tensorflow-cpu==2.21.0", "scikit-learn", "mpi4py==4.1.2"),
    "tensorboard": (NEWEST, "tensorboard==2.21.0"),
    "pytorch": (OLDEST, "torch==1.6.0", "pytorch-lightning==1.2.10"),
}


def environment(folder: Path, version: str, *packages: str) -> Path:
    """The interpreter of an environment with these packages; the first caller builds it, others wait for it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = folder / "venv" / "bin" / "python"
        if not (folder / "ready").exists():
            subprocess.run([UV, "venv", "-q", "--python", interpreter(version), folder / "venv"], check=True)
            # uv leaves the locks of what it builds from source in the folder for temporary files.
            place = {**os.environ, "TMPDIR": str(folder)}
            subprocess.run([UV, "pip", "install", "-q", "--python", python, *packages], check=True, env=place)
            (folder / "ready").touch()
        return python
