"""The pieces of a pipeline."""

from azureml._support import constructs_only, refused
from azureml.exceptions import UserErrorException

_LATER = "pipelines come with a later version of Slipway; submit the steps one after the other until then"

__all__ = [
    "InputPortBinding",
    "OutputPortBinding",
    "Pipeline",
    "PipelineData",
    "PipelineParameter",
    "PipelineRun",
    "PipelineStep",
    "PublishedPipeline",
    "Schedule",
    "ScheduleRecurrence",
    "StepSequence",
    "TrainingOutput",
]


class PipelineData:
    """What one step leaves for another."""

    def __init__(
        self,
        name,
        datastore=None,
        output_name=None,
        output_mode="mount",
        output_path_on_compute=None,
        output_overwrite=None,
        data_type=None,
        is_directory=None,
        pipeline_output_name=None,
        training_output=None,
    ):
        self.name = name
        self.datastore = datastore
        self._output_name = output_name or name
        self._output_mode = output_mode
        self._output_path_on_compute = output_path_on_compute
        self.data_type = data_type
        self.is_directory = is_directory
        self.pipeline_output_name = pipeline_output_name

    def as_input(self, input_name):
        return InputPortBinding(input_name, bind_object=self)

    def as_mount(self):
        return self

    def as_download(self, input_name=None, path_on_compute=None, overwrite=None):
        return self

    def as_dataset(self):
        return self

    def __str__(self):
        return f"$AZUREML_DATAREFERENCE_{self.name}"


class PipelineParameter:
    def __init__(self, name, default_value):
        self.name = name
        self.default_value = default_value


class InputPortBinding:
    def __init__(self, name=None, bind_object=None, bind_mode="mount", path_on_compute=None, overwrite=None,
                 is_resource=False, additional_transformations=None, **kwargs):  # fmt: skip
        self.name = name
        self.bind_object = bind_object
        self.bind_mode = bind_mode


class OutputPortBinding:
    def __init__(self, name=None, datastore=None, output_name=None, bind_mode="mount", path_on_compute=None,
                 overwrite=None, data_type=None, is_directory=None, pipeline_output_name=None, training_output=None,
                 dataset_registration=None, dataset_output=None):  # fmt: skip
        self.name = name
        self.datastore = datastore


class TrainingOutput:
    def __init__(self, type, iteration=None, metric=None, model_file=None):
        self.type = type


class PipelineStep:
    """The parent of the steps."""

    def __init__(
        self, name, inputs, outputs, arguments=None, fix_port_name_collisions=False, resource_inputs=None
    ):
        self.name = name
        self.inputs = list(inputs or [])
        self.outputs = list(outputs or [])
        self.arguments = list(arguments or [])
        self._after = []

    def run_after(self, step):
        self._after.append(step)


class StepSequence:
    def __init__(self, steps=None):
        self.steps = list(steps or [])


@constructs_only(_LATER)
class Pipeline:
    """Steps in the order of their data."""

    def __init__(self, workspace, steps, description=None, default_datastore=None, default_source_directory=None,
                 resolve_closure=True, _workflow_provider=None, _service_endpoint=None, **kwargs):  # fmt: skip
        if not steps:
            raise UserErrorException("A pipeline has at least one step")
        self.workspace = workspace
        self.steps = steps
        self.description = description
        self.default_datastore = default_datastore

    def validate(self):
        return []

    @refused(_LATER)
    def submit(self, experiment_name, pipeline_parameters=None, continue_on_step_failure=False,
               regenerate_outputs=False, parent_run_id=None, credential_passthrough=False, **kwargs):  # fmt: skip
        pass

    @refused(_LATER)
    def publish(self, name=None, description=None, version=None, continue_on_step_failure=None, **kwargs):
        pass


class _NotYet:
    @refused(_LATER)
    def __init__(self, *args, **kwargs):
        pass


class PipelineRun(_NotYet):
    """A pipeline that was submitted; there is none yet."""


class PublishedPipeline(_NotYet):
    """A pipeline with an address; there is none yet."""


class Schedule(_NotYet):
    """Runs a published pipeline again and again; there is none yet."""


class ScheduleRecurrence:
    def __init__(self, frequency, interval, start_time=None, time_zone=None, hours=None, minutes=None, week_days=None,
                 time_of_day=None):  # fmt: skip
        self.frequency = frequency
        self.interval = interval
