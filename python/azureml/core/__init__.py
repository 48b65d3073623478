"""The central classes of the SDK; each is imported when it is first used."""

from azureml._lazy import lazy
from azureml._version import VERSION

lazy(
    __name__,
    {
        "azureml.core.workspace": "Workspace",
        "azureml.core.experiment": "Experiment",
        "azureml.core.run": "Run get_run",
        "azureml.core.script_run": "ScriptRun",
        "azureml.core.script_run_config": "ScriptRunConfig",
        "azureml.core.runconfig": "RunConfiguration",
        "azureml.core.environment": "Environment",
        "azureml.core.compute.compute": "ComputeTarget",
        "azureml.core.datastore": "Datastore",
        "azureml.core.dataset": "Dataset",
        "azureml.core.model": "Model",
        "azureml.core.image.image": "Image",
        "azureml.core.webservice.webservice": "Webservice",
        "azureml.core.keyvault": "Keyvault",
        "azureml.core.resource_configuration": "ResourceConfiguration",
        "azureml.core.private_endpoint": "PrivateEndPoint",
        "azureml.core.container_registry": "ContainerRegistry",
    },
)

__version__ = VERSION
