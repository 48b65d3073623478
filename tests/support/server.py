"""A real Slipway in a temporary home, driven as a user, a script or a fault would drive it."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from . import http as wire
from . import processes

ROOT = Path(__file__).resolve().parent.parent.parent
# SLIPWAY_PROGRAM: another release program than the one built here, such as an installed one.
RELEASE = Path(os.environ.get("SLIPWAY_PROGRAM", ROOT / "build" / "release" / "slipway"))
DEV = ROOT / "build" / "dev" / "slipway"
FINAL = {"Completed", "Failed", "Canceled"}
W = "/api/v1/workspaces/default"
PATIENCE = 150  # seconds, on a machine with much else to do; a test has 180

# The sanitizers' findings end the process and stand in its log; leaks are looked for by the unit tests.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=97",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


class Slipway:
    def __init__(self, binary=RELEASE, home=None, env=None):
        self.binary = binary
        self.folder = Path(home or tempfile.mkdtemp(prefix="slw-"))
        self.home = self.folder / "home"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", **SANITIZERS}
        self.env.update(env or {})
        self.started = False
        self._url = ""

    # -- life -----------------------------------------------------------------------------------------------

    def up(self, *args, env=None, listen="127.0.0.1:0", check=True):
        self.started = True
        return self.cli("up", "--listen", listen, "--detach", *args, env=env, check=check, timeout=60)

    def down(self, *args):
        return self.cli("down", *(args or ("--cancel",)), timeout=60)

    def kill_server(self):
        processes.kill_and_wait(self.server_pid)

    def again(self, **kwargs):
        """Starts the server of this home again at the address it had, as the agents still know it."""
        port = self.url.rpartition(":")[2] if self.url else 0
        return self.up(listen=f"127.0.0.1:{port}", **kwargs)

    @property
    def about(self):
        return json.loads((self.home / "server.json").read_text())

    @property
    def url(self):
        with contextlib.suppress(FileNotFoundError):
            self._url = self.about["url"]
        return self._url  # where it was last, while it is away

    @property
    def server_pid(self):
        pid = processes.lock_owner(self.home / "server.lock")
        return pid if pid is not None else self.about["pid"]

    @property
    def token(self):
        path = self.home / "token"
        return path.read_text().strip() if path.exists() else None  # none with --auth none

    # -- command line ---------------------------------------------------------------------------------------

    def cli(self, *args, check=True, env=None, cwd=None, timeout=60, stdin=""):
        """Runs `slipway ARGS` against this home and gives what it printed."""
        result = subprocess.run(
            [str(self.binary), *map(str, args)],
            env={**self.env, "SLIPWAY_HOME": str(self.home), **(env or {})},
            cwd=cwd or self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
        )
        if check and result.returncode != 0:
            raise AssertionError(
                f"slipway {' '.join(map(str, args))} ended with {result.returncode}\n{result.stdout}{result.stderr}"
            )
        return result

    def cli_json(self, *args, **kwargs):
        return json.loads(self.cli("--json", *args, **kwargs).stdout)

    # -- HTTP -----------------------------------------------------------------------------------------------

    def http(self, method, path, body=None, **kwargs):
        kwargs.setdefault("token", self.token)
        return wire.request(self.url, method, path, body, **kwargs)

    def api(self, method, path, body=None, **kwargs):
        answer = self.http(method, path, body, **kwargs)
        if answer.status >= 400:
            raise wire.ApiError(method, path, answer)
        return answer.json()

    def items(self, path, **query):
        """All pages of a list."""
        found, cursor = [], None
        while True:
            page = self.api("GET", path, query={**query, **({"cursor": cursor} if cursor else {})})
            found += page["items"]
            cursor = page["next_cursor"]
            if not cursor:
                return found

    def stream(self, path, last_id=None, timeout=30):
        return wire.events(self.url, path, token=self.token, last_id=last_id, timeout=timeout)

    # -- runs -----------------------------------------------------------------------------------------------

    def submit(self, *command, key=None, **job):
        """Submits over HTTP: one string is a line for sh, several are the command itself. Gives the run's id."""
        if len(command) == 1:
            command = ("/bin/sh", "-c", command[0])
        headers = {"Idempotency-Key": key} if key else {}
        return self.api("POST", f"{W}/runs", {"command": list(command), **job}, headers=headers)["id"]

    def run(self, run):
        return self.api("GET", f"{W}/runs/{run}")

    def events(self, run):
        return self.items(f"{W}/runs/{run}/events")

    def wait_for(self, run, *states, timeout=PATIENCE):
        """Follows the run's events, across restarts of the server, until it is in one of the states."""
        end = time.monotonic() + timeout
        last = None
        seen = []
        while time.monotonic() < end:
            try:
                left = max(1.0, end - time.monotonic())
                for event in self.stream(f"{W}/runs/{run}/events/stream", last, timeout=left):
                    last = event.id
                    seen.append(event.json()["state"])
                    if seen[-1] in states:
                        return self.run(run)
                if seen and seen[-1] in FINAL:
                    raise AssertionError(f"{run} ended {seen[-1]} and never was {states}: {self.run(run)}")
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)  # the server is away for the moment
        raise AssertionError(
            f"{run} was not {states} within {timeout} s; states so far: {seen}; {self.run(run)}"
        )

    def wait(self, run, timeout=PATIENCE):
        return self.wait_for(run, *FINAL, timeout=timeout)

    def completed(self, run, timeout=PATIENCE):
        ended = self.wait(run, timeout)
        assert ended["state"] == "Completed", (ended, self.log(run)[-2000:])
        return ended

    def log(self, run, name="std_log.txt", **query):
        answer = self.http("GET", f"{W}/runs/{run}/logs/content", query={"name": name, **query})
        return answer.body if answer.status == 200 else b""

    def metrics(self, run):
        return {item["name"]: item for item in self.items(f"{W}/runs/{run}/metrics")}

    def points(self, run, name):
        return self.items(f"{W}/runs/{run}/metrics/points", name=name)

    def files(self, run):
        return {item["path"]: item for item in self.items(f"{W}/runs/{run}/files")}

    def file(self, run, path):
        answer = self.http("GET", f"{W}/runs/{run}/files/content", query={"path": path})
        assert answer.status == 200, answer
        return answer.body

    def nodes(self, cluster="local"):
        return self.items(f"{W}/compute/{cluster}/nodes")

    # -- faults ---------------------------------------------------------------------------------------------

    def attempt_folder(self, run, attempt=1, rank=0):
        """The attempt's folder on its node; waits until it is there."""
        pattern = f"nodes/*/attempts/{run}.{attempt}.{rank}"
        return processes.wait_until(
            lambda: next(iter(self.home.glob(pattern)), None), 15, f"no folder {pattern} appeared"
        )

    def agent_pid(self, node):
        return processes.wait_until(
            lambda: processes.lock_owner(self.home / "nodes" / node / "lock"), 15, f"node {node} has no agent"
        )

    def supervisor_pid(self, run, attempt=1, rank=0):
        lock = self.attempt_folder(run, attempt, rank) / "lock"
        return processes.wait_until(lambda: processes.lock_owner(lock), 15, f"no supervisor holds {lock}")

    def kill_agent(self, node):
        processes.kill_and_wait(self.agent_pid(node))

    def server_log(self):
        with contextlib.suppress(FileNotFoundError):
            return (self.home / "server.log").read_text(errors="replace")
        return ""

    def all_logs(self):
        parts = [f"== {path}\n{path.read_text(errors='replace')[-6000:]}" for path in self.log_files()]
        return "\n".join(parts)

    def log_files(self):
        return [*self.home.glob("server.log"), *self.home.glob("nodes/*/agent.log")]

    # -- the end --------------------------------------------------------------------------------------------

    def stop_everything(self):
        """Ends all that is left of this home without asking; gives the pids it had to end."""
        left = processes.marked_with(self.home) if self.started else []
        for pid in left:
            processes.kill(pid, signal.SIGKILL)
        return left

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
