"""A script or command with its source folder: what is given to Experiment.submit."""

from azureml._support import without_effect
from azureml.core.runconfig import RunConfiguration
from azureml.exceptions import UserErrorException

MAX_RUN_DURATION_SECONDS_DEFAULT = 30 * 24 * 60 * 60


def get_run_config_from_script_run(script_run_config):
    return script_run_config.run_config


class ScriptRunConfig:
    """`script` with `arguments`, or `command`; on a compute target, in an environment."""

    MAX_RUN_DURATION_SECONDS_DEFAULT = MAX_RUN_DURATION_SECONDS_DEFAULT

    @without_effect(_telemetry_values="nothing is reported to anyone")
    def __init__(
        self,
        source_directory,
        script=None,
        arguments=None,
        run_config=None,
        _telemetry_values=None,
        compute_target=None,
        environment=None,
        distributed_job_config=None,
        resume_from=None,
        max_run_duration_seconds=MAX_RUN_DURATION_SECONDS_DEFAULT,
        command=None,
        docker_runtime_config=None,
    ):
        if command and (script or arguments):
            raise UserErrorException("Give a script with its arguments, or a command, not both")
        if run_config is not None and (compute_target or environment or distributed_job_config):
            raise UserErrorException(
                "Give run_config, or compute_target, environment and distributed_job_config, not both"
            )
        self.source_directory = source_directory or "."
        self.run_config = run_config if run_config is not None else RunConfiguration()
        self.script = script or self.run_config.script
        self.arguments = arguments if arguments is not None else self.run_config.arguments
        self.command = command or self.run_config.command
        if not self.script and not self.command:
            raise UserErrorException("A run needs a script or a command")
        self.resume_from = resume_from
        self.max_run_duration_seconds = max_run_duration_seconds
        self.distributed_job_config = distributed_job_config
        self.run_config.script = self.script
        self.run_config.arguments = self.arguments
        self.run_config.command = self.command
        if max_run_duration_seconds != MAX_RUN_DURATION_SECONDS_DEFAULT:
            self.run_config.max_run_duration_seconds = max_run_duration_seconds
        if compute_target is not None:
            self.run_config.target = compute_target
        if environment is not None:
            self.run_config.environment = environment
        if docker_runtime_config is not None:
            self.run_config.docker = docker_runtime_config
        if distributed_job_config is not None:
            self._distribute(distributed_job_config)

    def _distribute(self, config):
        run_config = self.run_config
        kind = next((c.__name__ for c in type(config).__mro__ if c.__name__ in _LAUNCHERS), None)
        if kind is None:
            raise UserErrorException(
                "distributed_job_config is an MpiConfiguration, a TensorflowConfiguration or a PyTorchConfiguration, "
                f"not {type(config).__name__}"
            )
        framework, communicator, section = _LAUNCHERS[kind]
        if kind == "PyTorchConfiguration":
            communicator = str(config.communication_backend or communicator).capitalize()
        run_config.framework, run_config.communicator = framework, communicator
        setattr(run_config, section, config)
        run_config.node_count = getattr(config, "node_count", None) or 1
        if kind == "TensorflowConfiguration":
            run_config.node_count = max(1, (config.worker_count or 0) + (config.parameter_server_count or 0))


_LAUNCHERS = {
    "MpiConfiguration": ("Python", "Mpi", "mpi"),
    "PyTorchConfiguration": ("PyTorch", "Nccl", "pytorch"),
    "TensorflowConfiguration": ("TensorFlow", "ParameterServer", "tensorflow"),
    "ParallelTaskConfiguration": ("Python", "ParallelTask", "parallel_task"),
}
