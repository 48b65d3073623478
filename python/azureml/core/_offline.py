"""A run outside of any job: it says what it would log and keeps nothing."""

import time
import uuid

from azureml.core._run_logging import RunLogging
from azureml.core._sinks import PrintSink


class OfflineRun(RunLogging):
    """Has the methods of a run, so that a script works on a desk as it does in a job."""

    def __init__(self):
        self.id = f"OfflineRun_{uuid.uuid4()}"
        self._sink = PrintSink()
        self._tags, self._properties = {}, {}
        self._began = time.time()
        self.experiment = None
        self.parent = None
        self.number = 0
        self.name = self.display_name = self.id
        self.description = None
        self.type = None
        self.status = "Running"
        self.input_datasets, self.output_datasets = {}, {}

    def __repr__(self):
        return f"Run(OfflineRun,\nId: {self.id})"

    def get_status(self):
        return self.status

    def get_details(self):
        return {"runId": self.id, "status": self.status, "properties": dict(self._properties)}

    def get_detailed_status(self):
        return {"status": self.status, "details": ""}

    def get_metrics(self, name=None, recursive=False, run_type=None, populate=False):
        return {}

    def get_portal_url(self):
        return ""

    def get_file_names(self):
        return []

    def get_children(
        self, recursive=False, tags=None, properties=None, type=None, status=None, _rehydrate_runs=True
    ):
        return iter(())

    def get_tags(self):
        return dict(self._tags)

    tags = property(get_tags)

    def tag(self, key, value=None):
        self._tags[key] = value

    def set_tags(self, tags):
        self._tags.update(tags)

    def remove_tags(self, tags):
        for name in [tags] if isinstance(tags, str) else tags:
            self._tags.pop(name, None)

    def get_properties(self):
        return dict(self._properties)

    properties = property(get_properties)

    def add_properties(self, properties):
        self._properties.update(properties)

    def child_run(self, name=None, run_id=None, outputs=None):
        return OfflineRun()

    def create_children(self, count=None, tag_key=None, tag_values=None):
        return [OfflineRun() for _ in range(count if count is not None else len(tag_values))]

    def upload_file(self, name, path_or_stream, datastore_name=None):
        print(f"Offline run, file {name}:\n{path_or_stream}")

    def upload_files(self, names, paths, return_artifacts=False, timeout_seconds=None, datastore_name=None):
        for name, path in zip(names, paths):
            self.upload_file(name, path)

    def upload_folder(self, name, path, datastore_name=None):
        self.upload_file(name, path)

    def register_model(self, model_name, model_path=None, **kwargs):
        print(f"Offline run, model {model_name}:\n{model_path or model_name}")

    def start(self):
        """It runs already."""

    def complete(self, _set_status=True):
        self.status = "Completed"

    def fail(self, error_details=None, error_code=None, _set_status=True):
        self.status = "Failed"

    def cancel(self):
        self.status = "Canceled"

    def flush(self, timeout_seconds=300):
        """All is printed at once."""

    def wait_for_completion(self, show_output=False, wait_post_processing=False, raise_on_error=True):
        return self.get_details()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.complete() if kind is None else self.fail(error)
