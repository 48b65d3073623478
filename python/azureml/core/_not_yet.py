"""What waits for Slipway's model registry and services."""

import functools

from azureml.exceptions import UserErrorException

WHY = "the installed Slipway server has no model registry yet"


def no_registry(title):
    raise UserErrorException(
        f"{title} is not available yet: {WHY}; a run's files are kept, download_files brings them"
    )


def needs_registry(function):
    title = function.__qualname__.replace(".__init__", "")

    @functools.wraps(function)
    def call(*args, **kwargs):
        no_registry(title)

    call.slipway_status = ("not yet", WHY)
    return call
