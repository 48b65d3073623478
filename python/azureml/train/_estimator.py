"""The estimators: an older way to write a ScriptRunConfig with its environment."""

from azureml._support import warn_once, without_effect
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.environment import Environment
from azureml.core.runconfig import RunConfiguration
from azureml.core.script_run_config import MAX_RUN_DURATION_SECONDS_DEFAULT, ScriptRunConfig
from azureml.exceptions import UserErrorException

_NO_EFFECT = {
    "vm_size": "runs go to the compute target that is named; create a cluster with this size",
    "vm_priority": "runs go to the compute target that is named; create a cluster with this priority",
    "source_directory_data_store": "the source folder is kept with the run",
}


def parameters(function):
    """The marks that all estimators share."""
    return without_effect(
        vm_size=_NO_EFFECT["vm_size"],
        vm_priority=_NO_EFFECT["vm_priority"],
        source_directory_data_store=_NO_EFFECT["source_directory_data_store"],
    )(function)


class MMLBaseEstimator:
    """What the estimators have in common: they turn into a ScriptRunConfig when they are submitted."""

    _framework_packages = staticmethod(lambda version, use_gpu: [])
    _base_environment = "estimator"

    def _configure(self, given):
        """`given` holds the constructor's parameters by name."""
        name = type(self).__name__
        warn_once(
            (name, "deprecated"),
            f"{name} is deprecated in the SDK; it works, and a ScriptRunConfig with an environment says the same",
            DeprecationWarning,
        )
        self.source_directory = given["source_directory"]
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
        backend = given["distributed_training"]
        if backend is None and given["distributed_backend"]:
            backend = named_backend(given)
        if backend is not None:
            holder = ScriptRunConfig(".", script=self._script, run_config=made)
            if hasattr(backend, "process_count_per_node"):
                backend.node_count = made.node_count
            nodes = made.node_count
            holder._distribute(backend)
            if not hasattr(backend, "worker_count"):
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
        packages = self._framework_packages(given.get("framework_version"), given["use_gpu"])
        requirements = given["pip_requirements_file"] or given["pip_requirements_file_path"]
        if requirements:
            from azureml.core.environment import _requirement_lines

            packages = packages + _requirement_lines(requirements)
        for package in given["conda_packages"] or []:
            python.conda_dependencies.add_conda_package(package)
        for package in packages + list(given["pip_packages"] or []):
            python.conda_dependencies.add_pip_package(package)
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


def script_arguments(script_params):
    """{'--epochs': 3, '--verbose': ''} -> ['--epochs', 3, '--verbose']"""
    made = []
    for key, value in (script_params or {}).items():
        made.append(key)
        if value is not None and not (isinstance(value, str) and value == ""):
            made.append(value)
    return made


def named_backend(given):
    from azureml.core.runconfig import MpiConfiguration, TensorflowConfiguration

    warn_once("distributed_backend", "distributed_backend is the older form of distributed_training")
    name = str(given["distributed_backend"]).lower()
    if name in ("mpi", "openmpi", "intelmpi", "horovod"):
        return MpiConfiguration(given["process_count_per_node"], given["node_count"])
    if name in ("ps", "parameterserver"):
        return TensorflowConfiguration(given["worker_count"], given["parameter_server_count"])
    if name in ("nccl", "gloo"):
        from azureml.core.runconfig import PyTorchConfiguration

        return PyTorchConfiguration(given["node_count"], name.capitalize(), given["node_count"])
    raise UserErrorException(
        f"There is no distributed_backend '{given['distributed_backend']}'; use 'mpi' or 'ps'"
    )
