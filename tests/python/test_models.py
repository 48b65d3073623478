"""Models and services through the Python package, with a real ONNX model behind them."""

import pytest
import slipway as package
from support import models

FRAMEWORKS = "frameworks"


@pytest.fixture(scope="session")
def model_files(tmp_path_factory):
    return models.make(tmp_path_factory.mktemp("models"), "onnx_times")


@pytest.fixture
def shelf(slipway, ws, model_files):
    """A workspace that has the environment `frameworks`, and the model `times` in two versions."""
    slipway.cli("env", "create", FRAMEWORKS, "--interpreter", models.PYTHON)
    for factor in (2, 3):
        ws.models.register("times", str(model_files / f"times{factor}.onnx"), framework="onnx", trial=False)
    return ws


def test_models_are_registered_found_and_fetched(shelf, tmp_path):
    first, newest = shelf.models("times", 1), shelf.models["times"]
    assert (newest.reference, newest.framework, newest.version) == ("times:2", "onnx", 2)
    assert [model.reference for model in newest.versions()] == ["times:2", "times:1"]
    assert [model.reference for model in shelf.models.list(name="times", latest=False)] == [
        "times:2",
        "times:1",
    ]
    assert [model.reference for model in shelf.models] == ["times:2"]
    assert "times:9" not in shelf.models
    first.tag(stage="trial")
    assert [m.reference for m in shelf.models.list(tags={"stage": None}, latest=False)] == ["times:1"]
    first.untag("stage")
    assert first.refresh().tags == {}
    (path,) = [file.path for file in first.files()]
    first.download(str(tmp_path))
    assert (tmp_path / path).stat().st_size == first.files()[0].size
    assert first.diff(newest)["changes"] > 0
    assert "times:2" in shelf.models._repr_html_()
    first.delete()
    assert "times:1" not in shelf.models


def test_what_a_run_has_kept_becomes_a_model(ws):
    script = "import os; os.makedirs('outputs/net'); open('outputs/net/weights.bin', 'w').write('w' * 100)"
    run = ws.submit(command=["python3", "-c", script], source=None)
    run.wait(timeout=60)
    model = run.register_model("net", path="outputs/net", tags={"kind": "tiny"}, memory="256MiB")
    assert model.run.id == run.id
    assert model.document["resources"]["memory_bytes"] == 256 << 20
    assert [file.size for file in model.files()] == [100]
    assert run.models() == {"registered": ["net:1"], "used": []}
    with pytest.raises(package.errors.NotFoundError, match="outputs/none"):
        run.register_model("net", path="outputs/none")
    with pytest.raises(package.errors.InvalidArgumentError):
        run.register_model("no spaces", path="outputs/net")


def test_a_trial_tells_whether_a_model_serves(shelf, model_files, tmp_path):
    path = str(model_files / "times2.onnx")
    tried = shelf.models.register("tried", path, framework="onnx", environment=FRAMEWORKS)
    assert tried.wait_for_trial(120)["serves"] is True, tried.trial
    assert tried.trial["signature"]
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is no model")
    said = shelf.models.register(
        "broken", str(broken), framework="onnx", environment=FRAMEWORKS
    ).wait_for_trial(120)
    assert said["serves"] is False
    assert said["reason"]


def test_a_service_from_deployment_to_deletion(shelf):
    service = shelf.deploy("times-svc", "times:1", environment=FRAMEWORKS, tags={"team": "red"})
    assert service.state == "Healthy"
    assert service.models == ["times:1"]
    assert service.predict({"instances": [[2.0]]}) == {"predictions": [[4.0]]}
    assert service.predict({"instances": [[2.0]]}, "/v1/models/times:predict") == {"predictions": [[4.0]]}
    with pytest.raises(package.errors.InvalidArgumentError):
        service.predict({"instances": "no numbers"})
    old = service.keys()
    renewed = service.regenerate_key()
    assert renewed.primary != old.primary
    assert renewed.secondary == old.secondary
    service.update("times:2")
    assert service.models == ["times:2"]
    assert service.predict({"instances": [[2.0]]}) == {"predictions": [[6.0]]}
    assert service.scale((1, 2)).document["replicas"] == {"min": 1, "max": 2}
    assert "times" in service.logs()
    assert service.events()[0]["kind"] == "deployed"
    assert shelf.models("times", 2).services == ["times-svc"]
    assert [found.name for found in shelf.services] == ["times-svc"]
    assert "Healthy" in shelf.services._repr_html_()
    with pytest.raises(package.errors.ConflictError):
        shelf.models("times", 2).delete()
    service.delete()
    assert "times-svc" not in shelf.services


def test_a_service_that_cannot_load_says_why(shelf, tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is no model")
    shelf.models.register("broken", str(broken), framework="onnx", trial=False)
    with pytest.raises(package.errors.ConflictError, match="broken-svc"):
        shelf.deploy("broken-svc", "broken", environment=FRAMEWORKS)
    good = shelf.deploy("good-svc", "times:1", environment=FRAMEWORKS)
    with pytest.raises(package.errors.ConflictError, match="update of 'good-svc' failed"):
        good.update("broken")
    assert good.state == "Healthy"
    assert good.predict({"instances": [[2.0]]}) == {"predictions": [[4.0]]}


@pytest.mark.parametrize("replicas", ["many", (1, 2, 3), None, "1..x"])
def test_replicas_that_are_no_number(shelf, replicas):
    with pytest.raises(package.errors.InvalidArgumentError):
        shelf.deploy("times-svc", "times", replicas=replicas if replicas is not None else object())
