"""RunDetails: a run as it goes, in a notebook or a terminal."""

from azureml.widgets._details import RunDetails

__all__ = ["RunDetails"]
