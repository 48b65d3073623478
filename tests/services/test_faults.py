"""Kills of everything a service stands on, while clients use it."""

import contextlib
import socket

import pytest
from support import http as wire
from support import processes
from support.server import W
from support.services import Load, Shop


def test_a_service_survives_the_kill_of_its_agent_without_a_failed_request(shop):
    service = shop.deployed("times-svc")
    replica = service.replicas("ready")[0]
    pid = service.replica_pid(replica)
    node = shop.slipway.nodes("services")[0]["id"]
    with Load(service) as load:
        load.wait_for(20)
        shop.slipway.kill_agent(node)
        load.wait_for(50)
        shop.slipway.agent_pid(node)  # it is started again
        load.wait_for(20)
    assert set(load.statuses) == {200}
    assert service.replica_pid(replica) == pid, "the replica went on"
    assert service.state == "Healthy"
    shop.slipway.cli("service", "update", "times-svc", "--model", "times:2")
    assert service.factor() == 3.0


def test_a_service_survives_the_kill_of_the_server_at_the_same_address(shop):
    service = shop.deployed("times-svc")
    before = service.record
    key = service.key
    pid = service.replica_pid(service.replicas("ready")[0])
    with Load(service, patient=True) as load:
        load.wait_for(20)
        shop.slipway.kill_server()
        assert processes.is_alive(pid), "the replica goes on"
        shop.slipway.again()
        load.wait_for(50)
    assert set(load.statuses) <= {200}, load.bodies[:3]
    after = service.record
    assert after["port"] == before["port"]
    assert service.key == key
    assert service.factor(url=service.own_url) == 2.0
    assert service.replica_pid(service.replicas("ready")[0]) == pid
    assert len(service.replicas()) == 1, "nothing was started anew"


def test_the_others_are_unaffected_when_one_of_two_replicas_is_killed(shop):
    service = shop.deployed("times-svc", "--replicas", "2")
    other = shop.deployed("other-svc")
    service.wait_for(lambda record: record["ready_replicas"] == 2, "there are not two replicas")
    victim = service.replica_pid(service.replicas("ready")[0])
    with Load(service) as load, Load(other) as bystanders:
        load.wait_for(50)
        processes.kill(victim)
        load.wait_for(100)
        service.wait_for(lambda record: record["ready_replicas"] == 2, "it is not replaced")
        load.wait_for(50)
    assert set(bystanders.statuses) == {200}
    assert set(load.statuses) == {200}, f"what was under way there is asked of the other: {load.bodies[:3]}"
    assert service.state == "Healthy"


COUNTS = """
import json, os
def run(data):
    with open(os.environ["COUNTED"], "a") as file:
        file.write(f"{json.loads(data)['data']}\\n")
    if json.loads(data)["data"] == "die":
        os.kill(os.getppid(), 9)
    return "counted"
"""


def test_what_a_script_may_have_done_is_not_asked_for_twice(shop):
    source = shop.folder / "script"
    source.mkdir()
    counted = shop.folder / "counted"
    (source / "score.py").write_text(COUNTS.replace('os.environ["COUNTED"]', repr(str(counted))))
    script = ["--entry", "score.py", "--source", source, "--replicas", "2"]
    service = shop.deployed("script-svc", *script, model=None)
    service.wait_for(lambda record: record["ready_replicas"] == 2, "there are not two replicas")
    answer = service.post("/score", {"data": "die"})
    assert answer.status == 502 and b"went away in the middle" in answer.body, answer
    assert service.post("/score", {"data": "live"}).json() == "counted"
    assert counted.read_text().split() == ["die", "live"]


def test_a_service_is_found_again_after_everything_was_killed(shop):
    service = shop.deployed("times-svc", "--replicas", "2")
    service.wait_for(lambda record: record["ready_replicas"] == 2, "there are not two replicas")
    everything = processes.marked_with(shop.slipway.home)
    for pid in everything:
        processes.kill(pid)
    for pid in everything:
        processes.kill_and_wait(pid)
    shop.slipway.again()
    service.wait_for(lambda _: service.score().status == 200, "it does not come back", 60)
    service.wait_for(lambda record: record["ready_replicas"] == 2, "there are not two replicas again", 60)
    assert service.factor() == 2.0
    assert len(service.replicas("ready")) == 2
    assert len(service.replicas("starting")) == 0


def test_a_port_that_another_program_has_taken_is_told_and_the_path_goes_on(shop):
    service = shop.deployed("times-svc")
    port = service.record["port"]
    shop.slipway.kill_server()
    with contextlib.closing(socket.socket()) as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(("127.0.0.1", port))
        thief.listen()
        shop.slipway.again()
        assert service.factor() == 2.0
        service.wait_for(lambda _: "changed" in service.kinds, "nobody tells of the port")
        assert "port is not open" in service.events[-1]["reason"]

    def answers(_):
        with contextlib.suppress(OSError):
            return service.score(url=f"http://127.0.0.1:{port}").status == 200
        return False

    service.wait_for(answers, "the port is not opened again")


def raw(service, head, body=b"", half=True):
    """Sends bytes as they are, `half` of a connection closed behind them; gives all that comes back."""
    host, _, port = service.slipway.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        if half:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def test_half_requests_and_odd_heads_harm_nobody(shop):
    service = shop.deployed("times-svc")
    key = service.key
    head = f"POST /services/times-svc/score HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    good = b'{"instances": [[1.0]]}'
    assert raw(service, head + f"Content-Length: {len(good)}\r\n\r\n", good[:5]) == b""
    assert b" 400 " in raw(service, head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", good)
    assert b" 400 " in raw(service, head + "X-Folded: a\r\n b\r\nContent-Length: 0\r\n\r\n")
    chunks = f"{len(good):x}\r\n".encode() + good + b"\r\n0\r\n\r\n"
    assert b'"predictions"' in raw(
        service, head + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n", chunks
    )
    too_large = raw(service, head + f"Content-Length: {100 << 20}\r\n\r\n", b" " * 1000, half=False)
    assert b" 413 " in too_large, "it is told before it has sent everything"
    assert b" 403 " in raw(service, head.replace("localhost", "evil.example") + "Content-Length: 0\r\n\r\n")
    assert service.factor() == 2.0
    assert service.record["traffic"]["under_way"] == 0


def test_unknown_services_and_paths_are_answered_with_a_sentence(shop):
    service = shop.deployed("times-svc")
    for path, status in (
        ("/services/nothing/score", 404),
        ("/services/", 404),
        ("/services/..%2f..%2fetc", 404),
        ("/services/times-svc/no/such/path", 404),
        ("/services/times-svc/v1/models/other:predict", 404),
    ):
        answer = wire.request(service.slipway.url, "POST", path, {"instances": [[1.0]]}, token=service.key)
        assert answer.status == status, (path, answer)
        assert answer.body


@pytest.mark.parametrize("point", ["services.after_commit", "services.after_submit"])
def test_a_server_killed_between_its_steps_starts_one_replica(dev, model_files, point):
    dev.up(env={"SLIPWAY_FAILPOINTS": f"{point}=kill@1"})
    shop = Shop(dev, model_files)
    body = {"name": "times-svc", "models": ["times:1"], "environment": "frameworks", "memory_bytes": 2 << 30}
    with contextlib.suppress(OSError):
        dev.http("POST", f"{W}/services", body, headers={"Idempotency-Key": "k"})
    processes.wait_until(
        lambda: processes.lock_owner(dev.home / "server.lock") is None, 20, "the fault did not happen"
    )
    dev.again()
    service = shop.service("times-svc")
    service.wait_for_state("Healthy", 60)
    assert service.factor() == 2.0
    assert len(service.replicas()) == 1
    assert len(dev.items(f"{W}/runs", kind="replica")) == 1
