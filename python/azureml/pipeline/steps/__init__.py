"""The steps of pipelines."""

from azureml.exceptions import UserErrorException
from azureml.pipeline.core import PipelineStep

__all__ = [
    "CommandStep",
    "EstimatorStep",
    "HyperDriveStep",
    "ParallelRunConfig",
    "ParallelRunStep",
    "PythonScriptStep",
]


class PythonScriptStep(PipelineStep):
    """A script as a step."""

    def __init__(
        self,
        script_name,
        name=None,
        arguments=None,
        compute_target=None,
        runconfig=None,
        runconfig_pipeline_params=None,
        inputs=None,
        outputs=None,
        params=None,
        source_directory=None,
        allow_reuse=True,
        version=None,
        hash_paths=None,
    ):
        if not script_name:
            raise UserErrorException("A PythonScriptStep needs a script_name")
        super().__init__(name or script_name, inputs, outputs, arguments)
        self.script_name = script_name
        self.compute_target = compute_target
        self.runconfig = runconfig
        self.source_directory = source_directory
        self.allow_reuse = allow_reuse


class CommandStep(PipelineStep):
    """A command as a step."""

    def __init__(self, command=None, name=None, compute_target=None, runconfig=None, runconfig_pipeline_params=None,
                 inputs=None, outputs=None, params=None, source_directory=None, allow_reuse=True,
                 version=None):  # fmt: skip
        super().__init__(name or "command", inputs, outputs)
        self.command = command
        self.compute_target = compute_target
        self.source_directory = source_directory


class EstimatorStep(PipelineStep):
    """An estimator as a step."""

    def __init__(self, name=None, estimator=None, estimator_entry_script_arguments=None,
                 runconfig_pipeline_params=None, inputs=None, outputs=None, compute_target=None, allow_reuse=True,
                 version=None):  # fmt: skip
        super().__init__(name or "estimator", inputs, outputs, estimator_entry_script_arguments)
        self.estimator = estimator
        self.compute_target = compute_target


class HyperDriveStep(PipelineStep):
    """A search as a step."""

    def __init__(self, name, hyperdrive_config, estimator_entry_script_arguments=None, inputs=None, outputs=None,
                 metrics_output=None, allow_reuse=True, version=None):  # fmt: skip
        super().__init__(name, inputs, outputs, estimator_entry_script_arguments)
        self.hyperdrive_config = hyperdrive_config


class ParallelRunConfig:
    """How a ParallelRunStep cuts its input."""

    def __init__(self, environment, entry_script, error_threshold, output_action, compute_target, node_count,
                 process_count_per_node=None, mini_batch_size=None, source_directory=None, description=None,
                 logging_level="INFO", run_invocation_timeout=60, run_max_try=3, append_row_file_name=None,
                 allowed_failed_count=None, allowed_failed_percent=None, partition_keys=None,
                 environment_variables=None):  # fmt: skip
        self.environment = environment
        self.entry_script = entry_script
        self.compute_target = compute_target
        self.node_count = node_count


class ParallelRunStep(PipelineStep):
    """A script over many small batches."""

    def __init__(self, name, parallel_run_config, inputs, output=None, side_inputs=None, arguments=None,
                 allow_reuse=True):  # fmt: skip
        super().__init__(name, inputs, [output] if output is not None else [], arguments)
        self.parallel_run_config = parallel_run_config
