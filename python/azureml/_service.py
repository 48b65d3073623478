"""Slipway's errors as the SDK's exceptions, and its times and names as the SDK writes them."""

import contextlib
import re

from azureml.exceptions import (
    AuthenticationException,
    DiscoveryUrlNotFoundException,
    ServiceException,
    UserErrorException,
)


@contextlib.contextmanager
def translated(kind=ServiceException, missing=None):
    """Errors of the server become `kind`, one that says "not found" `missing`; what is wrong with token or address
    keeps its own class, so that a program can tell a mistake of its own from a server it cannot talk to."""
    from slipway import errors

    try:
        yield
    except errors.SlipwayError as error:
        if isinstance(error, (errors.UnauthenticatedError, errors.PermissionDeniedError)):
            chosen = AuthenticationException
        elif isinstance(error, errors.UnreachableError) and error.status is None:  # else: said by the server
            chosen = DiscoveryUrlNotFoundException
        elif isinstance(error, errors.NotFoundError):
            chosen = missing or kind
        elif isinstance(error, errors.InvalidArgumentError) and kind is ServiceException:
            chosen = UserErrorException
        else:
            chosen = kind
        raise chosen(str(error), inner_exception=error) from error


def iso(text):
    """Slipway's time as the SDK's details have it: microseconds and Z, or None."""
    from slipway._times import parse_time

    moment = parse_time(text)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


def check_name(name, what, pattern, rule):
    if not isinstance(name, str) or not re.match(pattern, name):
        raise UserErrorException(f"'{name}' is not a name for {what}: {rule}")
