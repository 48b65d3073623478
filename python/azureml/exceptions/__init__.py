"""The exceptions of the SDK, with its names and its parents."""


class AzureMLException(Exception):
    """The parent of all of them. `message` is the sentence; `inner_exception` what caused it."""

    def __init__(self, exception_message="", inner_exception=None, target=None, details=None, **kwargs):
        super().__init__(exception_message)
        self._exception_message = exception_message
        self._inner_exception = inner_exception
        self._target = target
        self._details = details

    @property
    def message(self):
        return self._exception_message

    @message.setter
    def message(self, value):
        self._exception_message = value

    @property
    def inner_exception(self):
        return self._inner_exception

    @inner_exception.setter
    def inner_exception(self, value):
        self._inner_exception = value

    def __str__(self):
        return f"{type(self).__name__}:\n\tMessage: {self._exception_message}\n\tInnerException {self._inner_exception}"

    def __repr__(self):
        return f"{type(self).__name__}({self._exception_message!r})"


class UserErrorException(AzureMLException):
    """Something the caller can put right."""


class AuthenticationException(UserErrorException):
    """The token is missing, unknown, expired, or its role does not allow the call."""


class ProjectSystemException(AzureMLException):
    """The workspace or the run history answered with an error."""


class RunEnvironmentException(AzureMLException):
    """There is no run to be found in this process's environment."""


class TrainingException(AzureMLException):
    """A run could not be carried out."""


class ExperimentExecutionException(AzureMLException):
    """A run could not be submitted."""


class ExperimentNotFoundException(ProjectSystemException):
    """No experiment of that name."""


class SnapshotException(AzureMLException):
    """The source folder could not be kept."""


class WorkspaceException(AzureMLException):
    """No such workspace, or it could not be made."""


class ComputeTargetException(AzureMLException):
    """No such compute target, or it could not be made or changed."""


class RunConfigurationException(AzureMLException):
    """A run configuration file cannot be read, or contradicts itself."""


class DatasetExecutionError(AzureMLException):
    """The data of a dataset could not be had."""


class ModelNotFoundException(AzureMLException):
    """No such model."""


class ModelPathNotFoundException(AzureMLException):
    """The model's files are not there."""


class DiscoveryUrlNotFoundException(AzureMLException):
    """No server is known to this process."""


class ServiceException(AzureMLException):
    """The server answered with an error of its own."""

    def __init__(self, exception_message="", inner_exception=None, status_code=None, **kwargs):
        super().__init__(exception_message, inner_exception, **kwargs)
        self.status_code = status_code


class WebserviceException(AzureMLException):
    """A deployed service could not be made or called."""

    def __init__(self, exception_message="", status_code=None, logger=None, **kwargs):
        super().__init__(exception_message, **kwargs)
        self.status_code = status_code


class ActivityFailedException(AzureMLException):
    """A run that was waited for has failed; `error_details` is what its details say about it."""

    def __init__(self, error_details="", inner_exception=None, **kwargs):
        super().__init__(error_details, inner_exception, **kwargs)
        self.error_details = error_details


class ActivityCanceledException(AzureMLException):
    """A run that was waited for was canceled."""


class RunKilledException(AzureMLException):
    """The run was ended from outside."""


__all__ = sorted(
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, Exception)
)
