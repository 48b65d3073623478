"""Environments of a workspace: registered by what they define, found by name and version."""

import re

from azureml._service import translated
from azureml._support import warn_once
from azureml.core.conda_dependencies import PYTHON_DEFAULT_VERSION
from azureml.core.environment import RESERVED_PREFIXES, Environment
from azureml.exceptions import UserErrorException

_UNNAMED = "project_environment"
BUILD_EXPERIMENT = "environment-builds"


def definition_of(environment):
    """What is built. The SDK's default Python is kept for packages that are pinned, which may need one of that time;
    without pins nobody chose it, and whichever the node has is taken."""
    made = environment._definition()
    lines = made.get("pip", []) + made.get("conda", [])
    if made.get("python") == PYTHON_DEFAULT_VERSION and not any(
        re.search(r"[^<>!~]=", line) for line in lines
    ):
        made = dict(made, python="")
    if environment.docker.base_image_registry.password:
        warn_once(
            "registry password",
            "The password of a container registry is not sent; log in on the nodes with podman login",
        )
    return made


def reference(workspace, environment):
    """'name:version' for a job; a definition the server does not know becomes a version."""
    wanted = definition_of(environment)
    origin = environment._origin
    if origin is not None and origin["definition"] == wanted:
        return origin["reference"]
    if environment.name.lower().startswith(RESERVED_PREFIXES):
        if origin is None:
            with translated(UserErrorException):
                return workspace._get("/environments/{}", environment.name)["reference"]
        raise UserErrorException(
            f"'{environment.name}' was changed, and names that begin with AzureML or Microsoft are reserved; clone it "
            "first: environment.clone(new_name)"
        )
    return register(workspace, environment, wanted)._origin["reference"]


def register(workspace, environment, wanted=None):
    wanted = wanted or definition_of(environment)
    document = {"definition": wanted}
    if environment.name not in (_UNNAMED, None) and not environment.name.startswith("estimator"):
        document["name"] = environment.name
    with translated(UserErrorException):
        record = workspace._post("/environments", document)
    environment.version = record["version"]
    environment._origin = {"definition": wanted, "reference": record["reference"]}
    return environment


def get(workspace, name, version=None):
    with translated(UserErrorException):
        record = workspace._get("/environments/{}", name if version is None else f"{name}:{version}")
    return from_record(record, name)


def list_all(workspace):
    with translated(UserErrorException):
        records = workspace._items("/environments") + workspace._items("/environments", curated="true")
    return {record["name"]: from_record(record) for record in records}


def from_record(record, name=None):
    """The environment of the server's record."""
    made = Environment(name or record["name"])
    definition = record["definition"]
    made.version = record["version"] or None
    made.environment_variables = dict(definition.get("variables") or {})
    python = made.python
    python.user_managed_dependencies = bool(definition.get("user_managed"))
    python.interpreter_path = definition.get("interpreter") or "python"
    packages = python.conda_dependencies
    packages.set_python_version(definition.get("python") or None)
    for package in definition.get("conda") or []:
        packages.add_conda_package(package)
    packages._pip[:] = list(definition.get("pip") or [])
    packages.as_dict()["channels"] = list(definition.get("conda_channels") or [])
    container = definition.get("container") or {}
    if container.get("enabled"):
        made.docker.enabled = True
        if container.get("dockerfile"):
            made.docker.base_dockerfile = container["dockerfile"]
        elif container.get("image"):
            made.docker.base_image = container["image"]
        made.docker.shm_size = container.get("shm_size") or made.docker.shm_size
        made.docker.arguments = list(container.get("arguments") or [])
    made._origin = {"definition": definition_of(made), "reference": record["reference"]}
    return made


def of_run(run):
    text = run._record.get("job", {}).get("environment") or "system"
    if text == "system":
        made = Environment("system")
        made.python.user_managed_dependencies = True
        return made
    return get(run.experiment.workspace, text)


def build(workspace, environment):
    """A run that does nothing once its environment is there."""
    from azureml.core.experiment import Experiment
    from azureml.core.script_run import ScriptRun

    job = {
        "experiment": BUILD_EXPERIMENT,
        "command": ["/bin/true"],
        "environment": reference(workspace, environment),
        "display_name": f"build of {environment.name}",
    }
    with translated(UserErrorException):
        made = workspace._slipway.submit_job(job)
    return ImageBuildDetails(ScriptRun(Experiment(workspace, BUILD_EXPERIMENT), made.id, _slipway_run=made))


class ImageBuildDetails:
    """A build under way."""

    def __init__(self, run):
        self._run = run

    @property
    def status(self):
        states = {"Completed": "Succeeded", "Failed": "Failed", "Canceled": "Canceled"}
        return states.get(self._run.get_status(), "Running")

    @property
    def log_url(self):
        return self._run.get_details()["logFiles"].get("azureml-logs/20_image_build_log.txt")

    def wait_for_completion(self, show_output=True):
        self._run.wait_for_completion(show_output=show_output)
        return self

    def cancel(self):
        self._run.cancel()
