"""Compute targets of Azure that have no counterpart: their configurations say so."""

from azureml._support import refused
from azureml.core.compute.compute import ComputeTarget

_LOCAL = "Slipway runs jobs on its own nodes; create a cluster with AmlCompute.provisioning_configuration"
_SSH = (
    "Slipway does not log in to machines; start an agent on that machine and its jobs run there, or use the compute "
    "target 'local'"
)


class RemoteCompute(ComputeTarget):
    """Another machine over SSH."""

    @staticmethod
    @refused(_SSH)
    def attach_configuration(
        username=None,
        address=None,
        resource_id=None,
        ssh_port=22,
        password=None,
        private_key_file="",
        private_key_passphrase="",
        use_ssh=True,
    ):
        pass


class DsvmCompute(ComputeTarget):
    """A data science virtual machine."""

    @staticmethod
    @refused(_LOCAL)
    def provisioning_configuration(vm_size=None, ssh_port=None, location=None):
        pass


class AksCompute(ComputeTarget):
    """A Kubernetes service."""

    @staticmethod
    @refused(_LOCAL)
    def provisioning_configuration(
        agent_count=None,
        vm_size=None,
        ssl_cname=None,
        ssl_cert_pem_file=None,
        ssl_key_pem_file=None,
        location=None,
        vnet_resourcegroup_name=None,
        vnet_name=None,
        subnet_name=None,
        service_cidr=None,
        dns_service_ip=None,
        docker_bridge_cidr=None,
        cluster_purpose=None,
        load_balancer_type=None,
        load_balancer_subnet=None,
    ):
        pass


class KubernetesCompute(ComputeTarget):
    """An attached Kubernetes cluster."""

    @staticmethod
    @refused(_LOCAL)
    def attach_configuration(resource_id=None, namespace=None, identity_type=None, identity_ids=None):
        pass


class ComputeInstance(ComputeTarget):
    """A workstation in the cloud."""

    @staticmethod
    @refused(_LOCAL)
    def provisioning_configuration(
        vm_size="",
        ssh_public_access=False,
        admin_user_ssh_public_key=None,
        vnet_resourcegroup_name=None,
        vnet_name=None,
        subnet_name=None,
        tags=None,
        description=None,
        assigned_user_object_id=None,
        assigned_user_tenant_id=None,
    ):
        pass


class HDInsightCompute(ComputeTarget):
    """A Spark cluster."""

    @staticmethod
    @refused(_LOCAL)
    def attach_configuration(
        username=None,
        address=None,
        resource_id=None,
        ssh_port=22,
        password=None,
        private_key_file="",
        private_key_passphrase="",
    ):
        pass


class BatchCompute(ComputeTarget):
    """A batch account."""

    @staticmethod
    @refused(_LOCAL)
    def attach_configuration(resource_group=None, account_name=None, resource_id=None):
        pass


class DatabricksCompute(ComputeTarget):
    """A Databricks workspace."""

    @staticmethod
    @refused(_LOCAL)
    def attach_configuration(resource_group=None, workspace_name=None, resource_id=None, access_token=""):
        pass


class DataFactoryCompute(ComputeTarget):
    """A data factory."""

    @staticmethod
    @refused(_LOCAL)
    def provisioning_configuration(location=None):
        pass


class AdlaCompute(ComputeTarget):
    """Data Lake Analytics."""

    @staticmethod
    @refused(_LOCAL)
    def attach_configuration(resource_group=None, account_name=None, resource_id=None):
        pass


class KustoCompute(ComputeTarget):
    """A Kusto cluster."""

    @staticmethod
    @refused(_LOCAL)
    def attach_configuration(
        resource_group=None,
        workspace_name=None,
        resource_id=None,
        tenant_id=None,
        kusto_connection_string=None,
        application_id=None,
        application_key=None,
    ):
        pass


class SynapseCompute(ComputeTarget):
    """A Spark pool."""

    @staticmethod
    @refused(_LOCAL)
    def attach_configuration(linked_service, type, pool_name):
        pass
