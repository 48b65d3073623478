"""AmlCompute: an elastic cluster of the workspace."""

from azureml._service import iso, translated
from azureml._support import no_effect, warn_once, without_effect
from azureml.core.compute import _sizes
from azureml.core.compute.compute import (
    RESERVED_NAMES,
    ComputeTarget,
    ComputeTargetProvisioningConfiguration,
    ComputeTargetStatus,
    StateLine,
    poll_until,
)
from azureml.exceptions import ComputeTargetException

_PRIORITIES = {"dedicated": "dedicated", "lowpriority": "low"}
_NO_LOGIN = "nodes are processes of this machine; nobody logs in to them"
_NO_NETWORK = "nodes are reached through the Slipway server; there is no virtual network"


class AmlComputeStatus(ComputeTargetStatus):
    """Node counts and scale settings of a cluster; `serialize` has Azure's keys."""


class ScaleSettings:
    def __init__(self, minimum_node_count, maximum_node_count, idle_seconds_before_scaledown):
        self.minimum_node_count = minimum_node_count
        self.maximum_node_count = maximum_node_count
        self.idle_seconds_before_scaledown = idle_seconds_before_scaledown

    def serialize(self):
        return {
            "minNodeCount": self.minimum_node_count,
            "maxNodeCount": self.maximum_node_count,
            "nodeIdleTimeBeforeScaleDown": f"PT{int(self.idle_seconds_before_scaledown)}S",
        }


class AmlComputeProvisioningConfiguration(ComputeTargetProvisioningConfiguration):
    """Made by AmlCompute.provisioning_configuration."""

    def __init__(
        self,
        vm_size="",
        vm_priority="dedicated",
        min_nodes=0,
        max_nodes=None,
        idle_seconds_before_scaledown=1800,
        admin_username=None,
        admin_user_password=None,
        admin_user_ssh_key=None,
        vnet_resourcegroup_name=None,
        vnet_name=None,
        subnet_name=None,
        tags=None,
        description=None,
        remote_login_port_public_access="NotSpecified",
        identity_type=None,
        identity_id=None,
        compute_location=None,
        enable_node_public_ip=True,
    ):
        super().__init__(compute_location)
        self.vm_size = vm_size or _sizes.DEFAULT
        self.vm_priority = vm_priority or "dedicated"
        self.min_nodes = min_nodes or 0
        self.max_nodes = 4 if max_nodes is None else max_nodes
        self.idle_seconds_before_scaledown = (
            1800 if idle_seconds_before_scaledown is None else idle_seconds_before_scaledown
        )
        self.tags = tags
        self.description = description
        self.validate_configuration()

    @property
    def _compute_type(self):
        return AmlCompute

    def validate_configuration(self):
        if str(self.vm_priority).lower() not in _PRIORITIES:
            raise ComputeTargetException(
                f"vm_priority is 'dedicated' or 'lowpriority', not '{self.vm_priority}'"
            )
        if not 0 <= self.min_nodes <= self.max_nodes:
            raise ComputeTargetException(
                f"min_nodes is {self.min_nodes} and max_nodes {self.max_nodes}; they are 0 or more, and the least "
                "is not above the most"
            )
        if self.max_nodes < 1:
            raise ComputeTargetException("A cluster has a max_nodes of 1 or more")
        if _sizes.shape(self.vm_size) is None:
            raise ComputeTargetException(
                f"'{self.vm_size}' is not a size of a virtual machine, such as STANDARD_D2_V2"
            )


class AmlCompute(ComputeTarget):
    """An elastic cluster: nodes come when runs wait and go when they have been idle."""

    _compute_type = "AmlCompute"

    def __init__(self, workspace, name, _record=None, _vm_size=None):
        self._vm_size = _vm_size
        super().__init__(workspace, name, _record)

    @staticmethod
    @without_effect(
        admin_username=_NO_LOGIN,
        admin_user_password=_NO_LOGIN,
        admin_user_ssh_key=_NO_LOGIN,
        vnet_resourcegroup_name=_NO_NETWORK,
        vnet_name=_NO_NETWORK,
        subnet_name=_NO_NETWORK,
        remote_login_port_public_access=_NO_LOGIN,
        identity_type="jobs act with a token for their own run",
        identity_id="jobs act with a token for their own run",
        location="nodes are where the Slipway server starts them",
        enable_node_public_ip=_NO_NETWORK,
        tags="clusters have a name and no tags",
        description="clusters have a name and no description",
    )
    def provisioning_configuration(
        vm_size="",
        vm_priority="dedicated",
        min_nodes=0,
        max_nodes=None,
        idle_seconds_before_scaledown=1800,
        admin_username=None,
        admin_user_password=None,
        admin_user_ssh_key=None,
        vnet_resourcegroup_name=None,
        vnet_name=None,
        subnet_name=None,
        tags=None,
        description=None,
        remote_login_port_public_access="NotSpecified",
        identity_type=None,
        identity_id=None,
        location=None,
        enable_node_public_ip=True,
    ):
        return AmlComputeProvisioningConfiguration(
            vm_size,
            vm_priority,
            min_nodes,
            max_nodes,
            idle_seconds_before_scaledown,
            tags=tags,
            description=description,
        )

    @staticmethod
    def _create(workspace, name, config):
        if str(name).lower() in RESERVED_NAMES:
            raise ComputeTargetException(f"'{name}' is a reserved name; choose another one for the cluster")
        cores, memory, gpus = _sizes.shape(config.vm_size)
        wanted = {
            "name": name,
            "min_nodes": config.min_nodes,
            "max_nodes": config.max_nodes,
            "idle_seconds": config.idle_seconds_before_scaledown,
            "cpus": cores,
            "memory_bytes": memory,
            "gpus": gpus,
            "priority": _PRIORITIES[config.vm_priority.lower()],
        }
        with translated(ComputeTargetException):
            record = workspace._post("/compute", wanted)
        cut = [sentence for sentence in record.get("warnings", []) if "were to have" in sentence]
        if cut:
            warn_once(
                ("vm size", config.vm_size),
                f"{config.vm_size} is more than this machine has; runs go on with less: {'; '.join(cut)}",
            )
        return AmlCompute(workspace, name, record, config.vm_size.upper())

    @staticmethod
    @without_effect(location="sizes are shapes of local nodes, the same everywhere")
    def supported_vmsizes(workspace, location=None):
        return _sizes.all_sizes()

    # -- state ----------------------------------------------------------------------------------------------

    @property
    def vm_size(self):
        return self._vm_size or _sizes.nearest(self._record["cpus"], self._record["gpus"])

    @property
    def vm_priority(self):
        return "LowPriority" if self._record["priority"] == "low" else "Dedicated"

    @property
    def scale_settings(self):
        record = self._record
        return ScaleSettings(record["min_nodes"], record["max_nodes"], int(record["idle_seconds"]))

    def get_status(self):
        self.refresh_state()
        nodes = self._record["nodes"]
        there = sum(nodes.get(state, 0) for state in ("starting", "idle", "busy", "draining"))
        moving = nodes.get("starting", 0) + nodes.get("draining", 0)
        return AmlComputeStatus(
            currentNodeCount=there - nodes.get("starting", 0),
            targetNodeCount=there - nodes.get("draining", 0),
            nodeStateCounts={
                "preparingNodeCount": nodes.get("starting", 0),
                "runningNodeCount": nodes.get("busy", 0),
                "idleNodeCount": nodes.get("idle", 0),
                "unusableNodeCount": nodes.get("lost", 0),
                "leavingNodeCount": nodes.get("draining", 0),
                "preemptedNodeCount": 0,
            },
            allocationState="Resizing" if moving else "Steady",
            allocationStateTransitionTime=self.created_on,
            errors=None,
            creationTime=iso(self._record["created_at"]),
            modifiedTime=iso(self._record["created_at"]),
            provisioningState=self.provisioning_state,
            provisioningStateTransitionTime=None,
            scaleSettings=self.scale_settings.serialize(),
            vmPriority=self.vm_priority,
            vmSize=self.vm_size,
        )

    @property
    def status(self):
        return self.get_status()

    def wait_for_completion(
        self, show_output=False, min_node_count=None, timeout_in_minutes=25, is_delete_operation=False
    ):
        line = StateLine(show_output)
        if is_delete_operation:
            gone = poll_until(lambda: self._is_gone(line), timeout_in_minutes * 60)
            line.end(
                "AmlCompute: deleted" if gone else "AmlCompute: it is still there, the time to wait is over"
            )
            return
        wanted = self._record["min_nodes"] if min_node_count is None else min_node_count
        if wanted > self._record["max_nodes"]:
            raise ComputeTargetException(
                f"min_node_count is {wanted}; the cluster '{self.name}' has {self._record['max_nodes']} nodes at most"
            )
        reached = poll_until(lambda: self._has_nodes(wanted, line), timeout_in_minutes * 60)
        said = (
            "the nodes asked for are there"
            if reached
            else "the time to wait is over; fewer nodes are there than asked for"
        )
        line.end(f"AmlCompute: {said}", "")

    def _has_nodes(self, wanted, line):
        there = self.get_status().currentNodeCount >= wanted
        line.say("Succeeded" if there else "Resizing")
        return there

    def _is_gone(self, line):
        try:
            self.refresh_state()
        except ComputeTargetException:
            return True
        line.say("Deleting")
        return False

    def update(self, min_nodes=None, max_nodes=None, idle_seconds_before_scaledown=None):
        asked = {
            "min_nodes": min_nodes,
            "max_nodes": max_nodes,
            "idle_seconds": idle_seconds_before_scaledown,
        }
        change = {key: value for key, value in asked.items() if value is not None}
        if change:
            with translated(ComputeTargetException):
                self._record = self.workspace._patch("/compute/{}", change, self.name)

    def list_nodes(self):
        with translated(ComputeTargetException):
            nodes = self.workspace._items("/compute/{}/nodes", self.name)
        states = {"starting": "preparing", "busy": "running", "draining": "leaving", "lost": "unusable"}
        return [
            {
                "nodeId": node["id"],
                "port": None,
                "publicIpAddress": None,
                "privateIpAddress": "127.0.0.1",
                "nodeState": states.get(node["state"], node["state"]),
                "runId": (node.get("runs") or [None])[0],
            }
            for node in nodes
        ]

    @no_effect("jobs act with a token for their own run")
    def add_identity(self, identity_type, identity_id=None):
        return None

    @no_effect("jobs act with a token for their own run")
    def remove_identity(self, identity_id=None):
        return None

    def get_active_runs(self, type=None, tags=None, properties=None, status=None):
        from azureml.core.run import Run

        return Run.list_by_compute(self, type=type, tags=tags, properties=properties, status=status)

    def serialize(self):
        made = super().serialize()
        made["properties"]["properties"] = {
            "vmSize": self.vm_size,
            "vmPriority": self.vm_priority,
            "scaleSettings": self.scale_settings.serialize(),
        }
        made["properties"]["status"] = self.get_status().serialize()
        return made
