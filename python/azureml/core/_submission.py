"""From what is given to Experiment.submit to a job of Slipway."""

import os

from azureml._service import translated
from azureml._support import reject_unknown
from azureml.core import _command, _launchers
from azureml.core.script_run_config import MAX_RUN_DURATION_SECONDS_DEFAULT, ScriptRunConfig
from azureml.exceptions import ExperimentExecutionException, SnapshotException, UserErrorException

_KNOWN = {"_parallel_run_step": "steps run in pipelines only"}


def submit(experiment, config, tags=None, kwargs=None, parent=None):
    """The run of a configuration; `parent` makes it that run's child."""
    refusal = getattr(config, "slipway_status", None)
    if refusal and refusal[0] == "constructs only":
        raise UserErrorException(f"{type(config).__name__} cannot be submitted: {refusal[1]}")
    reject_unknown("Experiment.submit", kwargs or {}, _KNOWN)
    if hasattr(config, "_script_run_config"):
        config = config._script_run_config()
    if not isinstance(config, ScriptRunConfig):
        raise UserErrorException(
            f"Experiment.submit takes a ScriptRunConfig or an estimator, not {type(config).__name__}"
        )
    job, properties = job_of(experiment, config)
    if tags:
        job["tags"] = {str(key): "" if value is None else str(value) for key, value in tags.items()}
    from azureml.core.script_run import ScriptRun

    with translated(ExperimentExecutionException):
        workspace = experiment.workspace._slipway
        made = workspace.submit_job(job, parent=None if parent is None else parent._slipway_run)
    run = ScriptRun(experiment, made.id, config.source_directory, config.run_config, _slipway_run=made)
    if properties:
        run.add_properties(properties)
    return run


def job_of(experiment, config):
    """(job as the server takes it, properties of the run)."""
    from azureml.core import _environments
    from azureml.data import _bindings

    run_config = config.run_config
    workspace = experiment.workspace
    bindings = _bindings.Bindings(workspace)
    bindings.take_run_config(run_config)
    arguments = _command.rendered(config.arguments, bindings.resolve)
    if config.resume_from is not None:
        arguments += ["--resume-from", bindings.resume(config.resume_from)]
    environment = run_config.environment
    variables = {str(key): str(value) for key, value in environment.environment_variables.items()}
    variables.update(azure_variables(experiment))
    variables.update(bindings.variables())
    job = {
        "experiment": experiment.name,
        "compute": getattr(run_config.target, "name", run_config.target) or "local",
        "environment": _environments.reference(workspace, environment),
        "variables": variables,
        "snapshot": _source(workspace, config),
    }
    if config.command:
        pieces = [config.command] if isinstance(config.command, str) else config.command
        job["command"] = _command.line_command(_command.rendered(pieces, bindings.resolve))
    else:
        interpreter = (
            environment.python.interpreter_path if environment.python.user_managed_dependencies else "python"
        )
        job["command"] = _command.script_command(interpreter, config.script, arguments)
    job.update(bindings.job_fields())
    job.update(_git(config.source_directory))
    seconds = run_config.max_run_duration_seconds
    if seconds and seconds != MAX_RUN_DURATION_SECONDS_DEFAULT:
        job["timeout_seconds"] = seconds
    job.update(_launchers.fields(run_config))
    chosen = {"azureml.framework": run_config.framework, "azureml.communicator": run_config.communicator}
    return job, {key: value for key, value in chosen.items() if value not in ("Python", "None")}


def _source(workspace, config):
    folder = os.path.abspath(config.source_directory or ".")
    if not os.path.isdir(folder):
        raise UserErrorException(f"There is no source folder {folder}")
    if config.script and not os.path.isfile(os.path.join(folder, config.script)):
        raise UserErrorException(f"There is no script '{config.script}' in the source folder {folder}")
    with translated(SnapshotException):
        return workspace._slipway.send_folder(folder)


def _git(folder):
    from slipway._git import git_state

    git = git_state(os.path.abspath(folder or "."))
    return {"git": git} if git else {}


def azure_variables(experiment):
    """What scripts read of the SDK's own variables; the node adds what only it knows (src/launch/azure_variables.h)."""
    workspace = experiment.workspace
    return {
        "AZUREML_ARM_SUBSCRIPTION": workspace.subscription_id,
        "AZUREML_ARM_RESOURCEGROUP": workspace.resource_group,
        "AZUREML_ARM_WORKSPACE_NAME": workspace.name,
        "AZUREML_ARM_PROJECT_NAME": experiment.name,
    }
