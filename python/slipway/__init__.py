"""Slipway for Python: submit and watch runs, and log from inside a job. Standard library only, Python 3.6 and later.

    import slipway

    ws = slipway.workspace()
    run = ws.submit("train.py", args=["--epochs", 3])
    run.follow()
    print(run.metrics())

and in train.py:

    import slipway

    slipway.log(loss=0.12, step=7)

docs/python.md is the guide. What is not needed is not imported: in a job `import slipway` costs some milliseconds.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, List

from ._injob import flush, in_job, keep, log, set_properties, tag
from ._version import __version__

if TYPE_CHECKING:
    from . import errors
    from ._autolog import autolog
    from ._workspace import Workspace, create_workspace, workspace, workspaces
    from .compute import Cluster
    from .current import JobRun, current_run, inputs, outputs
    from .data import Dataset, output
    from .datastores import Datastore
    from .environments import Environment
    from .errors import SlipwayError
    from .experiment import Experiment
    from .models import Model
    from .recording import log_chart, log_image, log_row, log_table, log_text, log_value
    from .run import Run
    from .services import Service

# Name -> the module it is in; loaded when it is first asked for.
_LATER = {
    "Cluster": "compute",
    "Dataset": "data",
    "Datastore": "datastores",
    "Environment": "environments",
    "Experiment": "experiment",
    "JobRun": "current",
    "Model": "models",
    "Run": "run",
    "Service": "services",
    "SlipwayError": "errors",
    "Workspace": "_workspace",
    "autolog": "_autolog",
    "create_workspace": "_workspace",
    "current_run": "current",
    "inputs": "current",
    "log_chart": "recording",
    "log_image": "recording",
    "log_row": "recording",
    "log_table": "recording",
    "log_text": "recording",
    "log_value": "recording",
    "output": "data",
    "outputs": "current",
    "workspace": "_workspace",
    "workspaces": "_workspace",
}

__all__ = [
    "Cluster",
    "Dataset",
    "Datastore",
    "Environment",
    "Experiment",
    "JobRun",
    "Model",
    "Run",
    "Service",
    "SlipwayError",
    "Workspace",
    "__version__",
    "autolog",
    "create_workspace",
    "current_run",
    "errors",
    "flush",
    "in_job",
    "inputs",
    "keep",
    "log",
    "log_chart",
    "log_image",
    "log_row",
    "log_table",
    "log_text",
    "log_value",
    "output",
    "outputs",
    "set_properties",
    "tag",
    "workspace",
    "workspaces",
]


class _Package(ModuleType):
    """Python 3.6 knows no module-level __getattr__: the module gets a class of its own."""

    def __getattr__(self, name: str) -> Any:
        import importlib

        if name == "errors":
            return importlib.import_module(".errors", __name__)
        if name not in _LATER:
            raise AttributeError(f"module 'slipway' has no attribute {name!r}")
        found = getattr(importlib.import_module("." + _LATER[name], __name__), name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> List[str]:
        return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
