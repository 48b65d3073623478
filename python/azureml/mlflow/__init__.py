"""MLflow's plug-in of the SDK."""

from azureml._support import refused

__all__ = ["get_portal_url", "register_model"]

_WHY = "the server does not speak MLflow's protocol yet; log with azureml.core.Run or slipway.log"


@refused(_WHY)
def get_portal_url(run):
    pass


@refused(_WHY)
def register_model(run, name, path, tags=None, **kwargs):
    pass
