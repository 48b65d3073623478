"""Programs for the SDK that deploy models, with and without a script."""

import json
import urllib.request

import pytest
from support import models

SCRIPT = """
import json
import os

from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse
from azureml.core.model import Model


def init():
    global factor
    with open(os.path.join(Model.get_model_path("factor"))) as file:
        factor = float(file.read())


def run(data):
    return [factor * number for number in json.loads(data)["data"]]
"""


@pytest.fixture(scope="session")
def model_files(tmp_path_factory):
    return models.make(tmp_path_factory.mktemp("models"), "onnx_times")


@pytest.fixture
def frameworks():
    from azureml.core import Environment

    made = Environment("frameworks")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = str(models.PYTHON)
    return made


def test_a_model_is_deployed_without_code(slipway, ws, model_files, capsys):
    from azureml.core import Model, Webservice
    from azureml.core.webservice import AksWebservice
    from azureml.exceptions import WebserviceException

    slipway.cli("env", "create", "frameworks", "--interpreter", models.PYTHON)
    # What a user's program does not say: on a machine with a network the framework's own environment is built.
    register = {"model_framework": Model.Framework.ONNX, "model_framework_version": "1.16"}
    first = Model.register(ws, str(model_files / "times2.onnx"), "times", **register)
    second = Model.register(ws, str(model_files / "times3.onnx"), "times", **register)
    for model in (first, second):
        ws._patch("/models/{}", {"environment": "frameworks"}, model.id)
    config = AksWebservice.deploy_configuration(
        autoscale_min_replicas=1, autoscale_max_replicas=2, cpu_cores=0.1, memory_gb=0.5, tags={"team": "red"}
    )
    service = Model.deploy(ws, "times-svc", [first], deployment_config=config)
    service.wait_for_deployment(show_output=True)
    said = capsys.readouterr().out
    assert said.startswith("Registering model times")
    assert 'AKS service creation operation finished, operation "Succeeded"' in said
    assert service.state == "Healthy"
    assert (service.compute_type, service.tags) == ("AKS", {"team": "red"})
    assert service.run(json.dumps({"instances": [[2.0]]})) == {"predictions": [[4.0]]}
    assert [model.id for model in service.models] == ["times:1"]

    primary, secondary = service.get_keys()
    request = urllib.request.Request(
        service.scoring_uri,
        json.dumps({"instances": [[2.0]]}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + secondary},
    )
    assert json.load(urllib.request.urlopen(request, timeout=30)) == {"predictions": [[4.0]]}
    service.regen_key("Primary")
    assert service.get_keys()[0] != primary

    service.update(models=[second], description="three times")
    service.wait_for_deployment()
    assert service.run({"instances": [[2.0]]}) == {"predictions": [[6.0]]}
    again = Webservice(ws, "times-svc")
    assert type(again) is AksWebservice
    assert again.description == "three times"
    assert [found.name for found in Webservice.list(ws, compute_type="AKS", model_name="times")] == [
        "times-svc"
    ]
    assert Webservice.list(ws, compute_type="ACI") == []
    assert list(ws.webservices) == ["times-svc"]
    assert "times" in service.get_logs()
    assert service.serialize()["modelIds"] == ["times:2"]
    with pytest.raises(WebserviceException):
        service.run("this is no JSON")
    with pytest.raises(WebserviceException, match="times-svc"):
        second.delete()
    with pytest.raises(WebserviceException):
        Model.deploy(ws, "times-svc", [first])
    service.delete()
    with pytest.raises(WebserviceException):
        Webservice(ws, "times-svc")


def test_a_script_serves_a_model(ws, here, machine):
    from azureml.core import Model
    from azureml.core.model import InferenceConfig
    from azureml.core.webservice import AciWebservice

    (here / "factor.txt").write_text("5")
    model = Model.register(ws, "factor.txt", "factor")
    (here / "source").mkdir()
    (here / "source" / "score.py").write_text(SCRIPT)
    inference = InferenceConfig("score.py", source_directory="source", environment=machine)
    config = AciWebservice.deploy_configuration(cpu_cores=0.1, memory_gb=0.5)
    service = Model.deploy(ws, "factor-svc", [model], inference, config)
    service.wait_for_deployment()
    assert service.run(json.dumps({"data": [1, 2]})) == [5.0, 10.0]
    assert service.auth_enabled is False
    service.delete()


def test_what_is_refused_says_so(ws, here):
    from azureml.core import Model
    from azureml.core.model import InferenceConfig
    from azureml.exceptions import UserErrorException, WebserviceException

    with pytest.raises(UserErrorException, match="is not a name for a service"):
        Model.deploy(ws, "Wrong_Name", [])
    with pytest.raises(UserErrorException, match="entry script"):
        InferenceConfig("nothing.py")
    with pytest.raises(UserErrorException, match="without building images"):
        Model.package(ws, [])
    (here / "model.pkl").write_bytes(b"weights")
    custom = Model.register(ws, "model.pkl", "custom")
    with pytest.raises(WebserviceException, match="script"):
        Model.deploy(ws, "custom-svc", [custom])
