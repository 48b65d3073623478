"""Runs of a script."""

from azureml.core.run import Run


class ScriptRun(Run):
    """A run that was submitted: a script or a command on a compute target."""

    def __init__(self, experiment, run_id, directory=None, _run_config=None, _slipway_run=None):
        super().__init__(experiment, run_id, _slipway_run=_slipway_run)
        self._directory = directory
        self._run_config_object = _run_config

    def get_run_definition(self):
        return self.get_details().get("runDefinition")
