"""Compute targets: names for clusters of the workspace."""

import json
import time

from azureml._service import iso, translated
from azureml._support import refused
from azureml.exceptions import ComputeTargetException

RESERVED_NAMES = ("amlcompute", "local", "containerinstance")


class ComputeTargetStatus:
    """What a compute target says of itself; `serialize` gives it as a dictionary."""

    def __init__(self, **values):
        self._values = values

    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def serialize(self):
        return dict(self._values)

    def __repr__(self):
        return json.dumps(self._values)


class ComputeTargetProvisioningConfiguration:
    """The parent of the configurations for ComputeTarget.create."""

    _compute_type = None

    def __init__(self, location=None):
        self.location = location

    def validate_configuration(self):
        pass


class ComputeTargetAttachConfiguration:
    """The parent of the configurations for ComputeTarget.attach."""

    _compute_type = None

    def validate_configuration(self):
        pass


class ComputeTarget:
    """A compute target by name; one that does not exist raises ComputeTargetException."""

    _compute_type = None

    def __new__(cls, *args, **kwargs):
        if cls is ComputeTarget:
            from azureml.core.compute.amlcompute import AmlCompute

            cls = AmlCompute
        return super().__new__(cls)

    def __init__(self, workspace, name, _record=None):
        self.workspace = workspace
        self.name = name
        self.type = self._compute_type
        self.tags = None
        self.description = None
        self.location = workspace.location if workspace is not None else None
        self.provisioning_errors = None
        self._record = _record
        if _record is None:
            self.refresh_state()

    def __repr__(self):
        return (
            f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name}, "
            f"type={self.type}, provisioning_state={self.provisioning_state})"
        )

    # -- making and finding ---------------------------------------------------------------------------------

    @staticmethod
    def create(workspace, name, provisioning_configuration):
        if provisioning_configuration._compute_type is None:
            raise ComputeTargetException(
                f"{type(provisioning_configuration).__name__} makes no compute target here; use "
                "AmlCompute.provisioning_configuration"
            )
        return provisioning_configuration._compute_type._create(workspace, name, provisioning_configuration)

    @staticmethod
    @refused("nodes are added to a Slipway server by an agent that runs on them, not by attaching them")
    def attach(workspace, name, attach_configuration):
        pass

    @staticmethod
    def list(workspace):
        return [target for _, target in sorted(workspace.compute_targets.items())]

    # -- state ----------------------------------------------------------------------------------------------

    @property
    def id(self):
        return f"{self.workspace._resource_id}/computes/{self.name}"

    @property
    def cluster_resource_id(self):
        return None

    @property
    def provisioning_state(self):
        return "Succeeded"

    @property
    def created_on(self):
        return iso(self._record.get("created_at"))

    @property
    def modified_on(self):
        return iso(self._record.get("created_at"))

    def refresh_state(self):
        if str(self.name).lower() in RESERVED_NAMES:
            raise ComputeTargetException(
                f"'{self.name}' is a reserved name and no compute target of the workspace"
            )
        with translated(ComputeTargetException):
            self._record = self.workspace._get("/compute/{}", self.name)

    def get_status(self):
        self.refresh_state()
        return ComputeTargetStatus(state=self.provisioning_state)

    def wait_for_completion(self, show_output=False, is_delete_operation=False):
        if show_output:
            print(self.provisioning_state)

    def delete(self):
        with translated(ComputeTargetException):
            self.workspace._delete("/compute/{}", self.name)

    @refused("it was not attached; delete() removes it")
    def detach(self):
        pass

    def serialize(self):
        return {
            "id": self.id,
            "name": self.name,
            "location": self.location,
            "tags": self.tags,
            "properties": {
                "description": self.description,
                "computeType": self.type,
                "computeLocation": self.location,
                "provisioningState": self.provisioning_state,
                "provisioningErrors": None,
                "createdOn": self.created_on,
                "modifiedOn": self.modified_on,
            },
        }

    @staticmethod
    def deserialize(workspace, object_dict):
        return ComputeTarget(workspace, object_dict["name"])

    @refused("nodes are reached through Slipway's agents; there are no credentials")
    def get_credentials(self):
        pass


class StateLine:
    """Prints a state, and a dot each time it is still the same."""

    def __init__(self, show):
        self.show = show
        self.last = None

    def say(self, state):
        if not self.show:
            return
        if state == self.last:
            print(".", end="", flush=True)
        else:
            print(("" if self.last is None else "\n") + state, end="", flush=True)
        self.last = state

    def end(self, *lines):
        if self.show:
            print("\n" + "\n".join(lines) if self.last is not None else "\n".join(lines))


def poll_until(question, seconds, pause=0.2):
    """Asks until the answer is true or the time is over; gives the last answer."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer or time.monotonic() >= end:
            return answer
        time.sleep(pause)
        pause = min(pause * 1.5, 2.0)
