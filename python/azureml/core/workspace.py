"""Workspaces. What a subscription and a resource group say is kept and shown; a workspace is found by its name."""

import os
from urllib.parse import quote

from azureml._service import check_name, iso, translated
from azureml._support import no_effect, refused, without_effect
from azureml.core import _config
from azureml.exceptions import UserErrorException, WorkspaceException

LOCAL_SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
LOCAL_RESOURCE_GROUP = "slipway"
_latest = None  # the workspace this process opened last: data by address alone names none
_AZURE_ONLY = "a Slipway workspace has no resources of Azure"


class Workspace:
    """A workspace of the Slipway server that this process finds."""

    DEFAULT_CPU_CLUSTER_CONFIGURATION = None
    DEFAULT_GPU_CLUSTER_CONFIGURATION = None

    @without_effect(
        tags="workspaces have no tags", sku=_AZURE_ONLY, _location=_AZURE_ONLY, _cloud=_AZURE_ONLY
    )
    def __init__(
        self,
        subscription_id,
        resource_group,
        workspace_name,
        auth=None,
        _location=None,
        _disable_service_check=False,
        _workspace_id=None,
        sku="basic",
        tags=None,
        _cloud="AzureCloud",
    ):
        check_workspace_name(workspace_name)
        self._subscription_id = subscription_id or LOCAL_SUBSCRIPTION
        self._resource_group = resource_group or LOCAL_RESOURCE_GROUP
        self._name = workspace_name
        with translated(WorkspaceException):
            from slipway._connection import find_connection
            from slipway._workspace import Workspace as SlipwayWorkspace
            from slipway._workspace import workspace as find_workspace

            if _disable_service_check:
                self._slipway = SlipwayWorkspace(find_connection(workspace_name))
            else:
                self._slipway = find_workspace(workspace_name)
            self._api = self._slipway.transport
        global _latest
        _latest = self

    def __repr__(self):
        return (
            f"Workspace.create(name='{self._name}', subscription_id='{self._subscription_id}', "
            f"resource_group='{self._resource_group}')"
        )

    def _repr_html_(self):
        from azureml._html import table

        return table(
            [
                ("Name", self.name),
                ("Resource group", self.resource_group),
                ("Server", self._api.connection.url),
            ]
        )

    # -- finding and making ---------------------------------------------------------------------------------

    @staticmethod
    def from_config(path=None, auth=None, _logger=None, _file_name=None):
        place = _config.find(path, _file_name)
        subscription, group, name = _config.read(place)
        try:
            return Workspace(subscription, group, name)
        except WorkspaceException as error:
            # A configuration of Azure's names a subscription nobody here knows: its workspace is made, once.
            if subscription in (None, LOCAL_SUBSCRIPTION) or not _is_missing(error):
                raise
        return Workspace._make(name, subscription, group)

    @staticmethod
    def get(
        name, auth=None, subscription_id=None, resource_group=None, location=None, cloud="AzureCloud", id=None
    ):
        return Workspace(subscription_id, resource_group, name)

    @staticmethod
    def list(subscription_id, auth=None, resource_group=None):
        with translated(WorkspaceException):
            from slipway._workspace import workspaces

            names = [item["name"] for item in workspaces()]
        return {
            name: [Workspace(subscription_id, resource_group, name, _disable_service_check=True)]
            for name in names
        }

    @staticmethod
    @without_effect(
        location=_AZURE_ONLY,
        sku=_AZURE_ONLY,
        tags="workspaces have no tags",
        storage_account=_AZURE_ONLY,
        key_vault=_AZURE_ONLY,
        app_insights=_AZURE_ONLY,
        container_registry=_AZURE_ONLY,
        adb_workspace=_AZURE_ONLY,
        primary_user_assigned_identity=_AZURE_ONLY,
        cmk_keyvault=_AZURE_ONLY,
        resource_cmk_uri=_AZURE_ONLY,
        hbi_workspace=_AZURE_ONLY,
        default_cpu_compute_target="create a cluster with ComputeTarget.create",
        default_gpu_compute_target="create a cluster with ComputeTarget.create",
        private_endpoint_config=_AZURE_ONLY,
        user_assigned_identity_for_cmk_encryption=_AZURE_ONLY,
        system_datastores_auth_mode=_AZURE_ONLY,
        v1_legacy_mode=_AZURE_ONLY,
    )
    def create(
        name,
        auth=None,
        subscription_id=None,
        resource_group=None,
        location=None,
        create_resource_group=True,
        sku="basic",
        tags=None,
        friendly_name=None,
        storage_account=None,
        key_vault=None,
        app_insights=None,
        container_registry=None,
        adb_workspace=None,
        primary_user_assigned_identity=None,
        cmk_keyvault=None,
        resource_cmk_uri=None,
        hbi_workspace=False,
        default_cpu_compute_target=None,
        default_gpu_compute_target=None,
        private_endpoint_config=None,
        private_endpoint_auto_approval=True,
        exist_ok=False,
        show_output=True,
        user_assigned_identity_for_cmk_encryption=None,
        system_datastores_auth_mode="accessKey",
        v1_legacy_mode=None,
    ):
        check_workspace_name(name)
        made = Workspace._make(name, subscription_id, resource_group, friendly_name, exist_ok)
        if show_output:
            print(f"Workspace '{name}' is ready at {made._api.connection.url}")
        return made

    @staticmethod
    def _make(name, subscription, group, description=None, exist_ok=True):
        with translated(WorkspaceException):
            from slipway._workspace import create_workspace
            from slipway.errors import ConflictError

            try:
                create_workspace(name, description or "", exist_ok=exist_ok)
            except ConflictError:
                if not exist_ok:
                    raise WorkspaceException(
                        f"There is a workspace '{name}' already; Workspace.get finds it, exist_ok=True accepts it"
                    ) from None
        return Workspace(subscription, group, name)

    def write_config(self, path=None, file_name=None):
        _config.write(path, file_name, self._subscription_id, self._resource_group, self._name)

    @without_effect(delete_dependent_resources=_AZURE_ONLY, no_wait="it is done at once")
    def delete(self, delete_dependent_resources=False, no_wait=False):
        with translated(WorkspaceException):
            self._api.remove(self._path(""))

    # -- calls of the other classes -------------------------------------------------------------------------

    def _path(self, path, *names):
        return self._api.connection.in_workspace(path.format(*[quote(str(name), safe="") for name in names]))

    def _get(self, path, *names):
        return self._api.get(self._path(path, *names))

    def _items(self, path, *names, **query):
        return self._api.items(self._path(path, *names), query)

    def _post(self, path, document, *names):
        return self._api.create(self._path(path, *names), document)

    def _patch(self, path, document, *names):
        return self._api.call("PATCH", self._path(path, *names), document)

    def _delete(self, path, *names):
        self._api.remove(self._path(path, *names))

    # -- what it is -----------------------------------------------------------------------------------------

    @property
    def name(self):
        return self._name

    @property
    def subscription_id(self):
        return self._subscription_id

    @property
    def resource_group(self):
        return self._resource_group

    @property
    def location(self):
        return "local"

    @property
    def sku(self):
        return "Basic"

    @property
    def tags(self):
        return {}

    @property
    def discovery_url(self):
        return self._api.connection.url

    @property
    def private_endpoints(self):
        return {}

    @property
    def linked_services(self):
        return {}

    @property
    def images(self):
        return {}

    @property
    def service_context(self):
        return None

    @property
    def _resource_id(self):
        return (
            f"/subscriptions/{self._subscription_id}/resourceGroups/{self._resource_group}/providers/"
            f"Microsoft.MachineLearningServices/workspaces/{self._name}"
        )

    def get_details(self):
        with translated(WorkspaceException):
            record = self._api.get(self._path(""))
        return {
            "id": self._resource_id,
            "name": self._name,
            "identity": None,
            "location": self.location,
            "type": "Microsoft.MachineLearningServices/workspaces",
            "tags": {},
            "sku": self.sku,
            "workspaceid": self._name,
            "description": record.get("description") or "",
            "friendlyName": record.get("description") or self._name,
            "creationTime": iso(record.get("created_at")),
            "provisioningState": "Succeeded",
            "discoveryUrl": self.discovery_url,
        }

    # -- what it holds --------------------------------------------------------------------------------------

    @property
    def compute_targets(self):
        from azureml.core.compute.amlcompute import AmlCompute

        with translated(WorkspaceException):
            records = self._items("/compute")
        return {r["name"]: AmlCompute(self, r["name"], r) for r in records if r["name"] != "local"}

    @property
    def experiments(self):
        from azureml.core.experiment import Experiment

        return {experiment.name: experiment for experiment in Experiment.list(self)}

    @property
    def environments(self):
        from azureml.core.environment import Environment

        return Environment.list(self)

    @property
    def datastores(self):
        from azureml.core.datastore import Datastore

        return Datastore._all(self)

    @property
    def datasets(self):
        from azureml.core.dataset import Dataset

        return Dataset.get_all(self)

    @property
    def models(self):
        from azureml.core.model import Model

        newest = {}
        for model in Model.list(self, latest=True):
            newest[model.name] = model
        return newest

    @property
    def webservices(self):
        from azureml.core.webservice.webservice import Webservice

        return {service.name: service for service in Webservice.list(self)}

    def get_default_datastore(self):
        from azureml.core.datastore import Datastore

        return Datastore.get_default(self)

    def set_default_datastore(self, name):
        from azureml.core.datastore import Datastore

        Datastore.get(self, name).set_as_default()

    def get_run(self, run_id):
        from azureml.core.run import Run

        return Run.get(self, run_id)

    @refused("the server does not speak MLflow's protocol yet; log with azureml.core.Run or slipway.log")
    def get_mlflow_tracking_uri(self, with_auth=False):
        pass

    def get_default_keyvault(self):
        from azureml.core.keyvault import Keyvault

        return Keyvault(self)

    def get_default_compute_target(self, type):
        return None

    # -- what Azure has and Slipway has not -----------------------------------------------------------------

    @staticmethod
    @no_effect("there is nothing to set up")
    def setup():
        return None

    @no_effect(_AZURE_ONLY)
    def sync_keys(self, no_wait=False):
        return None

    @no_effect(_AZURE_ONLY)
    def update(
        self,
        friendly_name=None,
        description=None,
        tags=None,
        image_build_compute=None,
        service_managed_resources_settings=None,
        primary_user_assigned_identity=None,
        allow_public_access_when_behind_vnet=None,
        v1_legacy_mode=None,
    ):
        return self.get_details()

    @no_effect(_AZURE_ONLY)
    def update_dependencies(
        self, container_registry=None, force=False, application_insights=None, show_output=True
    ):
        return None

    @refused(_AZURE_ONLY)
    def add_private_endpoint(
        self,
        private_endpoint_config,
        private_endpoint_auto_approval=True,
        location=None,
        show_output=True,
        tags=None,
    ):
        pass

    @refused(_AZURE_ONLY)
    def delete_private_endpoint_connection(self, private_endpoint_connection_name):
        pass

    @refused("`slipway doctor` says what is missing on a machine")
    def diagnose_workspace(self, diagnose_parameters):
        pass


def check_workspace_name(name):
    check_name(
        name,
        "a workspace",
        r"^[A-Za-z0-9][A-Za-z0-9_-]{2,32}$",
        "3 to 33 letters, digits, '_' and '-', beginning with a letter or digit",
    )


def _is_missing(error):
    from slipway.errors import NotFoundError

    return isinstance(error.inner_exception, NotFoundError)


def latest():
    """The workspace that was opened last, or that of the job this process is; None where there is neither."""
    if _latest is None and os.environ.get("SLIPWAY_RUN_ID"):
        return current_workspace()
    return _latest


def current_workspace():
    """The workspace of the job this process is, with what the job was told of subscription and group."""
    environ = os.environ
    return Workspace(
        environ.get("AZUREML_ARM_SUBSCRIPTION"),
        environ.get("AZUREML_ARM_RESOURCEGROUP"),
        environ.get("SLIPWAY_WORKSPACE", "default"),
        _disable_service_check=True,
    )


__all__ = ["UserErrorException", "Workspace"]
