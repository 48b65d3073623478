"""Environments: what a script needs, described as in the SDK and built by Slipway."""

import copy
import json
import os

from azureml._support import no_effect, refused, without_effect
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry
from azureml.exceptions import UserErrorException

DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.1-cudnn8-ubuntu20.04"
RESERVED_PREFIXES = ("azureml", "microsoft")
_DEFAULT_SHM_SIZE = "2g"
_DEFINITION_FILE = "azureml_environment.json"
_CONDA_FILE = "conda_dependencies.yml"
_DOCKERFILE = "BaseDockerfile"


class PythonSection:
    """Which interpreter, and which packages."""

    def __init__(self, **kwargs):
        self.interpreter_path = "python"
        self.user_managed_dependencies = False
        self.conda_dependencies = CondaDependencies()
        self.conda_dependencies_file = None
        self.base_conda_environment = None
        _assign(self, kwargs)


class DockerSection:
    """The image a run starts from. Setting the image clears the Dockerfile, and the other way round."""

    def __init__(self, **kwargs):
        self.enabled = False
        self.shared_volumes = True
        self.shm_size = _DEFAULT_SHM_SIZE
        self.arguments = []
        self.gpu_support = None
        self.platform = DockerImagePlatform()
        self.base_image_registry = ContainerRegistry()
        self.build_context = None
        self._base_image = DEFAULT_CPU_IMAGE
        self._base_dockerfile = None
        _assign(self, kwargs)

    @property
    def base_image(self):
        return self._base_image

    @base_image.setter
    def base_image(self, value):
        self._base_image = value
        if value:
            self._base_dockerfile = None

    @property
    def base_dockerfile(self):
        return self._base_dockerfile

    @base_dockerfile.setter
    def base_dockerfile(self, value):
        self._base_dockerfile = value
        if value:
            self._base_image = None


class DockerImagePlatform:
    def __init__(self, os="Linux", architecture="amd64"):
        self.os = os
        self.architecture = architecture


class DockerBuildContext:
    """A folder with a Dockerfile."""

    def __init__(self, location_type=None, location=None, dockerfile_path="Dockerfile"):
        self.location_type = location_type
        self.location = location
        self.dockerfile_path = dockerfile_path

    @staticmethod
    def from_local_directory(workspace, path, dockerfile_path="Dockerfile"):
        return DockerBuildContext("local", path, dockerfile_path)


class SparkSection:
    """Accepted as configuration; Slipway has no Spark."""

    def __init__(self, **kwargs):
        self.repositories = []
        self.packages = []
        self.precache_packages = True
        _assign(self, kwargs)


class EnvironmentReference:
    """Names a registered environment."""

    def __init__(self, name, version=None):
        self.name = name
        self.version = version

    def get_environment(self, workspace):
        return Environment.get(workspace, self.name, self.version)


def _assign(section, values):
    for name, value in values.items():
        if not hasattr(section, name):
            raise TypeError(f"{type(section).__name__} has no setting '{name}'")
        setattr(section, name, value)


def _read(path, what):
    if not os.path.isfile(path):
        raise UserErrorException(f"There is no {what} at {os.path.abspath(path)}")
    with open(path) as file:
        return file.read()


def _requirement_lines(path):
    rows = (line.split(" #")[0].strip() for line in _read(path, "requirements file").splitlines())
    return [row for row in rows if row and not row.startswith("#")]


class Environment:
    """A named description of what scripts need; see the sections `python` and `docker`."""

    def __init__(self, name, **kwargs):
        if not isinstance(name, str) or not name.strip():
            raise UserErrorException("An environment needs a name, a string that is not empty")
        self.name = name
        self._version = None
        self.environment_variables = {}
        self.python = PythonSection()
        self.docker = DockerSection()
        self.spark = SparkSection()
        self.r = None
        self.databricks = None
        self.inferencing_stack_version = None
        self.asset_id = None
        self._origin = None  # what the server says it is, until something here changes it
        _assign(self, kwargs)

    @property
    def version(self):
        return self._version

    @version.setter
    def version(self, value):
        self._version = None if value is None else str(value)

    def __repr__(self):
        return json.dumps(self._serialize_to_dict(), indent=4, sort_keys=True)

    __str__ = __repr__

    # -- constructors ---------------------------------------------------------------------------------------

    @staticmethod
    def from_conda_specification(name, file_path):
        made = Environment(name)
        made.python.conda_dependencies = CondaDependencies(file_path)
        return made

    @staticmethod
    @without_effect(pip_version="packages are installed by uv")
    def from_pip_requirements(name, file_path, pip_version=None):
        made = Environment(name)
        made.python.conda_dependencies.set_pip_requirements(_requirement_lines(file_path))
        return made

    @staticmethod
    def from_docker_image(
        name, image, container_registry=None, conda_specification=None, pip_requirements=None
    ):
        made = Environment(name)
        made.docker.enabled = True
        made.docker.base_image = image
        if container_registry is not None:
            made.docker.base_image_registry = container_registry
        made._packages_on_image(conda_specification, pip_requirements)
        return made

    @staticmethod
    def from_dockerfile(name, dockerfile, conda_specification=None, pip_requirements=None):
        made = Environment(name)
        made.docker.enabled = True
        is_path = "\n" not in dockerfile and os.path.isfile(dockerfile)
        made.docker.base_dockerfile = _read(dockerfile, "Dockerfile") if is_path else dockerfile
        made._packages_on_image(conda_specification, pip_requirements)
        return made

    @staticmethod
    def from_docker_build_context(name, docker_build_context):
        path = os.path.join(docker_build_context.location or ".", docker_build_context.dockerfile_path)
        return Environment.from_dockerfile(name, _read(path, "Dockerfile"))

    def _packages_on_image(self, conda_specification, pip_requirements):
        if conda_specification and pip_requirements:
            raise UserErrorException("Give conda_specification or pip_requirements, not both")
        if conda_specification:
            self.python.conda_dependencies = CondaDependencies(conda_specification)
        elif pip_requirements:
            self.python.conda_dependencies.set_pip_requirements(_requirement_lines(pip_requirements))
        else:
            self.python.user_managed_dependencies = True

    @staticmethod
    def from_existing_conda_environment(name, conda_environment_name):
        import subprocess

        command = ["conda", "env", "export", "--name", conda_environment_name, "--no-builds"]
        try:
            text = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120).stdout.decode()
        except (OSError, subprocess.SubprocessError) as error:
            raise UserErrorException(
                f"conda cannot export the environment '{conda_environment_name}' ({error}); write it to a file and use "
                "from_conda_specification"
            ) from None
        from azureml import _yaml

        made = Environment(name)
        made.python.conda_dependencies = CondaDependencies(
            _underlying_structure=_yaml.load(text, "conda env export")
        )
        return made

    # -- in the workspace -----------------------------------------------------------------------------------

    @staticmethod
    def get(workspace, name, version=None, label=None):
        from azureml.core import _environments

        if label not in (None, "latest", "Latest"):
            raise UserErrorException(f"Environments have versions here and no labels but 'latest': '{label}'")
        return _environments.get(workspace, name, version)

    @staticmethod
    def list(workspace):
        from azureml.core import _environments

        return _environments.list_all(workspace)

    def register(self, workspace):
        from azureml.core import _environments

        if self.name.lower().startswith(RESERVED_PREFIXES):
            raise UserErrorException(
                f"'{self.name}' cannot be registered: names that begin with AzureML or Microsoft are reserved; clone "
                "it first: environment.clone(new_name)"
            )
        return _environments.register(workspace, self)

    @without_effect(
        image_build_compute="environments are built on the node that needs them, or on this machine"
    )
    def build(self, workspace, image_build_compute=None):
        from azureml.core import _environments

        return _environments.build(workspace, self)

    @without_effect(platform="environments are built for the machine they are built on")
    def build_local(self, workspace, platform=None, useDocker=True, pushImageToWorkspaceAcr=False):
        return self.build(workspace).wait_for_completion(show_output=True)

    @refused("Slipway environments are folders, not images, so there are no image details")
    def get_image_details(self, workspace):
        pass

    @staticmethod
    @refused("keep the wheel in the source folder or on a package index, and name it in the pip packages")
    def add_private_pip_wheel(workspace, file_path, exist_ok=False):
        pass

    @staticmethod
    @no_effect("environments have versions and no labels here")
    def label(workspace, name, version, labels):
        return None

    # -- copies and files -----------------------------------------------------------------------------------

    def clone(self, new_name):
        if not new_name:
            raise UserErrorException("A clone needs a name of its own")
        made = copy.deepcopy(self)
        made.name = new_name
        made.version = None
        made.asset_id = None
        made._origin = None
        return made

    def save_to_directory(self, path, overwrite=False):
        if os.path.isdir(path) and os.listdir(path) and not overwrite:
            raise UserErrorException(f"{path} is not empty; give overwrite=True to replace its files")
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, _DEFINITION_FILE), "w") as file:
            file.write(json.dumps(self._serialize_to_dict(), indent=4, sort_keys=True))
        if not self.python.user_managed_dependencies:
            self.python.conda_dependencies.save_to_file(path, _CONDA_FILE)
        if self.docker.base_dockerfile:
            with open(os.path.join(path, _DOCKERFILE), "w") as file:
                file.write(self.docker.base_dockerfile)

    @staticmethod
    def load_from_directory(path):
        text = _read(os.path.join(path, _DEFINITION_FILE), "saved environment")
        try:
            made = Environment._from_dict(json.loads(text))
        except ValueError as error:
            raise UserErrorException(
                f"{os.path.join(path, _DEFINITION_FILE)} cannot be read: {error}"
            ) from None
        conda = os.path.join(path, _CONDA_FILE)
        if os.path.isfile(conda):
            made.python.conda_dependencies = CondaDependencies(conda)
        dockerfile = os.path.join(path, _DOCKERFILE)
        if os.path.isfile(dockerfile):
            made.docker.base_dockerfile = _read(dockerfile, "Dockerfile")
        return made

    def _serialize_to_dict(self):
        docker, python, registry = self.docker, self.python, self.docker.base_image_registry
        return {
            "name": self.name,
            "version": self.version,
            "environmentVariables": dict(self.environment_variables),
            "python": {
                "interpreterPath": python.interpreter_path,
                "userManagedDependencies": python.user_managed_dependencies,
                "condaDependencies": python.conda_dependencies.as_dict(),
                "baseCondaEnvironment": python.base_conda_environment,
            },
            "docker": {
                "enabled": docker.enabled,
                "baseImage": docker.base_image,
                "baseDockerfile": docker.base_dockerfile,
                "sharedVolumes": docker.shared_volumes,
                "shmSize": docker.shm_size,
                "arguments": list(docker.arguments),
                "baseImageRegistry": {
                    "address": registry.address,
                    "username": registry.username,
                    "password": None,
                },
                "platform": {"os": docker.platform.os, "architecture": docker.platform.architecture},
            },
            "inferencingStackVersion": self.inferencing_stack_version,
        }

    @staticmethod
    def _from_dict(value):
        made = Environment(value["name"])
        made.version = value.get("version")
        made.environment_variables = dict(value.get("environmentVariables") or {})
        python, docker = value.get("python") or {}, value.get("docker") or {}
        made.python.interpreter_path = python.get("interpreterPath", "python")
        made.python.user_managed_dependencies = bool(python.get("userManagedDependencies"))
        if python.get("condaDependencies"):
            made.python.conda_dependencies = CondaDependencies(
                _underlying_structure=python["condaDependencies"]
            )
        made.docker.enabled = bool(docker.get("enabled"))
        made.docker.base_image = docker.get("baseImage", DEFAULT_CPU_IMAGE)
        if docker.get("baseDockerfile"):
            made.docker.base_dockerfile = docker["baseDockerfile"]
        made.docker.shm_size = docker.get("shmSize") or _DEFAULT_SHM_SIZE
        made.docker.arguments = list(docker.get("arguments") or [])
        registry = docker.get("baseImageRegistry") or {}
        made.docker.base_image_registry.address = registry.get("address")
        made.docker.base_image_registry.username = registry.get("username")
        made.inferencing_stack_version = value.get("inferencingStackVersion")
        return made

    # Azure's clusters run everything in containers; here a container is used where an image was chosen.
    def _definition(self):
        """What Slipway is told: the fields of its environment definition."""
        python, docker = self.python, self.docker
        made = {"variables": {str(k): str(v) for k, v in self.environment_variables.items()}}
        if python.user_managed_dependencies:
            made.update(user_managed=True, interpreter=python.interpreter_path or "python")
        else:
            made.update(python.conda_dependencies._definition())
        chosen = docker.base_dockerfile or (docker.base_image and docker.base_image != DEFAULT_CPU_IMAGE)
        if docker.enabled or chosen:
            registry = docker.base_image_registry
            made["container"] = {
                "enabled": True,
                "image": docker.base_image or "",
                "dockerfile": docker.base_dockerfile or "",
                "shm_size": docker.shm_size or _DEFAULT_SHM_SIZE,
                "arguments": list(docker.arguments),
                "registry": {"address": registry.address or "", "username": registry.username or ""},
            }
        return made
