"""How a script is run: target, environment, number of nodes, launcher."""

import os

from azureml import _yaml
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.environment import (
    DEFAULT_CPU_IMAGE,
    DEFAULT_GPU_IMAGE,
    DockerSection,
    Environment,
    PythonSection,
    SparkSection,
)
from azureml.exceptions import RunConfigurationException, UserErrorException

DEFAULT_MMLSPARK_CPU_IMAGE = "mcr.microsoft.com/mmlspark/release"
_DEFAULT_ENVIRONMENT = "project_environment"

__all__ = [
    "DEFAULT_CPU_IMAGE",
    "DEFAULT_GPU_IMAGE",
    "AmlComputeConfiguration",
    "CondaDependencies",
    "Data",
    "DataPath",
    "DataReferenceConfiguration",
    "DockerConfiguration",
    "DockerSection",
    "EnvironmentDefinition",
    "HistoryConfiguration",
    "Mpi",
    "MpiConfiguration",
    "OutputData",
    "ParallelTaskConfiguration",
    "PyTorchConfiguration",
    "PythonSection",
    "RunConfiguration",
    "SparkSection",
    "Tensorflow",
    "TensorflowConfiguration",
]

EnvironmentDefinition = Environment


class MpiConfiguration:
    """Processes started by mpirun on each node."""

    def __init__(self, process_count_per_node=1, node_count=1):
        self.process_count_per_node = process_count_per_node
        self.node_count = node_count


class PyTorchConfiguration:
    """Processes that find each other through MASTER_ADDR, RANK and WORLD_SIZE; one a node when no count is given."""

    def __init__(self, process_count=None, communication_backend="Nccl", node_count=1):
        self.process_count = process_count
        self.communication_backend = communication_backend
        self.node_count = node_count


class TensorflowConfiguration:
    """Workers and parameter servers that find each other through TF_CONFIG."""

    def __init__(self, worker_count=1, parameter_server_count=1):
        self.worker_count = worker_count
        self.parameter_server_count = parameter_server_count


class ParallelTaskConfiguration:
    def __init__(self, max_retries_per_worker=0, worker_count_per_node=1, terminal_exit_codes=None):
        self.max_retries_per_worker = max_retries_per_worker
        self.worker_count_per_node = worker_count_per_node
        self.terminal_exit_codes = terminal_exit_codes


class Mpi(MpiConfiguration):
    """The older name, for `distributed_training` of estimators."""


class Tensorflow(TensorflowConfiguration):
    """The older name, for `distributed_training` of estimators."""


class DockerConfiguration:
    """How a container is run; an image in the environment decides whether there is one."""

    def __init__(self, use_docker=False, shared_volumes=True, arguments=None, shm_size=None):
        self.use_docker = use_docker
        self.shared_volumes = shared_volumes
        self.arguments = arguments or []
        self.shm_size = shm_size


class HistoryConfiguration:
    def __init__(self):
        self.output_collection = True
        self.snapshot_project = True
        self.directories_to_watch = ["logs"]


class AmlComputeConfiguration:
    def __init__(self):
        self.vm_size = None
        self.vm_priority = None
        self.name = None
        self.retain_cluster = False
        self._cluster_max_node_count = 1

    @property
    def cluster_max_node_count(self):
        return self._cluster_max_node_count


class DataPath:
    def __init__(self, datastore_name=None, relative_path=None):
        self.datastore_name = datastore_name
        self.relative_path = relative_path


class Data:
    """An input by its place in a datastore."""

    def __init__(
        self,
        data_location=None,
        create_output_directories=False,
        mechanism=None,
        environment_variable_name=None,
        path_on_compute=None,
        overwrite=False,
        options=None,
    ):
        self.data_location = data_location
        self.create_output_directories = create_output_directories
        self.mechanism = mechanism
        self.environment_variable_name = environment_variable_name
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite
        self.options = options


class OutputData:
    def __init__(
        self, output_location=None, mechanism=None, additional_options=None, environment_variable_name=None
    ):
        self.output_location = output_location
        self.mechanism = mechanism
        self.additional_options = additional_options
        self.environment_variable_name = environment_variable_name


class DataReferenceConfiguration:
    """A datastore path for a run, by mount, download or upload."""

    def __init__(
        self, datastore_name=None, mode="mount", path_on_datastore=None, path_on_compute=None, overwrite=False
    ):
        if mode not in ("mount", "download", "upload"):
            raise UserErrorException(f"A data reference's mode is mount, download or upload, not '{mode}'")
        self.data_store_name = datastore_name
        self.mode = mode
        self.path_on_data_store = path_on_datastore
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite


class RunConfiguration:
    """Everything about a run but its source folder. `RunConfiguration.load` and `save` use `.runconfig` files."""

    def __init__(
        self,
        script=None,
        arguments=None,
        framework=None,
        communicator=None,
        conda_dependencies=None,
        _history_enabled=None,
        _path=None,
        _name=None,
        command=None,
    ):
        self.script = script
        self.arguments = [] if arguments is None else arguments
        self.command = "" if command is None else command
        self.framework = framework or "Python"
        self.communicator = communicator or "None"
        self.target = "local"
        self.node_count = 1
        self.max_run_duration_seconds = 2592000
        self.auto_prepare_environment = True
        self.environment = Environment(_DEFAULT_ENVIRONMENT)
        if conda_dependencies is not None:
            self.environment.python.conda_dependencies = conda_dependencies
        self.history = HistoryConfiguration()
        self.amlcompute = AmlComputeConfiguration()
        self.docker = DockerConfiguration()
        self.mpi = MpiConfiguration()
        self.pytorch = PyTorchConfiguration()
        self.tensorflow = TensorflowConfiguration()
        self.parallel_task = ParallelTaskConfiguration()
        self.data_references = {}
        self.data = {}
        self.output_data = {}
        self.source_directory_data_store = None
        self.priority = None
        self.credential_passthrough = False
        self.identity = None
        self._name = _name
        self._path = _path

    def __repr__(self):
        return _yaml.dump(self._to_dict())

    @property
    def environment_variables(self):
        return self.environment.environment_variables

    @environment_variables.setter
    def environment_variables(self, value):
        self.environment.environment_variables = value

    @property
    def auto_prepare(self):
        return self.auto_prepare_environment

    # -- files ----------------------------------------------------------------------------------------------

    @staticmethod
    def load(path, name=None):
        """`path` is a folder (looked into as it is, and below .azureml and aml_config) or a file."""
        places = (
            [path]
            if os.path.isfile(path)
            else [
                os.path.join(path, folder, f"{name}.runconfig") for folder in (".azureml", "aml_config", "")
            ]
        )
        for place in places:
            if os.path.isfile(place):
                with open(place) as file:
                    value = _yaml.load(file.read(), place)
                if not isinstance(value, dict):
                    raise RunConfigurationException(f"{place} is not a run configuration")
                return RunConfiguration._from_dict(value, name or os.path.basename(place).split(".")[0])
        raise RunConfigurationException(
            "There is no run configuration '{}' in {}; looked for {}".format(name, path, ", ".join(places))
        )

    @staticmethod
    def delete(path, name):
        for folder in (".azureml", "aml_config", ""):
            place = os.path.join(path, folder, f"{name}.runconfig")
            if os.path.isfile(place):
                os.remove(place)
                return
        raise RunConfigurationException(f"There is no run configuration '{name}' in {path}")

    def save(self, path=None, name=None, separate_environment_yaml=False):
        name = name or self._name
        path = path or self._path or os.getcwd()
        if not name and not path.endswith(".runconfig"):
            raise UserErrorException("A run configuration needs a name to be saved under")
        file_path = path
        if not path.endswith(".runconfig"):
            folder = (
                path
                if os.path.basename(path) in (".azureml", "aml_config")
                else os.path.join(path, ".azureml")
            )
            os.makedirs(folder, exist_ok=True)
            file_path = os.path.join(folder, f"{name}.runconfig")
        with open(file_path, "w") as file:
            file.write(_yaml.dump(self._to_dict()))
        if separate_environment_yaml:
            self.environment.python.conda_dependencies.save_to_file(
                os.path.dirname(file_path) or ".", "environment.yml"
            )
        return file_path

    def _to_dict(self):
        return {
            "script": self.script,
            "arguments": [str(a) for a in self.arguments],
            "command": self.command if isinstance(self.command, str) else [str(c) for c in self.command],
            "target": _target_name(self.target),
            "framework": self.framework,
            "communicator": self.communicator,
            "maxRunDurationSeconds": self.max_run_duration_seconds,
            "nodeCount": self.node_count,
            "environment": self.environment._serialize_to_dict(),
            "history": {
                "outputCollection": self.history.output_collection,
                "snapshotProject": self.history.snapshot_project,
                "directoriesToWatch": list(self.history.directories_to_watch or []),
            },
            "mpi": {"processCountPerNode": self.mpi.process_count_per_node, "nodeCount": self.mpi.node_count},
            "pytorch": {
                "processCount": self.pytorch.process_count,
                "communicationBackend": self.pytorch.communication_backend,
                "nodeCount": self.pytorch.node_count,
            },
            "tensorflow": {
                "workerCount": self.tensorflow.worker_count,
                "parameterServerCount": self.tensorflow.parameter_server_count,
            },
        }

    @staticmethod
    def _from_dict(value, name=None):
        made = RunConfiguration(
            value.get("script"),
            value.get("arguments"),
            value.get("framework"),
            value.get("communicator"),
            command=value.get("command"),
            _name=name,
        )
        made.target = value.get("target") or "local"
        made.node_count = value.get("nodeCount") or 1
        made.max_run_duration_seconds = value.get("maxRunDurationSeconds") or made.max_run_duration_seconds
        if isinstance(value.get("environment"), dict):
            environment = dict(value["environment"])
            environment.setdefault("name", _DEFAULT_ENVIRONMENT)
            made.environment = Environment._from_dict(environment)
        for section, names in (
            ("mpi", {"processCountPerNode": "process_count_per_node", "nodeCount": "node_count"}),
            (
                "pytorch",
                {
                    "processCount": "process_count",
                    "communicationBackend": "communication_backend",
                    "nodeCount": "node_count",
                },
            ),
            ("tensorflow", {"workerCount": "worker_count", "parameterServerCount": "parameter_server_count"}),
        ):
            for key, attribute in names.items():
                if key in (value.get(section) or {}):
                    setattr(getattr(made, section), attribute, value[section][key])
        return made


def _target_name(target):
    return getattr(target, "name", target) or "local"
