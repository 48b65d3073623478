"""Modules whose members are imported when they are first used.

`from azureml.core import Run` stands at the top of every training script, so it must not pay for environments, data
and services. Python 3.6 has no module-level __getattr__; a module's class can be changed in every version.
"""

import importlib
import sys
import types


def lazy(package, members):
    """Lets `package` offer `members`: {module: names}, each taken from its module at the first use."""
    homes = {name: module for module, names in members.items() for name in names.split()}
    module = sys.modules[package]

    class LazyModule(types.ModuleType):
        def __getattr__(self, name):
            home = homes.get(name)
            if home is None:
                raise AttributeError(f"module '{package}' has no attribute '{name}'")
            value = getattr(importlib.import_module(home), name)
            setattr(self, name, value)
            return value

        def __dir__(self):
            return sorted(set(vars(self)) | set(homes))

    module.__all__ = sorted(homes)
    module.__class__ = LazyModule
