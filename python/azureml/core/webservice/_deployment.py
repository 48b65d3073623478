"""From the SDK's models and configurations to a service of Slipway."""

from azureml._service import check_name, translated
from azureml._support import warn_once
from azureml.exceptions import UserErrorException, WebserviceException

# Services of Slipway have tags alone; what the SDK tells apart is kept in tags with these beginnings.
KIND_TAG = "azureml.compute_type"
PROPERTY_TAG = "azureml.property."

# Of a configuration, or of a call of update: what has its like here. The rest is accepted and has no effect.
_SETTINGS = {
    "cpu_cores": "cpus",
    "gpu_cores": "gpus",
    "description": "description",
    "autoscale_target_utilization": "target_utilization",
    "replica_max_concurrent_requests": "max_concurrent_requests",
}
_OWN_KEYS = "Slipway makes the keys of a service itself; get_keys shows them"
_NO_EFFECT = {
    "primary_key": _OWN_KEYS,
    "secondary_key": _OWN_KEYS,
    "ssl_enabled": "a service has the certificate of the Slipway server",
    "ssl_cert_pem_file": "a service has the certificate of the Slipway server",
    "ssl_key_pem_file": "a service has the certificate of the Slipway server",
    "ssl_cname": "a service has the address of the Slipway server",
    "dns_name_label": "a service has the address of the Slipway server",
    "location": "a service runs on the clusters of this installation",
    "port": "Slipway chooses the port of a service, which it then keeps; service.port tells it",
    "collect_model_data": "Slipway keeps no requests",
    "enable_app_insights": "Slipway shows its own figures: /services/NAME/metrics",
    "cpu_cores_limit": "cpu_cores is the share of a replica",
    "memory_gb_limit": "memory_gb is the bound of a replica",
    "namespace": "there are no namespaces here",
    "vnet_name": "there are no virtual networks here",
    "subnet_name": "there are no virtual networks here",
    "cmk_vault_base_url": "there are no vaults here",
    "cmk_key_name": "there are no vaults here",
    "cmk_key_version": "there are no vaults here",
    "autoscale_refresh_seconds": "Slipway looks at the load all the time",
    "max_request_wait_time": "scoring_timeout_ms bounds a request",
    "blobfuse_enabled": "models are placed before a replica starts",
    "period_seconds": "a replica is watched all the time",
    "initial_delay_seconds": "a replica says itself when it is ready",
    "timeout_seconds": "a replica is watched all the time",
    "success_threshold": "a replica says itself when it is ready",
    "failure_threshold": "a replica is watched all the time",
    "image": "Slipway serves models without building images",
}


def check_service_name(name):
    check_name(
        name,
        "a service",
        r"^[a-z][a-z0-9-]{1,30}[a-z0-9]$",
        "3 to 32 small letters, digits and '-', beginning with a letter",
    )


def deploy(workspace, name, models, inference_config, deployment_config, deployment_target, overwrite):
    check_service_name(name)
    kind = getattr(deployment_config, "type", None) or "ACI"
    document = settings_document(vars(deployment_config) if deployment_config is not None else {})
    if deployment_config is None:
        document["auth"] = "none"  # as AciWebservice.deploy_configuration() has it
    document.update(content_document(workspace, models, inference_config))
    document.setdefault("tags", {})[KIND_TAG] = kind
    target = getattr(deployment_target, "name", deployment_target)
    if target is not None:
        document["compute"] = str(target)
    elif getattr(deployment_config, "compute_target_name", None):
        document["compute"] = deployment_config.compute_target_name
    from azureml.core.webservice.targets import class_of

    with translated(WebserviceException):
        made = workspace._slipway.services.create(dict(document, name=name, overwrite=bool(overwrite)))
    return class_of(kind)._of(workspace, made)


def content_document(workspace, models, inference_config):
    """What is served, and with what."""
    from azureml.core import _environments

    document = {}
    if models is not None:
        for model in models:
            if not hasattr(model, "id"):
                raise UserErrorException(f"{model!r} is no registered model; register it: Model.register")
        document["models"] = [model.id for model in models]
    if inference_config is None:
        return document
    environment = inference_config._environment()
    if environment is not None:
        document["environment"] = _environments.reference(workspace, environment)
        document["variables"] = {str(k): str(v) for k, v in environment.environment_variables.items()}
    document["entry"] = inference_config.entry_script.replace("\\", "/")
    with translated(WebserviceException):
        document["snapshot"] = workspace._slipway.send_folder(inference_config.source_directory or ".")
    return document


def settings_document(given):
    """Auth, scale, resources and words of a configuration or an update; None means not said."""
    said = {name: value for name, value in given.items() if value is not None}
    document = {ours: said[azure] for azure, ours in _SETTINGS.items() if azure in said}
    if "memory_gb" in said:
        document["memory_bytes"] = int(float(said["memory_gb"]) * (1 << 30))
    if "scoring_timeout_ms" in said:
        document["timeout_seconds"] = said["scoring_timeout_ms"] / 1000
    if said.get("token_auth_enabled"):
        document["auth"] = "token"
    elif "auth_enabled" in said:
        document["auth"] = "key" if said["auth_enabled"] else "none"
    document.update(_replicas(said))
    tags = {str(key): str(value) for key, value in said.get("tags", {}).items()}
    tags.update({PROPERTY_TAG + str(key): str(value) for key, value in said.get("properties", {}).items()})
    if tags:
        document["tags"] = tags
    for name, why in _NO_EFFECT.items():
        if said.get(name):
            warn_once(("service", name), f"'{name}' of a service has no effect: {why}")
    return document


def _replicas(said):
    """A fixed number switches scaling off, as in the SDK."""
    if said.get("num_replicas"):
        return {"replicas": {"min": said["num_replicas"], "max": said["num_replicas"]}}
    bounds = [said.get("autoscale_min_replicas"), said.get("autoscale_max_replicas")]
    if bounds == [None, None]:
        return {}
    if said.get("autoscale_enabled") is False:
        return {"replicas": {"min": bounds[0] or 1, "max": bounds[0] or 1}}
    return {"replicas": {"min": bounds[0] or 1, "max": bounds[1] or bounds[0]}}


def known_setting(name):
    known = {"models", "inference_config", "memory_gb", "scoring_timeout_ms", "token_auth_enabled", "auth_enabled",
             "tags", "properties", "num_replicas", "autoscale_enabled", "autoscale_min_replicas",
             "autoscale_max_replicas"}  # fmt: skip
    return name in known or name in _SETTINGS or name in _NO_EFFECT
