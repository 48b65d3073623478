"""What can go wrong, one class for each of the server's error codes (docs/exit-codes.md).

Every error says what happened, to what, and in `next` what to do about it:

    >>> error = NotFoundError("there is no run 'nope'", next="slipway run list shows them")
    >>> print(error)
    there is no run 'nope'
      slipway run list shows them
    >>> error.code
    'not_found'
"""

from typing import Any, Dict, Optional, Type


class SlipwayError(Exception):
    """The base of all errors that this package raises on purpose."""

    code = "internal"

    def __init__(self, message: str, next: str = "", status: Optional[int] = None) -> None:
        super().__init__(message)
        self.message = message
        self.next = next
        self.status = status  # of the HTTP answer, where there was one

    def __str__(self) -> str:
        return self.message + "".join("\n  " + line for line in self.next.splitlines())


class InternalError(SlipwayError):
    """A defect, or a failing machine."""


class InvalidArgumentError(SlipwayError, ValueError):
    """A bad value, a bad name."""

    code = "invalid_argument"


class UnauthenticatedError(SlipwayError):
    """No token, or one that is unknown, expired or revoked."""

    code = "unauthenticated"


class PermissionDeniedError(SlipwayError):
    """The token's role does not allow this."""

    code = "permission_denied"


class NotFoundError(SlipwayError, LookupError):
    """No such workspace, run, cluster, file."""

    code = "not_found"


class ConflictError(SlipwayError):
    """The name is taken, or the state does not allow it."""

    code = "conflict"


class StaleError(ConflictError):
    """It was true once: another attempt has taken over."""

    code = "stale"


class TooLargeError(SlipwayError):
    """A file, a folder or a request beyond its limit."""

    code = "too_large"


class ExhaustedError(SlipwayError):
    """A bound is reached for now: connections, queue, quota."""

    code = "exhausted"


class UnsupportedError(SlipwayError):
    """Understood, and not available here."""

    code = "unsupported"


class UnavailableError(SlipwayError):
    """The server cannot do it now, and can later."""

    code = "unavailable"


class StorageFullError(SlipwayError):
    """The disk under the server, the node or this machine is full."""

    code = "storage_full"


class UnreachableError(SlipwayError, ConnectionError):
    """No server runs, or none answers at that address."""

    code = "unreachable"


class TimedOutError(SlipwayError, TimeoutError):
    """No answer in time, or a run that was waited for has not ended in time."""

    code = "timeout"


class RunFailedError(SlipwayError):
    """The run that was followed or waited for failed or was canceled; `run` is that run."""

    code = "run_failed"
    run: Any = None


_CLASSES: Dict[str, Type[SlipwayError]] = {
    each.code: each
    for each in (
        InternalError,
        InvalidArgumentError,
        UnauthenticatedError,
        PermissionDeniedError,
        NotFoundError,
        ConflictError,
        StaleError,
        TooLargeError,
        ExhaustedError,
        UnsupportedError,
        UnavailableError,
        StorageFullError,
        UnreachableError,
        TimedOutError,
        RunFailedError,
    )
}

_BY_STATUS = {
    400: "invalid_argument",
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    409: "conflict",
    413: "too_large",
    429: "exhausted",
    501: "unsupported",
    502: "unreachable",
    503: "unavailable",
    504: "timeout",
    507: "storage_full",
}


def from_answer(status: int, document: Any) -> SlipwayError:
    """The error that an HTTP answer of 400 and more stands for, whoever gave it."""
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        code = _BY_STATUS.get(status, "invalid_argument" if 400 <= status < 500 else "internal")
        return _CLASSES[code](
            f"the server answered {status}",
            next="check the address: it may be another program's",
            status=status,
        )
    kind = _CLASSES.get(str(error.get("code")), InternalError)
    return kind(str(error.get("message", "")), next=str(error.get("next", "")), status=status)


# Worth asking again: nothing says that it cannot work.
TRANSIENT = (UnavailableError, ExhaustedError, UnreachableError, TimedOutError)
