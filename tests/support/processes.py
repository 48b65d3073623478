"""Looking at, and killing, the processes that belong to one home."""

import contextlib
import os
import signal
import time
from pathlib import Path


def command_line(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    return []


def is_alive(pid):
    """Whether it runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    if stat.rpartition(")")[2].split()[0] not in {"Z", "X"}:
        return True
    # The first thread of a killed process may be gone while others still hold its files.
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    return False


def marked_with(text):
    """The live processes that carry `text` in their command line or environment, or work below it."""
    mark = str(text).encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            where = os.readlink(entry / "cwd").encode()
            content = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            if (mark in content or where.startswith(mark)) and is_alive(int(entry.name)):
                found.append(int(entry.name))
    return found


def playing(role, mark):
    """The pids of `slipway ROLE` processes that belong to `mark` (a home, a node, an attempt's folder)."""
    return [
        pid
        for pid in marked_with(mark)
        if (line := command_line(pid)) and Path(line[0]).name == "slipway" and role in line[1:3]
    ]


def lock_owner(path):
    """The pid that holds the lock on `path`, as the file says, or None when nobody holds it."""
    try:
        status = os.stat(path)
        wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if "->" not in fields and wanted in fields:
                return int(Path(path).read_text().split()[0])
    except (FileNotFoundError, ValueError, IndexError):
        pass  # gone, or taken a moment ago and not written yet
    return None


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def kill_and_wait(pid, number=signal.SIGKILL, timeout=10):
    kill(pid, number)
    wait_until(lambda: not is_alive(pid), timeout, f"process {pid} did not end")


def resident_bytes(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def wait_until(condition, timeout=10, what="the condition did not come true", patience=60):
    """Polls the world outside Slipway, which sends no events; returns the condition's value.

    What takes `timeout` seconds at the most on a machine with nothing else to do gets `patience`: tests run beside
    each other, and what does not come true at all is as wrong a little later.
    """
    timeout = max(timeout, patience)
    end = time.monotonic() + timeout
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} within {timeout} s")
        time.sleep(0.01)
