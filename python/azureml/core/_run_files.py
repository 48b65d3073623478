"""A run's files and logs, under the names the SDK gives them.

Slipway's logs appear in the older layout (azureml-logs/70_driver_log.txt); both are accepted where a name is given.
"""

import os
import re

from azureml._service import translated
from azureml._support import without_effect
from azureml.exceptions import UserErrorException

ENVIRONMENT_LOG = "system_logs/environment.txt"
DATA_LOG = "system_logs/data.txt"
STD_LOG = "std_log.txt"
DRIVER_LOG = "azureml-logs/70_driver_log.txt"
BUILD_LOG = "azureml-logs/20_image_build_log.txt"
PREPARE_LOG = "azureml-logs/65_job_prep.txt"
_NO_STORE = "a run's files are kept in the workspace's own store"


_PROCESS_LOG = re.compile(r"^user_logs/std_log_process_(\d+)\.txt$")


def azure_log_name(name, rank=0, ranks=1):
    process = _PROCESS_LOG.match(name)
    if process:
        return f"azureml-logs/70_driver_log_{process.group(1)}.txt"
    if name == STD_LOG:
        return DRIVER_LOG if ranks == 1 else f"azureml-logs/70_driver_log_{rank}.txt"
    if name == ENVIRONMENT_LOG:
        return BUILD_LOG
    if name == DATA_LOG:
        return PREPARE_LOG if ranks == 1 else f"azureml-logs/65_job_prep_{rank}.txt"
    return name if ranks == 1 else f"{name}.{rank}"


def newer_name(name):
    """'user_logs/std_log.txt' and 'std_log_process_1.txt' as the older layout has them."""
    match = re.match(r"^user_logs/std_log(?:_process_(\d+))?\.txt$", name)
    if not match:
        return name
    return DRIVER_LOG if match.group(1) is None else f"azureml-logs/70_driver_log_{int(match.group(1))}.txt"


class RunFiles:
    """Files and logs of a run."""

    def _logs(self):
        """{name: LogFile of the newest attempt}, in Azure's names."""
        with translated():
            logs = self._slipway_run.log_files()
        newest = max([log.attempt for log in logs] or [0])
        logs = [log for log in logs if log.attempt == newest]
        ranks = len({log.rank for log in logs if log.name == STD_LOG or _PROCESS_LOG.match(log.name)}) or 1
        return {azure_log_name(log.name, log.rank, ranks): log for log in logs}

    def get_file_names(self):
        with translated():
            kept = [file.path for file in self._slipway_run.files()]
        return sorted(set(kept) | set(self._logs()))

    def get_all_logs(self, destination=None):
        folder = destination or os.getcwd()
        return [self._save_log(log, os.path.join(folder, name)) for name, log in sorted(self._logs().items())]

    def _save_log(self, log, path):
        with translated():
            content = self._slipway_run.read_log(log.name, log.attempt, log.rank)
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    @without_effect(_validate_checksum="every file is compared with its digest")
    def download_file(self, name, output_file_path=None, _validate_checksum=False):
        target = output_file_path or os.path.basename(name)
        if os.path.isdir(target) or target.endswith("/"):
            target = os.path.join(target, os.path.basename(name))
        log = self._logs().get(newer_name(name))
        if log is not None:
            self._save_log(log, target)
            return
        self._download(name, target)

    def _download(self, name, target):
        run = self._slipway_run
        with translated():
            known = {file.path: file for file in run.files(name)}
        if name not in known:
            raise UserErrorException(
                f"Run {self.id} has no file '{name}'. It has: {', '.join(self.get_file_names()[:20]) or 'none yet'}"
            )
        from slipway._http import query_text
        from slipway._transfer import RemoteFile, download_files

        found = known[name]
        folder, base = os.path.split(os.path.abspath(target))
        os.makedirs(folder, exist_ok=True)
        remote = RemoteFile(
            base,
            run.path("/files/content") + query_text({"path": name}),
            found.size,
            found.digest,
            found.mode,
        )
        with translated():
            download_files(run.transport, [remote], folder, True)

    @without_effect(batch_size="Slipway decides how many files travel together")
    def download_files(
        self,
        prefix=None,
        output_directory=None,
        output_paths=None,
        batch_size=100,
        append_prefix=True,
        timeout_seconds=None,
    ):
        prefix = prefix or ""
        names = [name for name in self.get_file_names() if name.startswith(prefix)]
        if isinstance(output_paths, str):
            output_paths = [output_paths]
        if output_paths is not None and len(output_paths) != len(names):
            raise UserErrorException(
                f"{len(names)} files begin with '{prefix}' and {len(output_paths)} output_paths are given; "
                f"it takes one for each: {', '.join(names[:20])}"
            )
        for place, name in enumerate(names):
            relative = name
            if not append_prefix and prefix:
                relative = name[len(prefix) :].lstrip("/") or os.path.basename(name)
            target = output_paths[place] if output_paths else relative
            self.download_file(name, os.path.join(output_directory or ".", target))

    # -- up -------------------------------------------------------------------------------------------------

    @without_effect(datastore_name=_NO_STORE)
    def upload_file(self, name, path_or_stream, datastore_name=None):
        return self._upload({name: path_or_stream})

    @without_effect(datastore_name=_NO_STORE)
    def upload_files(self, names, paths, return_artifacts=False, timeout_seconds=None, datastore_name=None):
        if len(names) != len(paths):
            raise UserErrorException(
                f"{len(names)} names and {len(paths)} paths are given; it takes one for each"
            )
        return self._upload(dict(zip(names, paths)))

    @without_effect(datastore_name=_NO_STORE)
    def upload_folder(self, name, path, datastore_name=None):
        if not os.path.isdir(path):
            raise UserErrorException(f"There is no folder {os.path.abspath(path)} to upload")
        files = {}
        for folder, _, names in os.walk(path):
            for each in sorted(names):
                full = os.path.join(folder, each)
                files[
                    f"{name.rstrip('/')}/{os.path.relpath(full, path)}"
                    if name
                    else os.path.relpath(full, path)
                ] = full
        return self._upload(files)

    def _upload(self, files):
        taken = set(self.get_file_names()) & set(files)
        if taken:
            raise UserErrorException(
                f"Run {self.id} has a file '{sorted(taken)[0]}' already; a run's files are never replaced"
            )
        from azureml.core import _uploads

        return _uploads.send(self._slipway_run, files)
