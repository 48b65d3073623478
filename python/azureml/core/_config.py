"""Azure's config.json: which workspace a folder belongs to."""

import json
import os
import re

from azureml.exceptions import UserErrorException

# The kind of folder outranks how near it is: `.azureml` high above wins over a plain config.json beside the notebook.
FOLDERS = (".azureml", "aml_config", "")
NAMES = ("config.json", "project.json")
_SCOPE = re.compile(
    r"^/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/[^/]+/(?:workspaces|accounts)/([^/]+)", re.I
)


def find(path=None, file_name=None):
    """The config file that counts for a path, or UserErrorException."""
    start = os.path.abspath(path or os.getcwd())
    if os.path.isfile(start):
        return start
    if path is not None and not os.path.isdir(start):
        raise UserErrorException(
            f"There is no file or folder {start} to read the workspace's config.json from"
        )
    above = [start]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    for folder in FOLDERS:
        for place in above:
            for name in (file_name,) if file_name else NAMES:
                candidate = os.path.join(place, folder, name)
                if os.path.isfile(candidate) and _reads_as_config(candidate):
                    return candidate
    raise UserErrorException(
        f"There is no workspace configuration in {start} or above it: a config.json with subscription_id, "
        "resource_group and workspace_name, in the folder itself, in .azureml or in aml_config. Workspace.create "
        "makes a workspace, write_config the file"
    )


def _reads_as_config(path):
    """A config.json of another program beside the notebook does not hide the one above it."""
    if os.path.basename(os.path.dirname(path)) in FOLDERS[:2]:
        return True
    try:
        read(path)
    except UserErrorException:
        return False
    return True


def read(path):
    """(subscription, resource group, workspace) of a config file."""
    try:
        with open(path) as file:
            value = json.load(file)
    except (OSError, ValueError) as error:
        raise UserErrorException(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserErrorException(f"{path} is not a workspace configuration")
    scope = value.get("Scope") or value.get("scope")
    if scope:
        match = _SCOPE.match(str(scope))
        if not match:
            raise UserErrorException(f"The Scope in {path} is not the resource id of a workspace")
        return match.groups()
    name = value.get("workspace_name")
    if not isinstance(name, str) or not name:
        raise UserErrorException(f"{path} has no workspace_name")
    return value.get("subscription_id"), value.get("resource_group"), name


def write(folder, file_name, subscription, resource_group, name):
    folder = os.path.join(os.path.abspath(folder or os.getcwd()), FOLDERS[0])
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, file_name or NAMES[0])
    with open(path, "w") as file:
        json.dump(
            {"subscription_id": subscription, "resource_group": resource_group, "workspace_name": name},
            file,
            indent=4,
        )
    return path
