"""Services of models."""

from azureml._lazy import lazy

lazy(
    __name__,
    {
        "azureml.core.webservice.webservice": "Webservice",
        "azureml.core.webservice.targets": "AciWebservice AksEndpoint AksWebservice LocalWebservice",
        "azureml.exceptions": "WebserviceException",
    },
)
