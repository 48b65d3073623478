"""Services: their configurations construct; deploying waits for the model registry."""

from azureml._service import check_name
from azureml.core._not_yet import needs_registry


class WebserviceDeploymentConfiguration:
    """The parent of the configurations for Model.deploy."""

    def __init__(self, type, description=None, tags=None, properties=None, primary_key=None, secondary_key=None,
                 location=None):  # fmt: skip
        self.type = type
        self.description = description
        self.tags = tags
        self.properties = properties
        self.primary_key = primary_key
        self.secondary_key = secondary_key
        self.location = location

    def validate_configuration(self):
        pass


def check_service_name(name):
    check_name(
        name,
        "a service",
        r"^[a-z][a-z0-9-]{1,30}[a-z0-9]$",
        "3 to 32 small letters, digits and '-', beginning with a letter",
    )


class Webservice:
    """A deployed service by its name."""

    @needs_registry
    def __init__(self, workspace, name):
        pass

    @staticmethod
    @needs_registry
    def list(workspace, compute_type=None, image_name=None, image_id=None, model_name=None, model_id=None, tags=None,
             properties=None, image_digest=None):  # fmt: skip
        pass

    @staticmethod
    @needs_registry
    def deploy_from_model(workspace, name, models, image_config, deployment_config=None, deployment_target=None,
                          overwrite=False):  # fmt: skip
        pass

    @needs_registry
    def wait_for_deployment(self, show_output=False, timeout_sec=None):
        pass

    @needs_registry
    def run(self, input):
        pass

    @needs_registry
    def get_logs(self, num_lines=5000, init=False):
        pass

    @needs_registry
    def get_keys(self):
        pass

    @needs_registry
    def regen_key(self, key, set_key=None):
        pass

    @needs_registry
    def get_token(self):
        pass

    @needs_registry
    def update(self, *args):
        pass

    @needs_registry
    def delete(self):
        pass

    @needs_registry
    def serialize(self):
        pass

    @needs_registry
    def update_deployment_state(self):
        pass
