"""Environments through the SDK's names: registered, found, built by the server, and recorded with the run."""

import pytest
from azureml.core import Environment
from azureml.core.conda_dependencies import CondaDependencies
from azureml.exceptions import UserErrorException

SCRIPT = """
import sys, azureml.core
from azureml.core import Run
Run.get_context().log("n", 1)
print("python", "%d.%d" % sys.version_info[:2], azureml.core.VERSION)
"""


def test_environments_are_kept_with_versions(ws):
    one = Environment("mine")
    one.python.conda_dependencies = CondaDependencies.create(
        pip_packages=["numpy==1.26.4"], python_version="3.11"
    )
    one.environment_variables = {"A": "b"}
    assert one.register(ws).version == "1"
    assert one.register(ws).version == "1"
    one.python.conda_dependencies.add_pip_package("scipy")
    assert one.register(ws).version == "2"
    found = Environment.get(ws, "mine", "1")
    assert found.environment_variables == {"A": "b"}
    assert list(found.python.conda_dependencies.pip_packages) == ["azureml-defaults", "numpy==1.26.4"]
    assert Environment.get(ws, "mine").version == "2"
    known = Environment.list(ws)
    assert (
        "mine" in known and any(name.startswith("curated/") for name in known) and "mine" in ws.environments
    )
    with pytest.raises(UserErrorException, match="nope"):
        Environment.get(ws, "nope")


def test_names_of_azure_are_curated_environments_and_are_cloned_to_change_them(ws, submit):
    curated = Environment.get(ws, "AzureML-Minimal")
    assert curated.name == "AzureML-Minimal"
    curated.python.conda_dependencies.add_pip_package("numpy")
    with pytest.raises(UserErrorException, match="clone"):
        submit("print(1)", environment=curated)
    with pytest.raises(UserErrorException, match="clone"):
        curated.register(ws)
    assert curated.clone("mine").register(ws).version == "1"


def test_an_environment_is_built_once_with_its_log_in_the_run(ws, submit, capsys):
    plain = Environment("plain")
    run = submit(SCRIPT, environment=plain)
    run.wait_for_completion(show_output=True)
    said = capsys.readouterr().out
    assert said.index("Streaming azureml-logs/20_image_build_log.txt") < said.index(
        "Streaming azureml-logs/70_driver"
    )
    assert "python 3." in said and run.get_metrics() == {"n": 1}
    assert "azureml-logs/20_image_build_log.txt" in run.get_file_names()
    assert run.get_environment().name.startswith("plain")
    assert run.get_details()["runDefinition"]["environment"]["name"] == "plain"
    details = plain.build(ws).wait_for_completion(show_output=False)
    assert details.status == "Succeeded"


def test_a_package_that_does_not_exist_fails_the_run_with_the_reason(ws, submit):
    broken = Environment("broken")
    broken.python.conda_dependencies.add_pip_package("slipway-no-such-package")
    details = submit("print(1)", environment=broken).wait_for_completion(raise_on_error=False)
    assert details["status"] == "Failed"
    assert "slipway-no-such-package" in details["error"]["error"]["message"]
