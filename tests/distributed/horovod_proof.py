"""Horovod over machines with addresses of their own, with the environments of examples/distributed.

Each is compiled for minutes: `make soak` runs this. The machines reach nothing but each other, so a server beside them
builds the environments.
"""

import os
from pathlib import Path

import pytest
from distributed.test_frameworks import PATIENT, SCRIPTS, curve_of
from support.server import ROOT

CASES = [
    ("horovod-2020.txt", "3.6", "horovod_tensorflow.py"),
    ("horovod-tensorflow.txt", "3.11", "horovod_tensorflow.py"),
    ("horovod-newest.txt", "3.11", "horovod_tensorflow.py"),
    ("horovod-pytorch.txt", "3.8", "horovod_pytorch.py"),
]


@pytest.fixture
def builder(stopped):
    """A server that builds real environments: the machine's interpreters, index and uv."""
    passed = ("PIP_", "UV_", "SSL_CERT")
    stopped.env.update({name: value for name, value in os.environ.items() if name.startswith(passed)})
    stopped.env["PYENV_ROOT"] = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    stopped.env["PATH"] = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{stopped.env['PATH']}"
    return stopped


@pytest.mark.parametrize(("packages", "python", "script"), CASES, ids=lambda value: value)
def test_two_nodes_learn_what_one_learns(builder, fresh, packages, python, script):
    if packages == "horovod-newest.txt":
        builder.env["HOROVOD_CMAKE"] = str(SCRIPTS / "horovod-cmake")
    builder.up()
    builder.cli("env", "create", "horovod", "--python", python, "--requirements", SCRIPTS / packages)
    run = builder.submit("python", "-c", "import sys; print(sys.executable)", environment="horovod")
    builder.completed(run, 2400)
    interpreter = builder.log(run).decode().strip()

    slipway = fresh(2, PATIENT).slipway
    slipway.cli("env", "create", "horovod", "--interpreter", interpreter)
    together = curve_of(slipway, "horovod", script, 4, 2, "mpi", 2)
    alone = curve_of(slipway, "horovod", script, 1, 1, "mpi", 1)
    assert together == pytest.approx(alone, abs=1e-3)
