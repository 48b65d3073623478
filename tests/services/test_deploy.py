"""From a registered model to an answer, without code and with it."""

import json
import subprocess

import pytest
from support import http as wire
from support import models, processes
from support.server import W


def test_a_registered_model_becomes_a_service_with_one_call(shop):
    shown = shop.deploy("times-svc", model="times").stdout
    assert "Healthy" in shown
    assert "times:2" in shown, "the newest version is meant"
    service = shop.service("times-svc")
    record = service.record
    assert record["serving"]["models"] == ["times:2"]
    assert record["ready_replicas"] == 1
    assert service.kinds[:2] == ["deployed", "switched"]
    for url in (None, service.own_url):
        assert service.factor(url=url) == 3.0
        assert service.post(
            "/v1/models/times/versions/2:predict", {"instances": [[2.0]]}, url=url
        ).json() == {"predictions": [[6.0]]}
    infer = {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [2.0]}]}
    assert service.post("/v2/models/times/infer", infer).json()["outputs"][0]["data"] == [6.0]
    answer = wire.request(service.slipway.url, "GET", "/services/times-svc/swagger.json", token=service.key)
    assert answer.status == 200
    assert "/score" in answer.json()["paths"]
    assert wire.request(service.slipway.url, "GET", "/services/times-svc/").status == 200, "for monitors"
    assert [s["name"] for s in service.slipway.items(f"{W}/services")] == ["times-svc"]


def test_the_command_line_lists_shows_tests_and_deletes(shop):
    service = shop.deployed("times-svc", "--tag", "team=red", "--description", "doubles")
    run = shop.slipway.cli
    assert "times-svc" in run("service", "list").stdout
    shown = run("service", "show", "times-svc").stdout
    for text in ("Healthy", "times:1", "doubles", "team=red", "/services/times-svc", "deployed", "ready"):
        assert text in shown, shown
    sample = shop.folder / "sample.json"
    sample.write_text('{"instances": [[4.0]]}')
    assert json.loads(run("service", "test", "times-svc", "--data", sample).stdout) == {
        "predictions": [[8.0]]
    }
    wrong = run("service", "test", "times-svc", "--data", '{"instances": "x"}', check=False)
    assert wrong.returncode != 0
    assert "400" in wrong.stderr
    assert "Serving times" in run("service", "logs", "times-svc").stdout
    keys = shop.slipway.cli_json("service", "keys", "times-svc")
    assert keys["primary"] == service.key
    run("service", "delete", "times-svc")
    assert "no service 'times-svc'" in run("service", "show", "times-svc", check=False).stderr
    assert service.score(key="x").status == 404
    processes.wait_until(
        lambda: not processes.playing("serve", shop.slipway.home), 20, "a replica outlives its service"
    )


def test_a_request_has_an_id_that_the_replica_sees_too(shop):
    service = shop.deployed("times-svc")
    first = service.score().headers["x-request-id"]
    assert first
    assert first != service.score().headers["x-request-id"]
    assert service.score(headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"


NO_TRIAL = ("--framework", "onnx", "--no-trial")
SCRIPT = """
import json, os, time
def init():
    print("model folder", sorted(os.listdir(os.environ["AZUREML_MODEL_DIR"])), flush=True)
def run(data):
    asked = json.loads(data)
    print("asked", asked, flush=True)
    time.sleep(asked.get("seconds", 0))
    return {"answer": asked, "variable": os.environ.get("COLOUR")}
"""


def test_a_script_serves_what_a_framework_cannot(shop):
    source = shop.folder / "source"
    source.mkdir()
    (source / "score.py").write_text(SCRIPT)
    (source / "weights").write_text("1 2 3")
    shop.register("own", source / "weights", "custom")
    refused = shop.deploy("own-svc", model="own", check=False)
    assert refused.returncode == 2
    assert "--entry" in refused.stderr
    service = shop.deployed(
        "own-svc", "--entry", "score.py", "--source", source, "--var", "COLOUR=red", model="own"
    )
    assert service.post("/score", {"a": 1}).json() == {"answer": {"a": 1}, "variable": "red"}
    follower = subprocess.Popen(
        [shop.slipway.binary, "service", "logs", "-f", "own-svc"],
        env={**shop.slipway.env, "SLIPWAY_HOME": str(shop.slipway.home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        service.post("/score", {"b": 2})
        lines = []
        while not any("asked {'b': 2}" in line for line in lines):
            lines.append(follower.stdout.readline())
        assert any("model folder" in line for line in lines), lines
        assert all(line.startswith("[1] ") for line in lines), lines
        shop.slipway.cli("service", "delete", "own-svc")
        assert follower.wait(30) == 0, "the stream ends with the service"
    finally:
        follower.kill()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["svc-one", "--model", "nothing"], "nothing"),
        (["svc-one", "--model", "times:9"], "times"),
        (["svc-one"], "needs a model"),
        (["Svc_One", "--model", "times"], "cannot be the name"),
        (["svc-one", "--model", "times", "--replicas", "4..1"], "at most"),
        (["svc-one", "--model", "times", "--replicas", "many"], "many"),
        (["svc-one", "--model", "times", "--compute", "nowhere"], "nowhere"),
        (["svc-one", "--model", "times", "--env", "nowhere"], "nowhere"),
        (["svc-one", "--model", "times", "--memory", "900G"], "memory"),
        (["svc-one", "--model", "times", "--entry", "score.py"], "score.py"),
        (["svc-one", "--model", "times", "--model", "times:1"], "script"),
    ],
)
def test_what_cannot_be_deployed_says_why_at_once(shop_of_the_module, arguments, words):
    answer = shop_of_the_module.slipway.cli("deploy", *arguments, check=False)
    assert answer.returncode in {2, 5}, answer
    assert words in answer.stderr
    assert not shop_of_the_module.slipway.items(f"{W}/services")


@pytest.fixture(scope="module")
def shop_of_the_module(request, model_files):
    from support.server import RELEASE, Slipway
    from support.services import Shop

    server = Slipway(RELEASE)
    try:
        server.up()
        yield Shop(server, model_files)
    finally:
        server.stop_everything()
        server.remove()


def test_a_name_is_taken_once_unless_overwritten(shop):
    service = shop.deployed("times-svc")
    taken = shop.deploy("times-svc", model="times:2", check=False)
    assert taken.returncode == 6
    assert "--overwrite" in taken.stderr
    assert service.factor() == 2.0
    shop.deploy("times-svc", "--overwrite", model="times:2")
    assert service.factor() == 3.0
    assert service.record["version"] == 2


def test_a_repeated_request_deploys_once(shop):
    body = {"name": "times-svc", "models": ["times:1"], "environment": "frameworks"}
    headers = {"Idempotency-Key": "the-one"}
    first = shop.slipway.http("POST", f"{W}/services", body, headers=headers)
    again = shop.slipway.http("POST", f"{W}/services", body, headers=headers)
    assert (first.status, again.status) == (201, 200)
    assert again.json()["newest_version"] == 1


def test_a_model_that_a_service_serves_is_not_deleted(shop):
    service = shop.deployed("times-svc")
    refused = shop.slipway.cli("model", "delete", "times:1", check=False)
    assert refused.returncode == 6
    assert "times-svc" in refused.stderr
    shop.slipway.cli("service", "delete", "times-svc")
    processes.wait_until(
        lambda: shop.slipway.cli("model", "delete", "times:1", check=False).returncode == 0,
        20,
        "the model is held for ever",
    )
    assert service.score(key="x").status == 404


def test_a_workspace_goes_only_after_its_services(shop):
    run = shop.slipway.cli
    there = ("--workspace", "lab")
    run("workspace", "create", "lab")
    run(*there, "env", "create", "frameworks", "--interpreter", models.PYTHON)
    run(*there, "model", "register", "times", "--local", shop.files / "times2.onnx", *NO_TRIAL)
    run(*there, "deploy", "lab-svc", "--model", "times", "--env", "frameworks")
    refused = run("workspace", "delete", "lab", check=False)
    assert refused.returncode == 6
    assert "lab-svc" in refused.stderr
    run(*there, "service", "delete", "lab-svc")
    processes.wait_until(
        lambda: run(*there, "model", "delete", "times:1", check=False).returncode == 0, 30, "the model stays"
    )
    run(*there, "compute", "update", "services", "--idle", "0s")
    processes.wait_until(
        lambda: run("workspace", "delete", "lab", check=False).returncode == 0, 30, "the workspace stays"
    )


def test_replicas_are_not_among_the_users_runs_nor_in_their_way(shop):
    service = shop.deployed("times-svc")
    assert shop.slipway.items(f"{W}/runs") == []
    run = service.replicas("ready")[0]["run"]
    assert shop.slipway.run(run)["kind"] == "replica"
    whole_node = shop.slipway.submit("true")
    shop.slipway.completed(whole_node)
    assert "SERVICE_REPLICA_KEY" not in shop.slipway.run(run)["job"]["variables"], (
        "its key is in nobody's record"
    )
