"""Messages of agents that come twice, late, out of order or from a fenced attempt: 20 to 22."""

import json
import os
import signal
import struct
import time

import pytest
from support import journal
from support.folders import paths_below
from support.processes import kill, wait_until
from support.proxy import FaultProxy
from support.server import W


class FakeAgent:
    """Plays a node whose real agent is frozen, with that node's own token."""

    def __init__(self, slipway):
        self.slipway = slipway
        self.claimed = []
        slipway.completed(slipway.submit("true"))
        self.node = slipway.nodes()[0]["id"]
        self.pid = slipway.agent_pid(self.node)
        os.kill(self.pid, signal.SIGSTOP)
        self.token = (slipway.home / "nodes" / self.node / "token").read_text().strip()

    def send(self, path, body=None, method="POST", **kwargs):
        return self.slipway.http(
            method, f"/api/v1/nodes/{self.node}/{path}", body, token=self.token, **kwargs
        )

    def part(self, run, path, body=None, attempt=1, **kwargs):
        return self.send(f"attempts/{run}/{attempt}/0/{path}", body, **kwargs)

    def ship(self, run, data, offset=0, **kwargs):
        headers = {"Content-Type": "application/octet-stream"}
        return self.part(run, f"journal?offset={offset}", data, headers=headers, **kwargs)

    def claim(self):
        run = self.slipway.submit("echo never really run")
        wait_until(lambda: self.slipway.run(run)["nodes"] == [self.node], 10, "the run was not placed")
        answer = wait_until(lambda: (a := self.part(run, "claim")).status == 200 and a, 10, "no claim")
        assert answer.json()["job"]["command"], answer
        self.claimed.append(run)
        return run

    def thaw(self):
        """Gives up what was only pretended, and lets the real agent go on."""
        for run in self.claimed:
            self.part(run, "failed", {"reason": "the test is over"})
        os.kill(self.pid, signal.SIGCONT)


@pytest.fixture
def agent(slipway):
    fake = FakeAgent(slipway)
    yield fake
    fake.thaw()


def log_payload(offset, data, name=b"std_log.txt", channel=1):
    """The layout of a log chunk (src/journal/record.cc)."""
    return struct.pack("<BQH", channel, offset, len(name)) + name + data


def test_claim_twice_is_the_same_claim(agent):
    run = agent.claim()
    again = agent.part(run, "claim")
    assert again.status in {200, 409}
    assert agent.slipway.run(run)["attempt"] == 1


def test_journal_sent_twice_is_stored_once(agent):
    run = agent.claim()
    data = journal.record(journal.PHASE, 1, {"phase": "running"}) + journal.record(
        journal.TAGS, 2, {"k": "v"}
    )
    first, second = agent.ship(run, data), agent.ship(run, data)
    assert first.json() == second.json() == {"acked": len(data)}
    overlap = data + journal.record(journal.TAGS, 3, {"k2": "v2"})
    assert agent.ship(run, overlap).json() == {"acked": len(overlap)}
    assert agent.slipway.run(run)["tags"] == {"k": "v", "k2": "v2"}
    assert [event["kind"] for event in agent.slipway.events(run)].count("started") == 1


def test_journal_with_a_gap_is_refused_and_says_how_far_it_got(agent):
    run = agent.claim()
    data = journal.record(journal.PHASE, 1, {"phase": "running"})
    answer = agent.ship(run, data, offset=1000)
    assert answer.status == 409
    assert "up to 0" in answer.error["message"]
    assert agent.ship(run, data).json() == {"acked": len(data)}


def test_records_that_are_none_are_refused(agent):
    run = agent.claim()
    good = journal.record(journal.PHASE, 1, {"phase": "running"})
    for bad in [b"garbage" * 10, good[:-1], good[:-1] + b"\x00", b"\xff" * 28, good[:4] + b"\x63" + good[5:]]:
        assert agent.ship(run, bad).status in {400, 409}, bad
    assert agent.slipway.run(run)["state"] in {"Preparing", "Starting"}
    assert agent.ship(run, good).json() == {"acked": len(good)}


def test_log_bytes_sent_twice_are_stored_once_and_a_gap_is_refused(agent):
    run = agent.claim()
    data = journal.record(journal.PHASE, 1, {"phase": "running"})
    data += journal.record(journal.LOG, 2, log_payload(0, b"one\n"))
    data += journal.record(journal.LOG, 3, log_payload(4, b"two\n"))
    for _ in range(2):
        assert agent.ship(run, data).json() == {"acked": len(data)}
    assert agent.slipway.log(run) == b"one\ntwo\n"
    gap = journal.record(journal.LOG, 4, log_payload(100, b"far"))
    assert agent.ship(run, gap, offset=len(data)).status >= 400
    assert agent.slipway.log(run) == b"one\ntwo\n"


def test_hostile_log_names_of_a_node_stay_in_its_folder(agent):
    run = agent.claim()
    data = journal.record(journal.PHASE, 1, {"phase": "running"})
    assert agent.ship(run, data).status == 200
    for name in (
        b"../../../../evil",
        b"/etc/evil",
        b"logs/../../evil",
        b"..",
        b"a\0b",
        b"\xff\xfe",
        b"x" * 2000,
    ):
        agent.ship(run, journal.record(journal.LOG, 2, log_payload(0, b"x", name)), offset=len(data))
    written = list(paths_below(agent.slipway.folder))
    assert not [path for path in written if path.name == "evil" and "logs" not in path.parts]
    assert not [path for path in written if ".." in path.parts]


def test_two_exits_one_end(agent):
    run = agent.claim()
    status = {"code": 0, "signal": 0, "started": 1, "ended": 2}
    data = journal.record(journal.PHASE, 1, {"phase": "running"}) + journal.record(journal.EXIT, 2, status)
    assert agent.ship(run, data).status == 200
    assert agent.part(run, "finished", {}).status == 200
    ended = agent.slipway.completed(run)
    assert agent.part(run, "finished", {}).status in {200, 409}
    assert agent.ship(run, data).status in {200, 409}
    assert agent.part(run, "failed", {"reason": "late"}).status in {200, 409}
    assert agent.slipway.run(run) == ended


def test_messages_of_a_fenced_attempt_are_stale(agent):
    run = agent.claim()
    agent.slipway.api("POST", f"{W}/runs/{run}/cancel")
    agent.part(run, "failed", {"reason": "could not start"})
    ended = agent.slipway.wait(run)
    data = journal.record(journal.PHASE, 1, {"phase": "running"})
    late = agent.ship(run, data)
    assert late.status == 409 and late.error["code"] == "stale", late
    assert agent.part(run, "finished", {}).status == 409
    assert agent.slipway.run(run) == ended


def test_attempts_that_never_were_are_stale_or_unknown(agent):
    run = agent.claim()
    data = journal.record(journal.PHASE, 1, {"phase": "running"})
    assert agent.ship(run, data, attempt=2).status in {404, 409}
    assert agent.ship("none-aaaaaaaa", data).status in {404, 409}
    answer = agent.send(f"attempts/{run}/1/5/journal?offset=0", data)
    assert answer.status in {400, 404, 409}


def test_heartbeat_names_what_must_be_killed(agent):
    run = agent.claim()
    unknown = {"run": "ghost-aaaaaaaa", "attempt": 1, "rank": 0}
    mine = {"run": run, "attempt": 1, "rank": 0}
    answer = agent.send("heartbeat", {"attempts": [unknown, mine], "load": {}}).json()
    assert unknown in answer["kill"] and mine not in answer["kill"]


def test_node_token_is_worth_nothing_elsewhere(agent):
    slipway = agent.slipway
    for method, path in [
        ("GET", f"{W}/runs"),
        ("POST", f"{W}/runs"),
        ("POST", "/api/v1/nodes/other-1234/heartbeat"),
        ("GET", "/api/v1/status"),
        ("GET", "/api/v1/tokens"),
    ]:
        answer = slipway.http(method, path, {} if method == "POST" else None, token=agent.token)
        assert answer.status in {401, 403, 404}, (method, path, answer)


def through(slipway, proxy):
    """Makes the node's agent reach its server through the proxy from its next start on."""
    slipway.completed(slipway.submit("true"))
    node = slipway.nodes()[0]["id"]
    path = slipway.home / "nodes" / node / "agent.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "url": proxy.url}))
    kill(slipway.agent_pid(node))
    return node


@pytest.mark.parametrize("mode", ["refuse", "stall", "lose-answers", "freeze"])
def test_run_comes_through_a_bad_connection(slipway, mode):
    """The agent's connection breaks in every way while a job runs; nothing is lost or doubled."""
    with FaultProxy(slipway.url) as proxy:
        node = through(slipway, proxy)
        run = slipway.submit(
            "for i in $(seq 1 40); do echo line $i; sleep 0.05; done; mkdir -p outputs; echo k > outputs/k"
        )
        slipway.wait_for(run, "Running")
        assert slipway.run(run)["nodes"] == [node]
        proxy.set(mode)
        if mode != "freeze":
            proxy.cut()
        time.sleep(1.5)  # how long the network is bad is the fault itself
        proxy.set("pass")
        proxy.cut()
        slipway.completed(run)
    assert slipway.log(run) == b"".join(b"line %d\n" % i for i in range(1, 41))
    assert slipway.file(run, "outputs/k") == b"k\n"
    assert [event["kind"] for event in slipway.events(run)].count("started") == 1
