"""The state of the git repository around a folder, as far as git tells it in time."""

import os
import subprocess
import time
from typing import Any, Dict, List, Optional

LIMIT_SECONDS = 2.0


def _start(folder: str, *arguments: str) -> "Optional[subprocess.Popen[bytes]]":
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    variables.update(GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0", GIT_ASKPASS="", LC_ALL="C")
    # A repository may name a program of its own as file system monitor; it is not run.
    command = ["git", "-C", folder, "-c", "core.fsmonitor=false", *arguments]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
        )
    except OSError:
        return None  # no git on this machine


def _output(process: "Optional[subprocess.Popen[bytes]]", deadline: float) -> Optional[str]:
    if process is None:
        return None
    try:
        text = process.communicate(timeout=max(0.01, deadline - time.monotonic()))[0]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return text.decode("utf-8", "replace") if process.returncode == 0 else None


def git_state(folder: str) -> Dict[str, Any]:
    """{"commit", "branch", "remote", "dirty"}; empty outside a repository."""
    deadline = time.monotonic() + LIMIT_SECONDS
    # Both at once: starting a program is most of the cost.
    status = _start(
        folder,
        *("--no-pager", "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z"),
        *("--untracked-files=normal", "--ignore-submodules=dirty", "--", "."),
    )
    remotes = _start(folder, "config", "-z", "--get-regexp", r"^remote\..*\.url$")
    told = _output(status, deadline)
    urls = _output(remotes, max(deadline, time.monotonic() + 1))
    state: Dict[str, Any] = {"dirty": False}
    upstream = ""
    for line in (told or "").split("\0"):
        if line.startswith("# branch.oid ") and not line.endswith("(initial)"):
            state["commit"] = line[len("# branch.oid ") :]
        elif line.startswith("# branch.head ") and not line.endswith("(detached)"):
            state["branch"] = line[len("# branch.head ") :]
        elif line.startswith("# branch.upstream "):
            upstream = line[len("# branch.upstream ") :]
        elif line and not line.startswith("# "):
            state["dirty"] = True
    if "commit" not in state:
        return {}
    remote = _choose_remote((urls or "").split("\0"), upstream)
    if remote:
        state["remote"] = remote
    return state


def _choose_remote(lines: List[str], upstream: str) -> str:
    """The branch's own remote, else origin, else the first."""
    known: Dict[str, str] = {}
    for line in lines:
        key, found, url = line.partition("\n")
        if found:
            known.setdefault(key[len("remote.") : -len(".url")], without_credentials(url))
    tracked = next((url for name, url in known.items() if upstream.startswith(name + "/")), "")
    return tracked or known.get("origin", "") or next(iter(known.values()), "")


def without_credentials(url: str) -> str:
    """
    >>> without_credentials("https://me:secret@host/x.git?token=1")
    'https://host/x.git'
    >>> without_credentials("ssh://git@host/x.git"), without_credentials("git@host:x.git")
    ('ssh://git@host/x.git', 'git@host:x.git')
    """
    scheme, found, rest = url.partition("://")
    if not found:
        return url
    rest = rest.partition("?")[0].partition("#")[0]
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if at:
        keeps_user = scheme == "ssh" and user.partition(":")[0]
        authority = (user.partition(":")[0] + "@" if keeps_user else "") + host
    return f"{scheme}://{authority}{slash}{path}"
