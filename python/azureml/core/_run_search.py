"""The server's records of runs as the SDK's objects, those that a search wants."""

from azureml._filters import has_all


def rehydrated(experiment, found):
    from azureml.core.run import Run
    from azureml.core.script_run import ScriptRun

    kind = ScriptRun if found.job.get("command") else Run
    return kind(experiment, found.id, _slipway_run=found)


def filtered(experiment, found, type, tags, properties, status, include_children):
    statuses = [status] if isinstance(status, str) else status
    for run in found:
        record = run.document
        if record.get("parent") and not include_children:
            continue
        if statuses and record["state"] not in statuses:
            continue
        if not has_all(record.get("tags") or {}, tags) or not has_all(
            record.get("properties") or {}, properties
        ):
            continue
        made = rehydrated(experiment, run)
        if type is None or type == ("azureml.scriptrun" if record.get("job", {}).get("command") else None):
            yield made
