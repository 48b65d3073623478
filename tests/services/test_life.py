"""Updates, failures, crashes and scaling."""

from support import processes
from support.services import Load

SLOW = """
import json, time
def init():
    pass
def run(data):
    time.sleep(0.2)
    return {"predictions": json.loads(data)["instances"]}
"""


def test_an_update_under_load_loses_no_request(shop):
    service = shop.deployed("times-svc", "--replicas", "2")
    service.wait_for(lambda record: record["ready_replicas"] == 2, "the second replica does not come")
    for url in (None, service.own_url):
        before = service.record["version"]
        with Load(service, url=url) as load:
            load.wait_for(50)
            model = "times:2" if before == 1 else "times:1"
            shop.slipway.cli("service", "update", "times-svc", "--model", model)
            load.wait_for(50)
            answers = dict(load.answers)
            load.wait_for(50)
        assert set(load.statuses) == {200}, load.bodies[:3]
        assert set(load.answers) == {2.0, 3.0}
        old = 2.0 if before == 1 else 3.0
        assert load.answers[old] == answers[old], "after the switch only the new version answers"
        service.wait_for(
            lambda record, before=before: (
                not [r for r in record["replica_list"] if r["version"] == before and r["state"] != "ended"]
            ),
            "the old replicas stay",
        )
    assert service.state == "Healthy"


def test_a_version_that_does_not_load_leaves_the_old_one_serving(shop):
    service = shop.deployed("times-svc")
    shop.register_broken()
    with Load(service) as load:
        load.wait_for(20)
        failed = shop.slipway.cli("service", "update", "times-svc", "--model", "broken", check=False)
        load.wait_for(20)
    assert failed.returncode == 14
    assert "cannot serve this" in failed.stderr
    assert set(load.statuses) == {200}
    assert set(load.answers) == {2.0}
    record = service.record
    assert record["state"] == "Healthy"
    assert record["update"]["state"] == "failed"
    assert "version 1 goes on serving" in record["reason"]
    assert service.kinds[-1] == "update-failed"
    shop.slipway.cli("service", "update", "times-svc", "--model", "times:2")
    assert service.factor() == 3.0
    assert service.record["reason"] == ""


def test_a_first_version_that_does_not_load_fails_the_service(shop):
    shop.register_broken()
    failed = shop.deploy("broken-svc", model="broken", check=False)
    assert failed.returncode == 14, failed
    service = shop.service("broken-svc")
    assert service.state == "Failed"
    ended = [event for event in service.events if event["kind"] == "replica-ended"]
    assert len(ended) == 2, "it is tried twice"
    assert "error" in ended[-1]["log"], ended[-1]
    shown = shop.slipway.cli("service", "show", "broken-svc").stdout
    assert "last lines of the replica that ended" in shown
    answer = service.score()
    assert answer.status == 503
    assert "could not be started" in answer.json()["message"]
    shop.slipway.cli("service", "update", "broken-svc", "--model", "times:1")
    assert service.state == "Healthy"
    assert service.factor() == 2.0


def test_a_replica_that_dies_again_and_again_is_started_at_growing_intervals(shop):
    service = shop.deployed("times-svc")
    for _ in range(3):
        replica = service.wait_for(
            lambda record: record["state"] == "Healthy" and record["ready_replicas"] == 1, "it is not back"
        )["replica_list"][-1]
        processes.kill(service.replica_pid(replica))
        service.wait_for_state("Unhealthy")
        answer = service.score()
        assert answer.status in {502, 503}
        assert answer.json()["message"]
    reason = service.record["reason"]
    assert "3 times in a row" in reason, reason
    assert "next try is after" in reason
    service.wait_for_state("Healthy")
    ended = [event for event in service.events if event["kind"] == "replica-ended"]
    assert len(ended) == 3
    assert all("signal 9" in event["reason"] or "killed" in event["reason"] for event in ended), ended
    assert service.factor() == 2.0


def test_scaling_by_hand(shop):
    service = shop.deployed("times-svc")
    shop.slipway.cli("service", "scale", "times-svc", "3")
    service.wait_for(lambda record: record["ready_replicas"] == 3, "there are not three replicas")
    with Load(service) as load:
        load.wait_for(20)
        shop.slipway.cli("service", "scale", "times-svc", "1")
        service.wait_for(
            lambda record: [r["state"] for r in record["replica_list"]].count("ended") == 2,
            "two replicas do not end",
        )
        load.wait_for(20)
    assert set(load.statuses) == {200}
    assert service.record["version"] == 1


def test_replicas_follow_the_load_between_their_bounds(shop):
    source = shop.folder / "source"
    source.mkdir()
    (source / "score.py").write_text(SLOW)
    service = shop.deployed(
        *("slow-svc", "--entry", "score.py", "--source", source, "--replicas", "1..2"),
        *("--max-concurrent", "2", "--target-utilization", "70", "--scale-down-after", "1s"),
        model=None,
    )
    with Load(service, clients=4):
        service.wait_for(lambda record: record["ready_replicas"] == 2, "it does not grow with the load")
    service.wait_for(lambda record: record["wanted_replicas"] == 1, "it does not shrink again")
    assert service.kinds.count("scaled") == 2
    service.wait_for(lambda record: record["ready_replicas"] == 1, "the second replica stays")


def test_a_service_deleted_while_it_is_updated_leaves_nothing(shop):
    service = shop.deployed("times-svc")
    for round_number in range(3):
        shop.slipway.cli("service", "update", "times-svc", "--model", "times:2", "--no-wait")
        if round_number == 1:
            service.wait_for(lambda record: len(record["replica_list"]) > 1, "no replica is started")
        shop.slipway.cli("service", "delete", "times-svc")
        assert service.score(key="x").status == 404
        processes.wait_until(
            lambda: not processes.playing("serve", shop.slipway.home), 30, "a replica outlives its service"
        )
        service = shop.deployed("times-svc")
        assert service.factor() == 2.0


def test_an_update_that_a_newer_one_overtakes_is_left(shop):
    service = shop.deployed("times-svc")
    service.patch(models=["times:2"])
    service.patch(models=["times:1"], tags={"again": "yes"}, timeout_seconds=30)
    service.wait_for(lambda record: record["version"] == 3, "the newest version does not serve")
    assert [version["state"] for version in service.record["versions"]] == [
        "replaced",
        "superseded",
        "serving",
    ]
    assert service.factor() == 2.0


def test_a_service_that_waits_for_nodes_says_so_and_goes_on_when_there_are_some(shop):
    shop.slipway.cli("compute", "create", "small", "--max", "1", "--cpus", "0.5", "--memory", "600M")
    service = shop.deployed("times-svc", "--compute", "small")
    shop.slipway.cli("service", "update", "times-svc", "--model", "times:2", "--no-wait")
    replica = service.wait_for(
        lambda record: [r for r in record["replica_list"] if r["state"] == "starting" and r["run"]],
        "no replica is started",
    )["replica_list"][-1]
    processes.wait_until(
        lambda: shop.slipway.run(replica["run"])["waiting_because"], 10, "nobody says why it waits"
    )
    assert service.factor() == 2.0, "the old version goes on meanwhile"
    assert service.state == "Healthy"
    shop.slipway.cli("compute", "update", "small", "--max", "2")
    service.wait_for(lambda record: record["version"] == 2, "the update does not go on")
    assert service.factor() == 3.0
