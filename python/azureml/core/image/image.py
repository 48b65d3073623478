"""Slipway serves models without making an image of each."""

from azureml._support import refused

_WHY = "Slipway deploys models without making images of them; use Model.deploy with an InferenceConfig"


class Image:
    @refused(_WHY)
    def __init__(self, workspace, name=None, id=None, tags=None, properties=None, version=None):
        pass

    @staticmethod
    @refused(_WHY)
    def create(workspace, name, models, image_config):
        pass


class ContainerImage(Image):
    @staticmethod
    @refused(_WHY)
    def image_configuration(
        execution_script,
        runtime,
        conda_file=None,
        docker_file=None,
        schema_file=None,
        dependencies=None,
        enable_gpu=None,
        tags=None,
        properties=None,
        description=None,
        base_image=None,
        base_image_registry=None,
        cuda_version=None,
    ):
        pass
