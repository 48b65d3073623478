"""The invariants I1 to I7 (docs/testing.md), checked on a home after each test that used one.

The server may be running, dead or half way: it is started again where needed, asked for what it holds, stopped with
everything it runs, and then the disk and the process table are looked at.
"""

import contextlib
import hashlib
import os
import sqlite3
from pathlib import Path

from . import processes
from .server import FINAL, W


def check(slipway):
    if processes.lock_owner(slipway.home / "server.lock") is None:
        if not (slipway.home / "slipway.db").exists():
            return  # it never got as far as having a store
        slipway.up()
    for workspace in [item["name"] for item in slipway.items("/api/v1/workspaces")]:
        for run in slipway.items(f"/api/v1/workspaces/{workspace}/runs", kind="all"):
            history_leads_to_the_state(slipway, workspace, run)
            logs_are_whole(slipway, workspace, run)
            files_match_their_digests(slipway, workspace, run)
    slots_of_ended_runs_are_free(slipway)
    before = final_states(slipway)
    runs = [run["id"] for run in slipway.items(f"{W}/runs", kind="all")]
    slipway.down("--cancel")
    nothing_is_left_behind(slipway, runs)
    stored_history_is_whole(slipway)
    final_states_never_change(slipway, before)
    blobs_match_their_digests(slipway)
    no_sanitizer_found_anything(slipway)


def history_leads_to_the_state(slipway, workspace, run):
    """I7, I3 and, by the count of starts, I2."""
    base = f"/api/v1/workspaces/{workspace}/runs/{run['id']}"
    now = slipway.api("GET", base)  # first: a run that still moves has at least these events
    events = slipway.items(f"{base}/events")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), events
    ended = [index for index, event in enumerate(events) if event["state"] in FINAL]
    for index in ended[:1]:
        later = {event["state"] for event in events[index:]}
        assert len(later) == 1, f"{run['id']} left a final state: {events}"
    if now["state"] in FINAL:
        assert events[-1]["state"] == now["state"], (events[-1], now)
        assert now["ended_at"], now
    starts = [(event["attempt"], event["kind"]) for event in events if event["kind"] == "started"]
    assert len(starts) == len(set(starts)), f"an attempt of {run['id']} started twice: {events}"


def logs_are_whole(slipway, workspace, run):
    """I5: what is listed can be read, all of it and no more."""
    base = f"/api/v1/workspaces/{workspace}/runs/{run['id']}/logs"
    if run["state"] not in FINAL:
        return
    for log in slipway.items(base):
        if log["size"] > 64 << 20:
            continue
        query = {key: log[key] for key in ("name", "attempt", "rank")}
        content = slipway.http("GET", f"{base}/content", query=query)
        assert content.status == 200 and len(content.body) == log["size"], (log, content.status)


def files_match_their_digests(slipway, workspace, run):
    """I6 for what a user can download."""
    base = f"/api/v1/workspaces/{workspace}/runs/{run['id']}/files"
    for item in slipway.items(base):
        content = slipway.http("GET", f"{base}/content", query={"path": item["path"]})
        assert content.status == 200, (item, content)
        assert hashlib.sha256(content.body).hexdigest() == item["digest"], item
        assert len(content.body) == item["size"], item


def slots_of_ended_runs_are_free(slipway):
    """I4 for what the scheduler holds."""

    def held_by_ended_runs():
        ended = {run["id"] for run in slipway.items(f"{W}/runs", kind="all") if run["state"] in FINAL}
        held = []
        for cluster in slipway.items(f"{W}/compute"):
            for node in slipway.items(f"{W}/compute/{cluster['name']}/nodes"):
                held += [run for run in node["runs"] if run in ended]
                if not node["runs"] and node["state"] in {"idle", "busy"}:
                    assert node["free"]["cpus"] == node["cpus"], node
        return held

    processes.wait_until(lambda: not held_by_ended_runs(), 5, "ended runs still hold slots")


def final_states(slipway):
    keys = ("state", "exit_code", "reason", "ended_at", "attempt")
    return {
        run["id"]: {key: run[key] for key in keys}
        for run in slipway.items(f"{W}/runs", kind="all")
        if run["state"] in FINAL
    }


def final_states_never_change(slipway, before):
    """I1 and I3 across a restart."""
    slipway.up()
    after = final_states(slipway)
    slipway.down("--cancel")
    for run, state in before.items():
        assert after.get(run) == state, (run, state, after.get(run))


def nothing_is_left_behind(slipway, runs):
    """I4 for processes, mounts, cgroups and the folders of attempts."""
    processes.wait_until(
        lambda: not processes.marked_with(slipway.home),
        10,
        f"left running: {[processes.command_line(pid) for pid in processes.marked_with(slipway.home)]}",
    )
    mounts = Path("/proc/mounts").read_text()
    assert str(slipway.home) not in mounts, mounts
    left = [
        folder
        for folder, _, _ in os.walk("/sys/fs/cgroup")  # other tests' groups come and go meanwhile
        if "slipway" in folder and any(run in folder for run in runs)
    ]
    assert not left, f"cgroups left: {left}"


def stored_history_is_whole(slipway):
    """I7 and the store's own consistency, read from the file itself."""
    store = sqlite3.connect(f"file:{slipway.home / 'slipway.db'}?mode=ro", uri=True)
    with contextlib.closing(store):
        assert store.execute("PRAGMA quick_check").fetchone()[0] == "ok"
        assert not store.execute("PRAGMA foreign_key_check").fetchall()
        for seq, run, state, attempt, count in store.execute(
            "SELECT seq, id, state, attempt, event_count FROM runs"
        ):
            events = store.execute(
                "SELECT seq, state, attempt, time FROM run_events WHERE run_seq = ? ORDER BY seq", (seq,)
            ).fetchall()
            assert [event[0] for event in events] == list(range(1, count + 1)), run
            assert events[-1][1] == state and events[-1][2] == attempt, (run, state, attempt, events)
            finals = [event[1] for event in events if event[1] in FINAL]
            assert len(finals) <= 1, (run, events)


def blobs_match_their_digests(slipway):
    """I6 for all that is on disk."""
    blobs = slipway.home / "blobs"
    for path in blobs.glob("??/*"):
        digest = hashlib.sha256()
        with path.open("rb") as content:
            while piece := content.read(1 << 20):
                digest.update(piece)
        assert digest.hexdigest() == path.parent.name + path.name, path


def no_sanitizer_found_anything(slipway):
    for path in slipway.log_files():
        text = path.read_text(errors="replace")
        for mark in ("ERROR: AddressSanitizer", "runtime error:", "ERROR: ThreadSanitizer"):
            assert mark not in text, f"{path}: {text[text.index(mark) :][:3000]}"
