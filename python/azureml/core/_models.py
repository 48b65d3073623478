"""Between the SDK's models and the registry of the server."""

import os

from azureml._filters import pairs
from azureml._service import check_name, translated
from azureml.exceptions import ModelNotFoundException, UserErrorException

# The SDK's framework -> Slipway's. A model of several files for several frameworks is served by a script alone.
FRAMEWORKS = {
    "Custom": "custom",
    "Multi": "custom",
    "TensorFlow": "tensorflow",
    "TfKeras": "keras",
    "ScikitLearn": "scikit-learn",
    "Onnx": "onnx",
    "PyTorch": "pytorch",
}
_MULTI = "azureml.framework"


def check_model_name(name):
    check_name(
        name,
        "a model",
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$",
        "a letter or digit, then up to 254 letters, digits, '-', '.' and '_'",
    )


def framework_name(framework):
    """Slipway's name for the SDK's."""
    if framework is None:
        return "custom"
    for azure, ours in FRAMEWORKS.items():
        if framework.lower() == azure.lower():
            return ours
    raise UserErrorException(f"'{framework}' is no framework; there are {', '.join(sorted(FRAMEWORKS))}")


def azure_framework(record):
    said = (record.get("properties") or {}).get(_MULTI)
    names = {ours: azure for azure, ours in FRAMEWORKS.items() if azure != "Multi"}
    return said or names.get(record["framework"], "Custom")


def facts(workspace, model_name, tags, properties, description, datasets, framework, framework_version, sample_input,
          sample_output, resources):  # fmt: skip
    """What every way of registering says."""
    check_model_name(model_name)
    document = {"name": model_name, "framework": framework_name(framework)}
    kept = {str(key): str(value) for key, value in (properties or {}).items()}
    if framework == "Multi":
        kept[_MULTI] = framework
    optional = {
        "tags": {str(key): str(value) for key, value in (tags or {}).items()},
        "properties": kept,
        "description": description,
        "framework_version": framework_version and str(framework_version),
        "datasets": {str(role): data._reference(workspace) for role, data in datasets or []},
        "sample_input": sample(workspace, sample_input),
        "sample_output": sample(workspace, sample_output),
        "resources": resource_fields(resources),
    }
    document.update((key, value) for key, value in optional.items() if value)
    return document


def sample(workspace, dataset):
    return None if dataset is None else {"dataset": dataset._reference(workspace)}


def resource_fields(resources):
    if resources is None:
        return None
    memory = resources.memory_in_gb
    given = {
        "cpus": resources.cpu,
        "memory_bytes": None if memory is None else int(memory * (1 << 30)),
        "gpus": resources.gpu,
    }
    return {key: value for key, value in given.items() if value is not None}


def register_files(workspace, path, document):
    """A file or a folder of this machine."""
    from slipway.models import send_files

    if not os.path.exists(path):
        raise UserErrorException(f"There is no file or folder {os.path.abspath(path)} to register")
    with translated(UserErrorException):
        snapshot = send_files(workspace._slipway, path)
        return workspace._post("/models", dict(document, snapshot=snapshot))


def register_of_run(run, path, document):
    """Files of a run. A job's own are sent first, where they lie in its working folder."""
    from azureml.core import _uploads

    if run._in_job and os.path.exists(path):
        _uploads.send(run._slipway_run, dict(_files_at(path)))
    with translated(UserErrorException):
        made = run._slipway_run
        return made.transport.create(made.path("/models"), dict(document, path=path))


def _files_at(path):
    if os.path.isfile(path):
        yield path, path
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)
            yield os.path.relpath(file).replace(os.sep, "/"), file


def find_all(workspace, name=None, tags=None, properties=None, run_id=None, latest=False, dataset_id=None,
             framework=None, limit=None):  # fmt: skip
    """Records, newest first."""
    with translated(UserErrorException):
        found = workspace._slipway.models.list(
            name=name,
            framework=None if framework is None else framework_name(framework),
            run=run_id,
            dataset=dataset_id,
            tags=pairs(tags),
            properties=pairs(properties),
            latest=bool(latest),
            limit=limit,
        )
    return [model.document for model in found]


def find_one(workspace, name, version=None):
    reference = name if version is None else f"{name}:{version}"
    with translated(UserErrorException, missing=ModelNotFoundException):
        return workspace._get("/models/{}", reference)
