"""The states of a run."""

RUNNING_STATES = ["NotStarted", "Starting", "Provisioning", "Preparing", "Queued", "Running", "Finalizing",
                  "CancelRequested", "NotResponding"]  # fmt: skip
POST_PROCESSING_STATES = ["Finalizing"]
TERMINAL_STATES = ["Completed", "Failed", "Canceled"]


class RunStatus:
    """The states of a run."""

    NOT_STARTED = "NotStarted"
    STARTING = "Starting"
    PROVISIONING = "Provisioning"
    PREPARING = "Preparing"
    QUEUED = "Queued"
    RUNNING = "Running"
    FINALIZING = "Finalizing"
    CANCEL_REQUESTED = "CancelRequested"
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"
    NOT_RESPONDING = "NotResponding"

    @classmethod
    def list(cls):
        return [value for key, value in sorted(vars(cls).items()) if key.isupper()]

    @classmethod
    def get_running_statuses(cls):
        return list(RUNNING_STATES)

    @classmethod
    def get_post_processing_statuses(cls):
        return list(POST_PROCESSING_STATES)

    @classmethod
    def get_terminal_statuses(cls):
        return list(TERMINAL_STATES)
