"""What serves a model that needs a script."""

import os

from azureml.exceptions import UserErrorException


class InferenceConfig:
    """A service's entry script: `init()` once, `run(data)` for each request."""

    def __init__(
        self,
        entry_script,
        runtime=None,
        conda_file=None,
        extra_docker_file_steps=None,
        source_directory=None,
        enable_gpu=None,
        description=None,
        base_image=None,
        base_image_registry=None,
        cuda_version=None,
        environment=None,
    ):
        if not entry_script:
            raise UserErrorException("An InferenceConfig needs an entry_script")
        root = source_directory or "."
        if not os.path.isfile(os.path.join(root, entry_script)):
            raise UserErrorException(f"There is no entry script '{entry_script}' in {os.path.abspath(root)}")
        if environment is not None and (conda_file or base_image or extra_docker_file_steps):
            raise UserErrorException("Give environment, or the older conda_file and base_image, not both")
        self.entry_script = entry_script
        self.runtime = runtime
        self.conda_file = conda_file
        self.extra_docker_file_steps = extra_docker_file_steps
        self.source_directory = source_directory
        self.enable_gpu = enable_gpu
        self.description = description
        self.base_image = base_image
        self.base_image_registry = base_image_registry
        self.cuda_version = cuda_version
        self.environment = environment

    def _environment(self):
        """The environment that is meant, or None where the model's framework decides."""
        if self.environment is not None:
            return self.environment
        if not self.conda_file and not self.base_image:
            return None
        from azureml.core.environment import Environment

        if self.conda_file:
            file = os.path.join(self.source_directory or ".", self.conda_file)
            made = Environment.from_conda_specification("inference", file)
        else:
            made = Environment("inference")
        if self.base_image:
            made.docker.base_image = self.base_image
        return made
