"""Models: registered under a name, in versions, and deployed as services."""

import os

from azureml._service import iso, translated
from azureml._support import refused, reject_unknown, warn_once, without_effect
from azureml.core import _models
from azureml.core.inference_config import InferenceConfig
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.exceptions import ModelNotFoundException, UserErrorException, WebserviceException

__all__ = ["InferenceConfig", "Model", "ModelPackage", "ResourceConfiguration"]

MODELS_FOLDER = "azureml-models"
_NO_IMAGES = "Slipway serves models without building images; Model.deploy makes a service"


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
        record = kwargs.pop("_record", None)
        reject_unknown("Model", kwargs, {})
        self.workspace = workspace
        self._record = record or self._find(name, id, tags, properties, version, run_id, model_framework)

    def _find(self, name, id, tags, properties, version, run_id, framework):
        if name and ":" in name and id is None:
            name, id = None, name
        if id is not None:
            name, _, number = str(id).partition(":")
            version = version or number or None
        if not name:
            raise UserErrorException("A model is found by its name or its id; both are None")
        if version is not None and not (tags or properties or run_id or framework):
            return _models.find_one(self.workspace, name, version)
        found = _models.find_all(
            self.workspace, name, tags, properties, run_id, version is None, framework=framework
        )
        for record in found:
            if version is None or int(record["version"]) == int(version):
                return record
        raise ModelNotFoundException(
            f"There is no model '{name}' that fits in workspace {self.workspace.name}"
        )

    # -- what it is -----------------------------------------------------------------------------------------

    @property
    def name(self):
        return self._record["name"]

    @property
    def version(self):
        return int(self._record["version"])

    @property
    def id(self):
        return f"{self.name}:{self.version}"

    @property
    def url(self):
        return f"aml://asset/{self._record['snapshot']}"

    @property
    def description(self):
        return self._record.get("description") or None

    @property
    def tags(self):
        return dict(self._record.get("tags") or {})

    @property
    def properties(self):
        return dict(self._record.get("properties") or {})

    @property
    def run_id(self):
        return self._record.get("run")

    @property
    def run(self):
        from azureml.core.run import Run

        return Run.get(self.workspace, self.run_id) if self.run_id else None

    @property
    def created_by(self):
        return {"userName": self._record.get("created_by")}

    @property
    def created_time(self):
        from slipway._times import parse_time

        return parse_time(self._record["created_at"])

    @property
    def model_framework(self):
        return _models.azure_framework(self._record)

    @property
    def model_framework_version(self):
        return self._record.get("framework_version") or None

    @property
    def resource_configuration(self):
        wanted = self._record.get("resources") or {}
        if not any(wanted.values()):
            return None
        memory = wanted.get("memory_bytes") or 0
        return ResourceConfiguration(
            wanted.get("cpus") or None, memory / (1 << 30) or None, wanted.get("gpus") or None
        )

    @property
    def datasets(self):
        from azureml.core.dataset import Dataset

        found = {}
        for role, reference in (self._record.get("datasets") or {}).items():
            name, _, version = reference.partition(":")
            found.setdefault(role, []).append(Dataset.get_by_name(self.workspace, name, int(version)))
        return found

    def __repr__(self):
        return (
            f"Model(workspace={self.workspace!r}, name={self.name}, id={self.id}, version={self.version}, "
            f"tags={self.tags}, properties={self.properties})"
        )

    def serialize(self):
        record = self._record
        return {
            "id": self.id,
            "name": self.name,
            "version": self.version,
            "url": self.url,
            "createdTime": iso(record["created_at"]),
            "description": self.description,
            "framework": self.model_framework,
            "frameworkVersion": self.model_framework_version,
            "tags": self.tags,
            "properties": self.properties,
            "runId": self.run_id,
            "workspaceName": self.workspace.name,
        }

    # -- registering and finding ----------------------------------------------------------------------------

    @staticmethod
    @without_effect(child_paths="all files below model_path are the model")
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
        document = _models.facts(
            workspace, model_name, tags, properties, description, datasets, model_framework, model_framework_version,
            sample_input_dataset, sample_output_dataset, resource_configuration)  # fmt: skip
        print(f"Registering model {model_name}")
        return Model(workspace, _record=_models.register_files(workspace, model_path, document))

    @staticmethod
    @without_effect(expand="every record is whole", page_count="Slipway decides how many come at once")
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
        found = _models.find_all(
            workspace, name, tags, properties, run_id, latest, dataset_id, model_framework
        )
        return [Model(workspace, _record=record) for record in found]

    @staticmethod
    def get_model_path(model_name, version=None, _workspace=None):
        """Where a service finds a model: below AZUREML_MODEL_DIR, or below azureml-models; elsewhere it is fetched."""
        folder = os.environ.get("AZUREML_MODEL_DIR")
        if folder:
            nested = os.path.join(folder, model_name)
            return _single(_version_folder(nested, version) if os.path.isdir(nested) else folder)
        local = os.path.join(MODELS_FOLDER, model_name)
        if os.path.isdir(local):
            return _single(_version_folder(local, version))
        if _workspace is None:
            raise UserErrorException(
                f"There is no folder {MODELS_FOLDER}/{model_name} here; outside a service give _workspace, or download "
                "the model"
            )
        model = Model(_workspace, model_name, version=version)
        place = os.path.join(local, str(model.version))
        model.download(place, exist_ok=True)
        return _single(place)

    # -- deploying ------------------------------------------------------------------------------------------

    @staticmethod
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
        from azureml.core.webservice import _deployment

        service = _deployment.deploy(
            workspace, name, models, inference_config, deployment_config, deployment_target, overwrite
        )
        if show_output:
            service.wait_for_deployment(show_output=True)
        return service

    @staticmethod
    @refused(_NO_IMAGES)
    def package(
        workspace, models, inference_config=None, generate_dockerfile=False, image_name=None, image_label=None
    ):
        pass

    @staticmethod
    @refused("Slipway does not measure models by itself; slipway service show tells requests and their times")
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

    # -- changes --------------------------------------------------------------------------------------------

    def _change(self, document):
        with translated(UserErrorException):
            self._record = self.workspace._patch("/models/{}", document, self.id)

    def add_tags(self, tags):
        self._change({"tags": {str(key): str(value) for key, value in tags.items()}})

    def remove_tags(self, tags):
        names = [tags] if isinstance(tags, str) else tags
        self._change({"tags": {str(name): None for name in names}})

    def add_properties(self, properties):
        self._change({"properties": {str(key): str(value) for key, value in properties.items()}})

    @refused("what a model was made from is recorded when it is registered")
    def add_dataset_references(self, datasets):
        pass

    def update(
        self,
        tags=None,
        description=None,
        sample_input_dataset=None,
        sample_output_dataset=None,
        resource_configuration=None,
    ):
        wanted = {
            "description": description,
            "sample_input": _models.sample(self.workspace, sample_input_dataset),
            "sample_output": _models.sample(self.workspace, sample_output_dataset),
            "resources": _models.resource_fields(resource_configuration),
        }
        if tags is not None:
            gone = {name: None for name in self.tags}
            wanted["tags"] = {**gone, **{str(key): str(value) for key, value in tags.items()}}
        self._change({key: value for key, value in wanted.items() if value is not None})

    def download(self, target_dir=".", exist_ok=False, exists_ok=None):
        if exists_ok is not None:
            warn_once(
                "exists_ok", "Model.download: exists_ok is the older name of exist_ok", DeprecationWarning
            )
            exist_ok = exists_ok
        with translated(UserErrorException):
            model = self.workspace._slipway.models[self.id]
            tops = sorted({file.path.split("/")[0] for file in model.files()})
            there = [name for name in tops if os.path.exists(os.path.join(target_dir, name))]
            if there and not exist_ok:
                raise WebserviceException(
                    f"{os.path.join(target_dir, there[0])} is there already; give exist_ok=True to replace it"
                )
            model.download(target_dir)
        return os.path.join(target_dir, tops[0]) if len(tops) == 1 else target_dir

    def delete(self):
        with translated(WebserviceException):
            self.workspace._delete("/models/{}", self.id)


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


class ModelPackage:
    """A model with its environment as an image."""

    @refused(_NO_IMAGES)
    def __init__(self, workspace, operation_id, environment):
        pass
