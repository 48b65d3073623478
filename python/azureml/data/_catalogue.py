"""Datasets and datastores at the server."""

import re

from azureml._service import translated
from azureml.exceptions import UserErrorException

ANONYMOUS = "anonymous-"
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$")


def check_dataset_name(name):
    if not isinstance(name, str) or not _NAME.match(name) or name.startswith(ANONYMOUS):
        raise UserErrorException(
            f"'{name}' is not a name for a dataset: letters, digits, '.', '_' and '-', beginning with a letter or digit"
        )


def any_workspace():
    """The workspace of the job this is, or the one that was last opened; data by address alone names none."""
    from azureml.core import workspace

    found = workspace.latest()
    if found is None:
        raise UserErrorException("Open the workspace first: Workspace.from_config(), or Workspace.get(name)")
    return found


def create(workspace, name, definition, description=None, tags=None):
    """The version of that definition; the same definition and files are the same version."""
    document = {"name": name, "definition": definition}
    if description:
        document["description"] = description
    if tags:
        document["tags"] = {str(key): str(value) for key, value in tags.items()}
    with translated(UserErrorException):
        return workspace._post("/datasets", document)
