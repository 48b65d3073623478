"""Real models for the tests of `slipway serve`, made once by real frameworks, and the server that serves them."""

import contextlib
import fcntl
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from . import http as wire
from . import processes
from .server import RELEASE, ROOT, SANITIZERS

# Made by `scripts/install-dependencies test`: the frameworks live apart from the tools of the tests.
PYTHON = Path(os.environ.get("SLIPWAY_FRAMEWORKS", ROOT / "build" / "frameworks")) / "bin" / "python"
MAKER = Path(__file__).with_name("make_models.py")


def make(folder, *kinds, python=PYTHON):
    """Makes the models of these kinds below `folder`; see make_models.py."""
    assert python.exists(), f"{python} is missing; run scripts/install-dependencies test"
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    # From a folder of its own: that of this file, with a module called http, would stand first on the path.
    with tempfile.TemporaryDirectory(prefix="slw-maker-") as place:
        maker = shutil.copy(MAKER, place)
        result = subprocess.run(
            [python, maker, folder, *kinds], env=env, capture_output=True, text=True, timeout=300
        )
    assert result.returncode == 0, result.stdout + result.stderr
    return Path(folder)


def make_once(tmp_path_factory, *kinds, python=PYTHON):
    """The same, once for all test processes of a session: the first caller makes them, others wait."""
    folder = tmp_path_factory.getbasetemp().parent / "models" / "-".join(kinds)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tmp_path_factory.getbasetemp() / "models" / "-".join(kinds)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".made").exists():
            make(folder, *kinds, python=python)
            (folder / ".made").touch()
    return folder


class Service:
    """`slipway serve ARGS` as a process. Its standard error goes to a file."""

    def __init__(
        self, *args, binary=RELEASE, python=PYTHON, listen="127.0.0.1:0", env=None, timeout=60, stderr=None
    ):
        self.folder = tempfile.TemporaryDirectory(prefix="slw-serve-")
        self.log_path = Path(self.folder.name) / "log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(binary, "--json", "serve", "--python", python),
                    *(["--listen", listen] if listen else []),
                    *map(str, args),
                ],
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": self.folder.name,
                    "LANG": "C.UTF-8",
                    **SANITIZERS,
                    **(env or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr or log,
            )
        line = self.process.stdout.readline()  # ends when the process does
        if not line:
            code = self.process.wait(timeout)
            error = self.log()
            self.folder.cleanup()
            raise NotServed(code, error)
        self.about = json.loads(line)
        self.url = self.about["url"]
        self.name = self.about["model"]
        self.pid = self.process.pid

    def log(self):
        return self.log_path.read_text(errors="replace")

    def request(self, method, path, body=None, **kwargs):
        return wire.request(self.url, method, path, body, **kwargs)

    def post(self, path, body, **kwargs):
        return self.request("POST", path, body, **kwargs)

    def predict(self, body, **kwargs):
        return self.post(f"/v1/models/{self.name}:predict", body, **kwargs)

    def connect(self, timeout=30):
        parts = urlsplit(self.url)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def metric(self, name):
        for line in self.request("GET", "/metrics").body.decode().splitlines():
            if line.startswith((name + "{", name + " ")):
                return float(line.rpartition(" ")[2])
        raise AssertionError(f"there is no metric {name}")

    def children(self):
        path = Path(f"/proc/{self.pid}/task")
        pids = []
        for task in path.iterdir():
            with contextlib.suppress(OSError):
                pids += map(int, (task / "children").read_text().split())
        return pids

    def stop(self, number=signal.SIGTERM, timeout=30):
        """Gives its exit code. Nothing of it may be left."""
        workers = self.children() if self.process.poll() is None else []
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        code = self.process.wait(timeout)
        for pid in workers:
            processes.wait_until(
                lambda pid=pid: not processes.is_alive(pid), 10, f"worker {pid} outlives its server"
            )
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        code = self.stop(signal.SIGKILL if kind else signal.SIGTERM)
        log = self.log()
        self.folder.cleanup()
        if kind:
            print(log[-8000:])
        else:
            assert code == 0, (code, log[-4000:])
        for mark in ("ERROR: AddressSanitizer", "runtime error:", "ERROR: ThreadSanitizer"):
            assert mark not in log, log[log.index(mark) :][:3000]


class NotServed(AssertionError):
    """The server ended instead of serving."""

    def __init__(self, code, error):
        super().__init__(f"exit code {code}: {error}")
        self.code = code
        self.log = error
        lines = [line for line in error.splitlines() if line.startswith('{"error"')]
        self.error = json.loads(lines[-1])["error"] if lines else {}


def wait_for(condition, timeout=20, what="the condition did not come true"):
    return processes.wait_until(condition, timeout, what)
