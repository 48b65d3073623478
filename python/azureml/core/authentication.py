"""Ways to log in to Azure. Slipway asks for a token of its own, found as the package `slipway` finds it, so these
accept what they are given and add nothing."""

import os


class AbstractAuthentication:
    """The parent of all; `get_authentication_header` gives the header that Slipway's own calls carry."""

    def get_authentication_header(self):
        from slipway._connection import find_connection

        token = find_connection().token
        return {"Authorization": f"Bearer {token}"} if token else {}

    def get_token(self, *scopes, **kwargs):
        from slipway._connection import find_connection

        return find_connection().token


class InteractiveLoginAuthentication(AbstractAuthentication):
    def __init__(self, force=False, tenant_id=None, cloud=None):
        self.tenant_id = tenant_id


class AzureCliAuthentication(AbstractAuthentication):
    def __init__(self, cloud=None):
        self.cloud = cloud


class ServicePrincipalAuthentication(AbstractAuthentication):
    def __init__(
        self,
        tenant_id,
        service_principal_id,
        service_principal_password=None,
        cloud="AzureCloud",
        _enable_caching=True,
    ):
        self.tenant_id = tenant_id
        self.service_principal_id = service_principal_id


class MsiAuthentication(AbstractAuthentication):
    def __init__(self, identity_config=None, cloud=None):
        self.identity_config = identity_config


class TokenAuthentication(AbstractAuthentication):
    def __init__(self, get_token_for_audience):
        self.get_token_for_audience = get_token_for_audience


class ArmTokenAuthentication(AbstractAuthentication):
    def __init__(self, arm_access_token=None, cloud="AzureCloud"):
        self.cloud = cloud

    def update_arm_access_token(self, new_arm_access_token):
        pass


class AzureMLTokenAuthentication(AbstractAuthentication):
    """The run's own token."""

    def __init__(
        self,
        azureml_access_token=None,
        expiry_time=None,
        host=None,
        subscription_id=None,
        resource_group_name=None,
        workspace_name=None,
        experiment_name=None,
        run_id=None,
        user_email=None,
    ):
        self.run_id = run_id or os.environ.get("AZUREML_RUN_ID")
