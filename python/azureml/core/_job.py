"""The run that this process is part of."""

import os

from azureml.core.run import Run
from azureml.core.script_run import ScriptRun


class JobRun(ScriptRun):
    """Logs to the job's own socket; asks the server only when something is asked for."""

    def __init__(self, run_id):
        Run.__init__(self, None, run_id, _in_job=True)
        self._directory = os.getcwd()
        self._run_config_object = None

    @property
    def experiment(self):
        if self._experiment is None:
            from azureml.core.experiment import Experiment
            from azureml.core.workspace import current_workspace

            name = os.environ.get("SLIPWAY_EXPERIMENT", "default")
            self._experiment = Experiment(current_workspace(), name, _create_in_cloud=False)
        return self._experiment

    @property
    def _slipway_run(self):
        import slipway

        return slipway.current_run()

    @property
    def input_datasets(self):
        """{name: path}, and for a tabular input an object with its rows."""
        import slipway

        return Inputs(slipway.inputs)

    @property
    def output_datasets(self):
        import slipway

        return Inputs(slipway.outputs)


class Inputs(dict):
    """Inputs by name; a missing name says which there are."""

    def __init__(self, places):
        from azureml.data import _tables

        super().__init__((name, _tables.of_job(name) or path) for name, path in places.items())

    def __missing__(self, name):
        raise KeyError(f"this run has no input '{name}'; it has: {', '.join(sorted(self)) or 'none'}")


def current_run():
    return JobRun(os.environ["SLIPWAY_RUN_ID"])
