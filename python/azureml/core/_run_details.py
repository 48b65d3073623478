"""get_details: what the server knows of a run, in the SDK's shape."""

from urllib.parse import quote

from azureml._service import iso
from azureml.core import _launchers


def script_and_arguments(command):
    """['python', 'train.py', '--x', '1'] -> ('train.py', ['--x', '1'], None); anything else is a command."""
    from azureml.core._command import unwrapped

    words = unwrapped(command)
    if len(words) > 1 and words[0].rsplit("/", 1)[-1] in ("python", "python3") and words[1].endswith(".py"):
        return words[1], words[2:], None
    if len(words) == 3 and words[1] == "-c":
        return None, [], words[2]
    return None, [], " ".join(words) if words else None


def run_definition(record):
    job = record.get("job", {})
    script, arguments, command = script_and_arguments(job.get("command") or [])
    environment = job.get("environment") or "system"
    name, _, version = environment.rpartition(":") if ":" in environment else (environment, "", None)
    return {
        "script": script,
        "command": command or "",
        "useAbsolutePath": False,
        "arguments": arguments,
        "sourceDirectoryDataStore": None,
        "framework": record.get("properties", {}).get("azureml.framework", "Python"),
        "communicator": record.get("properties", {}).get("azureml.communicator", "None"),
        "target": job.get("compute", "local"),
        "dataReferences": {},
        "data": {key: _input(value) for key, value in (job.get("inputs") or {}).items()},
        "outputData": dict(job.get("outputs") or {}),
        "jobName": None,
        "maxRunDurationSeconds": job.get("timeout_seconds") or None,
        "nodeCount": job.get("nodes", 1),
        "environment": {
            "name": name,
            "version": version,
            "environmentVariables": dict(job.get("variables") or {}),
            "build": record.get("environment"),
        },
        "history": {"outputCollection": True, "directoriesToWatch": ["logs"], "snapshotProject": True},
        **_launchers.sections(job),
    }


def _input(value):
    return {
        "dataLocation": {"dataset": value.get("dataset")},
        "mechanism": str(value.get("mode", "mount")).capitalize(),
        "pathOnCompute": value.get("path") or None,
    }


def input_datasets(record):
    return [
        {
            "dataset": {"id": value.get("dataset"), "name": str(value.get("dataset")).split(":")[0]},
            "consumptionDetails": {
                "type": "RunInput",
                "inputName": name,
                "mechanism": str(value.get("mode", "mount")).capitalize(),
            },
        }
        for name, value in sorted((record.get("job", {}).get("inputs") or {}).items())
    ]


def output_datasets(record):
    return [
        {"identifier": {"savedId": value.get("register_as") or None}, "outputType": "RunOutput",
         "outputDetails": {"outputName": name}}
        for name, value in sorted((record.get("job", {}).get("outputs") or {}).items())
    ]  # fmt: skip


def git_properties(git):
    if not git or not git.get("commit"):
        return {}
    return {
        "azureml.git.repository_uri": git.get("remote", ""),
        "mlflow.source.git.repoURL": git.get("remote", ""),
        "azureml.git.branch": git.get("branch", ""),
        "mlflow.source.git.branch": git.get("branch", ""),
        "azureml.git.commit": git["commit"],
        "mlflow.source.git.commit": git["commit"],
        "azureml.git.dirty": str(bool(git.get("dirty"))),
    }


def properties(record):
    """The run's own, and those the SDK makes from what was submitted."""
    job = record.get("job", {})
    made = {"_azureml.ComputeTargetType": "local" if job.get("compute") == "local" else "amlcompute"}
    if job.get("snapshot"):
        made["ContentSnapshotId"] = job["snapshot"]
    made.update(git_properties(job.get("git")))
    made.update(record.get("properties") or {})
    return made


def error_of(record):
    code = record.get("exit_code")
    reason = record.get("reason") or (
        f"The script ended with exit code {code}" if code is not None else "The run failed"
    )
    return {
        "error": {
            "code": record.get("error_code") or "UserError",
            "message": reason,
            "messageParameters": {},
            "details": [] if code is None else [{"code": "ExitCode", "message": str(code)}],
        },
        "time": iso(record.get("ended_at")),
    }


def log_urls(run):
    base = run._slipway_run.transport.connection.url + run._slipway_run.path("/logs/content")
    return {
        name: f"{base}?name={quote(log.name, safe='')}&attempt={log.attempt}&rank={log.rank}"
        for name, log in sorted(run._logs().items())
    }


def details(run, record):
    """The dictionary of get_details for a record of the server."""
    made = {
        "runId": record["id"],
        "target": record.get("job", {}).get("compute", "local"),
        "status": record["state"],
        "startTimeUtc": iso(record.get("started_at")),
        "services": {},
        "properties": properties(record),
        "inputDatasets": input_datasets(record),
        "outputDatasets": output_datasets(record),
        "logFiles": log_urls(run),
        "submittedBy": record.get("submitted_by"),
    }
    if record.get("ended_at"):
        made["endTimeUtc"] = iso(record["ended_at"])
    if record.get("job", {}).get("command"):
        made["runDefinition"] = run_definition(record)
    if record["state"] == "Failed":
        made["error"] = error_of(record)
    if record.get("warnings"):
        made["warnings"] = [{"source": None, "message": text} for text in record["warnings"]]
    return made
