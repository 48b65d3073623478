"""Models. Their metadata classes construct; what needs a registry says that there is none yet."""

import os

from azureml.core._not_yet import needs_registry, no_registry
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.exceptions import UserErrorException

__all__ = ["InferenceConfig", "Model", "ModelPackage", "ResourceConfiguration"]

MODELS_FOLDER = "azureml-models"


class Model:
    """A registered model."""

    class Framework:
        """What a model was made with."""

        CUSTOM = "Custom"
        TENSORFLOW = "TensorFlow"
        SCIKITLEARN = "ScikitLearn"
        ONNX = "Onnx"
        TFKERAS = "TfKeras"
        PYTORCH = "PyTorch"
        MULTI = "Multi"

    _SUPPORTED_FRAMEWORKS_FOR_NO_CODE_DEPLOY = (Framework.ONNX, Framework.SCIKITLEARN, Framework.TENSORFLOW)

    @needs_registry
    def __init__(
        self,
        workspace,
        name=None,
        id=None,
        tags=None,
        properties=None,
        version=None,
        run_id=None,
        model_framework=None,
        expand=True,
        **kwargs,
    ):
        pass

    @staticmethod
    @needs_registry
    def register(
        workspace,
        model_path,
        model_name,
        tags=None,
        properties=None,
        description=None,
        datasets=None,
        model_framework=None,
        model_framework_version=None,
        child_paths=None,
        sample_input_dataset=None,
        sample_output_dataset=None,
        resource_configuration=None,
    ):
        pass

    @staticmethod
    @needs_registry
    def list(
        workspace,
        name=None,
        tags=None,
        properties=None,
        run_id=None,
        latest=False,
        dataset_id=None,
        expand=True,
        page_count=255,
        model_framework=None,
    ):
        pass

    @staticmethod
    @needs_registry
    def deploy(
        workspace,
        name,
        models,
        inference_config=None,
        deployment_config=None,
        deployment_target=None,
        overwrite=False,
        show_output=False,
    ):
        pass

    @staticmethod
    @needs_registry
    def package(
        workspace, models, inference_config=None, generate_dockerfile=False, image_name=None, image_label=None
    ):
        pass

    @staticmethod
    @needs_registry
    def profile(
        workspace,
        profile_name,
        models,
        inference_config,
        input_dataset,
        cpu=None,
        memory_in_gb=None,
        description=None,
    ):
        pass

    @staticmethod
    def get_model_path(model_name, version=None, _workspace=None):
        """Where a service finds a model: below AZUREML_MODEL_DIR, or below azureml-models."""
        folder = os.environ.get("AZUREML_MODEL_DIR")
        for root in [folder] if folder else []:
            nested = os.path.join(root, model_name)
            if os.path.isdir(nested):
                return _single(_version_folder(nested, version))
            return _single(root)
        local = os.path.join(MODELS_FOLDER, model_name)
        if os.path.isdir(local):
            return _single(_version_folder(local, version))
        no_registry("Model.get_model_path outside a service")
        return None

    @needs_registry
    def add_dataset_references(self, datasets):
        pass

    @needs_registry
    def add_properties(self, properties):
        pass

    @needs_registry
    def add_tags(self, tags):
        pass

    @needs_registry
    def remove_tags(self, tags):
        pass

    @needs_registry
    def delete(self):
        pass

    @needs_registry
    def download(self, target_dir=".", exist_ok=False, exists_ok=None):
        pass

    @needs_registry
    def serialize(self):
        pass

    @needs_registry
    def update(
        self,
        tags=None,
        description=None,
        sample_input_dataset=None,
        sample_output_dataset=None,
        resource_configuration=None,
    ):
        pass


def _version_folder(folder, version):
    versions = sorted((name for name in os.listdir(folder) if name.isdigit()), key=int)
    if version is not None and str(version) not in versions:
        raise UserErrorException(
            f"{folder} has no version {version} of the model; it has {', '.join(versions) or 'none'}"
        )
    return os.path.join(folder, str(version) if version is not None else versions[-1]) if versions else folder


def _single(folder):
    """A folder with one entry stands for that entry."""
    entries = os.listdir(folder)
    return os.path.join(folder, entries[0]) if len(entries) == 1 else folder


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


class ModelPackage:
    """A model with its environment as an image."""

    @needs_registry
    def __init__(self, workspace, operation_id, environment):
        pass
