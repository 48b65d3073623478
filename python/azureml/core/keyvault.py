"""Secrets of a workspace."""

from azureml._support import refused

_WHY = "Slipway keeps no secrets for jobs; give them as environment variables of the run"


class Keyvault:
    def __init__(self, workspace):
        self.workspace = workspace

    @refused(_WHY)
    def get_secret(self, name):
        pass

    @refused(_WHY)
    def get_secrets(self, secrets):
        pass

    @refused(_WHY)
    def set_secret(self, name, value):
        pass

    @refused(_WHY)
    def set_secrets(self, secrets_batch):
        pass

    @refused(_WHY)
    def list_secrets(self):
        pass

    @refused(_WHY)
    def delete_secret(self, name):
        pass

    @refused(_WHY)
    def delete_secrets(self, secrets):
        pass

    @refused(_WHY)
    def get_secret_content_type(self, name):
        pass
