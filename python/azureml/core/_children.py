"""Runs below a run, and runs that a client begins itself."""

from azureml._service import translated
from azureml.exceptions import UserErrorException


def begin(parent, wanted):
    """Child runs that the caller logs to and ends."""
    from azureml.core.run import Run
    from slipway.run import Run as SlipwayRun

    if not wanted:
        return []
    above = parent._slipway_run
    with translated(UserErrorException):
        made = above.transport.create(above.path("/children"), {"children": wanted})["items"]
    return [
        Run(parent.experiment, record["id"], _slipway_run=SlipwayRun(above.workspace, record))
        for record in made
    ]


def of(parent, recursive):
    from slipway.run import Run as SlipwayRun

    above = parent._slipway_run
    with translated(UserErrorException):
        query = {"recursive": "true"} if recursive else {}
        records = above.transport.items(above.path("/children"), query)
    return [SlipwayRun(above.workspace, record) for record in records]


def start_logging(experiment, snapshot_directory, display_name):
    """An interactive run of an experiment."""
    from azureml.core.run import Run
    from slipway._git import git_state
    from slipway.run import Run as SlipwayRun

    workspace = experiment.workspace._slipway
    document = {"experiment": experiment.name}
    if display_name:
        document["display_name"] = display_name
    with translated(UserErrorException):
        if snapshot_directory:
            document["snapshot"] = workspace.send_folder(snapshot_directory)
            git = git_state(snapshot_directory)
            if git:
                document["git"] = git
        record = workspace.transport.create(workspace.path("/interactive-runs"), document)
    return Run(experiment, record["id"], _slipway_run=SlipwayRun(workspace, record))
