"""The estimators: an older way to write a ScriptRunConfig with its environment."""

import copy
from inspect import Parameter, Signature

from azureml._support import warn_once
from azureml.core.conda_dependencies import CondaDependencies, package_name
from azureml.core.environment import Environment, _requirement_lines
from azureml.core.runconfig import (
    MpiConfiguration,
    PyTorchConfiguration,
    RunConfiguration,
    TensorflowConfiguration,
)
from azureml.core.script_run_config import MAX_RUN_DURATION_SECONDS_DEFAULT, ScriptRunConfig
from azureml.exceptions import UserErrorException

_NO_EFFECT = {
    "vm_size": "runs go to the compute target that is named; create a cluster with this size",
    "vm_priority": "runs go to the compute target that is named; create a cluster with this priority",
    "source_directory_data_store": "the source folder is kept with the run",
}

# What every estimator takes besides source_directory, in the SDK's order.
PLACE = {
    "compute_target": None,
    "vm_size": None,
    "vm_priority": None,
    "entry_script": None,
    "script_params": None,
}
NODES = {"node_count": 1, "process_count_per_node": 1}
WORKERS = {"worker_count": 1, "parameter_server_count": 1}
BACKEND = {"distributed_backend": None, "distributed_training": None, "use_gpu": False}
CONTENT = {
    "use_docker": True,
    "custom_docker_base_image": None,
    "custom_docker_image": None,
    "image_registry_details": None,
    "user_managed": False,
    "conda_packages": None,
    "pip_packages": None,
    "conda_dependencies_file_path": None,
    "pip_requirements_file_path": None,
    "conda_dependencies_file": None,
    "pip_requirements_file": None,
    "environment_variables": None,
    "environment_definition": None,
    "inputs": None,
    "source_directory_data_store": None,
    "shm_size": None,
    "resume_from": None,
    "max_run_duration_seconds": None,
}
FRAMEWORK = {"framework_version": None, "_enable_optimized_mode": False}
CHECKS = {"_disable_validation": True, "_show_lint_warnings": False, "_show_package_warnings": False}
_ALL = (PLACE, NODES, WORKERS, BACKEND, CONTENT, FRAMEWORK, CHECKS)


def estimator(*groups):
    """Gives a class the constructor of an estimator: source_directory, then the groups as keywords with defaults."""
    taken = {name: default for group in groups for name, default in group.items()}
    absent = {name: default for group in _ALL for name, default in group.items() if name not in taken}

    def decorate(cls):
        def __init__(self, source_directory, **given):
            for name in given:
                if name not in taken:
                    raise TypeError(f"{cls.__name__}() got an unexpected keyword argument '{name}'")
                if name in _NO_EFFECT and given[name] is not None:
                    warn_once(
                        (cls.__name__, name), f"{cls.__name__}: '{name}' has no effect: {_NO_EFFECT[name]}"
                    )
            self._configure(dict(absent, **dict(taken, **given)), source_directory)

        keywords = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in taken.items()
        ]
        first = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("self", "source_directory")]
        __init__.__signature__ = Signature(first + keywords)
        __init__.__qualname__ = f"{cls.__name__}.__init__"
        __init__.slipway_parameters = {name: why for name, why in _NO_EFFECT.items() if name in taken}
        cls.__init__ = __init__
        return cls

    return decorate


class MMLBaseEstimator:
    """What the estimators have in common: they turn into a ScriptRunConfig when they are submitted."""

    _base_environment = "estimator"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return []

    @staticmethod
    def _python_of(version):
        """The Python that goes with a framework's version; None: whichever the node has."""
        return

    def _configure(self, given, source_directory):
        """`given` holds the constructor's keywords by name."""
        name = type(self).__name__
        warn_once(
            (name, "deprecated"),
            f"{name} is deprecated in the SDK; it works, and a ScriptRunConfig with an environment says the same",
            DeprecationWarning,
        )
        self.source_directory = source_directory
        if not given["entry_script"]:
            raise UserErrorException(f"{name} needs an entry_script")
        self._script = given["entry_script"]
        self._arguments = script_arguments(given["script_params"])
        self._inputs = list(given["inputs"] or [])
        self._resume_from = given["resume_from"]
        self.run_config = self._run_config(given)

    @property
    def script_params(self):
        return self._arguments

    @property
    def conda_dependencies(self):
        return self.run_config.environment.python.conda_dependencies

    def _run_config(self, given):
        made = RunConfiguration()
        made.target = given["compute_target"] if given["compute_target"] is not None else "local"
        made.environment = self._environment(given)
        made.node_count = given["node_count"] or 1
        if given["max_run_duration_seconds"]:
            made.max_run_duration_seconds = given["max_run_duration_seconds"]
        backend = chosen_backend(given)
        if backend is not None:
            holder = ScriptRunConfig(".", script=self._script, run_config=made)
            nodes = made.node_count
            holder._distribute(backend)
            made.node_count = nodes
        return made

    def _environment(self, given):
        defined = given["environment_definition"]
        if defined is not None:
            self._refuse_both(given)
            return defined
        made = Environment(self._base_environment)
        made.environment_variables = dict(given["environment_variables"] or {})
        docker, python = made.docker, made.python
        image = given["custom_docker_image"] or given["custom_docker_base_image"]
        if image:
            docker.enabled = True
            docker.base_image = image
        if given["image_registry_details"] is not None:
            docker.base_image_registry = given["image_registry_details"]
        if given["shm_size"]:
            docker.shm_size = given["shm_size"]
        if given["user_managed"]:
            python.user_managed_dependencies = True
            return made
        conda_file = given["conda_dependencies_file"] or given["conda_dependencies_file_path"]
        if conda_file:
            python.conda_dependencies = CondaDependencies(conda_file)
        else:
            python.conda_dependencies.set_python_version(self._python_of(given["framework_version"]))
        requirements = given["pip_requirements_file"] or given["pip_requirements_file_path"]
        chosen = _requirement_lines(requirements) if requirements else []
        for package in given["conda_packages"] or []:
            python.conda_dependencies.add_conda_package(package)
        for package in chosen + list(given["pip_packages"] or []):
            python.conda_dependencies.add_pip_package(package)
        # The framework's own packages stand back behind what the user names.
        packages = python.conda_dependencies
        named = {package_name(line) for line in [*packages.pip_packages, *packages.conda_packages]}
        for package in self._framework_packages(given["framework_version"], given["use_gpu"]):
            if package_name(package) not in named:
                packages.add_pip_package(package)
        return made

    def _refuse_both(self, given):
        names = ("conda_packages", "pip_packages", "conda_dependencies_file", "pip_requirements_file",
                 "custom_docker_image", "environment_variables")  # fmt: skip
        both = [name for name in names if given[name]]
        if both:
            raise UserErrorException(f"Give environment_definition or {both[0]}, not both")

    def _script_run_config(self):
        """What is submitted. Inputs that stand in no argument are bound all the same."""
        made = ScriptRunConfig(
            self.source_directory,
            script=self._script,
            arguments=self._arguments,
            run_config=self.run_config,
            resume_from=self._resume_from,
            max_run_duration_seconds=self.run_config.max_run_duration_seconds
            or MAX_RUN_DURATION_SECONDS_DEFAULT,
        )
        self.run_config._inputs = self._inputs
        return made


def pinned(package, version):
    """'2.2' means any 2.2, as it did there; '2.2.0' is taken at its word."""
    if not version:
        return package
    return f"{package}=={version}.*" if str(version).count(".") == 1 else f"{package}=={version}"


def is_older(version, than):
    """Whether a version is of the SDK's time; no version at all is the newest."""
    parts = [int(piece) for piece in str(version or "").split(".")[:2] if piece.isdigit()]
    return bool(parts) and parts <= list(than)


def script_arguments(script_params):
    """{'--epochs': 3, '--verbose': ''} -> ['--epochs', 3, '--verbose']"""
    made = []
    for key, value in (script_params or {}).items():
        made.append(key)
        if value is not None and not (isinstance(value, str) and value == ""):
            made.append(value)
    return made


def chosen_backend(given):
    """How the processes are started: as `distributed_training` or the older `distributed_backend` says; several
    without either are started by MPI."""
    each, nodes = given["process_count_per_node"] or 1, given["node_count"] or 1
    backend = given["distributed_training"]
    if backend is None and given["distributed_backend"]:
        backend = named_backend(given)
    if backend is None:
        return MpiConfiguration(each, nodes) if each * nodes > 1 else None
    backend = copy.copy(backend)
    if isinstance(backend, MpiConfiguration):
        backend.process_count_per_node = max(each, backend.process_count_per_node or 1)
    if isinstance(backend, PyTorchConfiguration) and backend.process_count is None:
        backend.process_count = each * nodes
    return backend


def named_backend(given):
    warn_once("distributed_backend", "distributed_backend is the older form of distributed_training")
    name = str(given["distributed_backend"]).lower()
    if name in ("mpi", "openmpi", "intelmpi", "horovod"):
        return MpiConfiguration()
    if name in ("ps", "parameterserver"):
        return TensorflowConfiguration(given["worker_count"], given["parameter_server_count"])
    if name in ("nccl", "gloo"):
        return PyTorchConfiguration(None, name.capitalize())
    raise UserErrorException(
        f"There is no distributed_backend '{given['distributed_backend']}'; use 'mpi' or 'ps'"
    )
