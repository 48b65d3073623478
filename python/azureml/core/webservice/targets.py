"""Where Azure runs services; each has its configuration."""

from azureml._support import refused
from azureml.core.webservice.webservice import Webservice, WebserviceDeploymentConfiguration
from azureml.exceptions import WebserviceException


class AciServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """Made by AciWebservice.deploy_configuration."""


class AksServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """Made by AksWebservice.deploy_configuration."""


class LocalWebserviceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """Made by LocalWebservice.deploy_configuration."""


def _filled(made, values):
    for name, value in values.items():
        setattr(made, name, value)
    return made


class AciWebservice(Webservice):
    """A service of one container."""

    @staticmethod
    def deploy_configuration(
        cpu_cores=None,
        memory_gb=None,
        tags=None,
        properties=None,
        description=None,
        location=None,
        auth_enabled=None,
        ssl_enabled=None,
        enable_app_insights=None,
        ssl_cert_pem_file=None,
        ssl_key_pem_file=None,
        ssl_cname=None,
        dns_name_label=None,
        primary_key=None,
        secondary_key=None,
        collect_model_data=None,
        cmk_vault_base_url=None,
        cmk_key_name=None,
        cmk_key_version=None,
        vnet_name=None,
        subnet_name=None,
    ):
        given = dict(locals())
        if cpu_cores is not None and cpu_cores <= 0:
            raise WebserviceException("cpu_cores is more than 0")
        if memory_gb is not None and memory_gb <= 0:
            raise WebserviceException("memory_gb is more than 0")
        given["auth_enabled"] = bool(auth_enabled)
        return _filled(AciServiceDeploymentConfiguration("ACI"), given)


class AksWebservice(Webservice):
    """A service that scales."""

    @staticmethod
    def deploy_configuration(
        autoscale_enabled=None,
        autoscale_min_replicas=None,
        autoscale_max_replicas=None,
        autoscale_refresh_seconds=None,
        autoscale_target_utilization=None,
        collect_model_data=None,
        auth_enabled=None,
        cpu_cores=None,
        memory_gb=None,
        enable_app_insights=None,
        scoring_timeout_ms=None,
        replica_max_concurrent_requests=None,
        max_request_wait_time=None,
        num_replicas=None,
        primary_key=None,
        secondary_key=None,
        tags=None,
        properties=None,
        description=None,
        gpu_cores=None,
        period_seconds=None,
        initial_delay_seconds=None,
        timeout_seconds=None,
        success_threshold=None,
        failure_threshold=None,
        namespace=None,
        token_auth_enabled=None,
        compute_target_name=None,
        cpu_cores_limit=None,
        memory_gb_limit=None,
        blobfuse_enabled=None,
    ):
        given = dict(locals())
        defaults = {
            "autoscale_min_replicas": 1,
            "autoscale_max_replicas": 10,
            "autoscale_target_utilization": 70,
            "scoring_timeout_ms": 60000,
            "replica_max_concurrent_requests": 1,
            "auth_enabled": True,
        }
        given.update((name, value) for name, value in defaults.items() if given[name] is None)
        if given["autoscale_min_replicas"] > given["autoscale_max_replicas"]:
            raise WebserviceException("autoscale_min_replicas is not above autoscale_max_replicas")
        return _filled(AksServiceDeploymentConfiguration("AKS"), given)


class AksEndpoint(AksWebservice):
    """A service with several versions."""

    @staticmethod
    @refused(
        "a service of Slipway serves one version, and an update is loaded beside it; deploy two services"
    )
    def deploy_configuration(*args, **kwargs):
        pass


class LocalWebservice(Webservice):
    """A service on this machine."""

    @staticmethod
    def deploy_configuration(port=None):
        return _filled(LocalWebserviceDeploymentConfiguration("Local"), {"port": port})


def class_of(kind):
    return {"AKS": AksWebservice, "LOCAL": LocalWebservice}.get(str(kind).upper(), AciWebservice)
