"""Network settings of Azure, accepted as configuration."""


class PrivateEndPoint:
    def __init__(self, details=None):
        self.details = details


class PrivateEndPointConfig:
    def __init__(
        self, name, vnet_name, vnet_subnet_name=None, vnet_subscription_id=None, vnet_resource_group=None
    ):
        self.name = name
        self.vnet_name = vnet_name
        self.vnet_subnet_name = vnet_subnet_name
        self.vnet_subscription_id = vnet_subscription_id
        self.vnet_resource_group = vnet_resource_group
