"""Runs below a run, and runs that a client begins itself."""

from azureml._service import translated
from azureml.exceptions import UserErrorException


def begin(parent, wanted):
    """Child runs that the caller logs to and ends."""
    from azureml.core.run import Run

    if not wanted:
        return []
    with translated(UserErrorException):
        made = parent._slipway_run.begin_children(wanted)
    return [Run(parent.experiment, run.id, _slipway_run=run) for run in made]


def of(parent, recursive):
    with translated(UserErrorException):
        return parent._slipway_run.children(recursive=recursive)


def start_logging(experiment, snapshot_directory, display_name):
    """An interactive run of an experiment."""
    from azureml.core.run import Run

    with translated(UserErrorException):
        made = experiment.workspace._slipway.start_run(
            experiment=experiment.name, name=display_name or "", source=snapshot_directory
        )
    return Run(experiment, made.id, _slipway_run=made)
