"""TensorBoard over the ./logs of runs, also of those that still go on."""

import atexit
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from azureml._service import translated
from azureml.exceptions import AzureMLException, UserErrorException

__all__ = ["Tensorboard"]

_EVERY = 1.0  # how often the logs of a run that goes on are brought here
_ADDRESS = re.compile(r"TensorBoard \S+ at (https?://[^\s()]+)")
_START_SECONDS = 180.0  # it imports TensorFlow first, on a machine that may be busy


class Tensorboard:
    """`Tensorboard([run]).start()` gives the address; `stop()`, or the end of the program that started it, ends it and
    removes what it brought here."""

    def __init__(self, runs, local_root=None, port=6006):
        self._runs = list(runs) if isinstance(runs, (list, tuple)) else [runs]
        if not self._runs:
            raise UserErrorException("Tensorboard takes at least one run")
        self._root = local_root
        self._own_root = False
        self._port = port
        self._process = None
        self._stopped = threading.Event()
        self._readers = []

    def start(self, start_browser=False):
        if self._process is not None:
            raise UserErrorException("It has been started already; stop() ends it")
        program = _program()
        if self._root is None:
            self._root, self._own_root = tempfile.mkdtemp(prefix="tensorboard-"), True
        os.makedirs(self._root, exist_ok=True)
        self._stopped.clear()
        atexit.register(self.stop)
        for run in self._runs:
            sizes = {}
            fetch_logs(run, os.path.join(self._root, run.id), sizes)
            reader = threading.Thread(target=self._follow, args=(run, sizes), daemon=True)
            reader.start()
            self._readers.append(reader)
        command = [*program, "--logdir", self._root, "--port", str(self._port), "--host", "127.0.0.1"]
        # In a group of its own, since it starts a process that reads the files: both are ended together.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
            start_new_session=True,
        )
        address = self._address()
        print(address)
        if start_browser:
            import webbrowser

            webbrowser.open(address)
        return address

    def _address(self):
        """The one that TensorBoard prints, read in a thread that goes on so that its pipe never fills."""
        found = []
        ready = threading.Event()
        said = []

        def read(output):
            with output:
                for line in output:
                    said.append(line)
                    del said[:-20]
                    match = _ADDRESS.search(line)
                    if match and not found:
                        found.append(match.group(1))
                        ready.set()
            ready.set()

        threading.Thread(target=read, args=(self._process.stdout,), daemon=True).start()
        ready.wait(_START_SECONDS)
        if not found:
            self.stop()
            raise UserErrorException(
                f"TensorBoard did not start: {''.join(said).strip() or 'it said nothing in time'}"
            )
        return found[0]

    def _follow(self, run, sizes):
        folder = os.path.join(self._root, run.id)
        ended = False
        while not ended and not self._stopped.wait(_EVERY):
            # A server that is away for the moment is asked again. What a run has left is fetched after its end.
            with contextlib.suppress(AzureMLException):
                with translated():
                    state = run._slipway_run.refresh().document["state"]
                fetch_logs(run, folder, sizes)
                ended = state in ("Completed", "Failed", "Canceled")

    def stop(self):
        atexit.unregister(self.stop)
        self._stopped.set()
        if self._process is not None:
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
                self._process.wait()
            self._process = None
        for reader in self._readers:
            reader.join(5)
        self._readers = []
        if self._own_root and self._root:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root, self._own_root = None, False

    def _signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def _program():
    """TensorBoard of this interpreter, or the one on the PATH."""
    import importlib.util

    if importlib.util.find_spec("tensorboard") is not None:
        return [sys.executable, "-m", "tensorboard.main"]
    found = shutil.which("tensorboard")
    if found:
        return [found]
    raise UserErrorException("TensorBoard is not installed here; install it with: pip install tensorboard")


def fetch_logs(run, folder, sizes):
    """Brings what the run's ./logs have grown by since `sizes`, which is kept up to date."""
    slipway_run = run._slipway_run
    with translated():
        logs = [log for log in slipway_run.log_files() if log.name.startswith("logs/")]
    newest = max([log.attempt for log in logs] or [0])
    for log in logs:
        if log.attempt != newest or log.size <= sizes.get((log.name, log.rank), 0):
            continue
        relative = (
            log.name[len("logs/") :]
            if log.rank == 0
            else os.path.join(str(log.rank), log.name[len("logs/") :])
        )
        path = os.path.join(folder, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        start = sizes.get((log.name, log.rank), 0)
        with translated():
            content = slipway_run.read_log(log.name, log.attempt, log.rank, start=start)
        with open(path, "ab" if start else "wb") as file:
            file.write(content)
        sizes[(log.name, log.rank)] = start + len(content)
