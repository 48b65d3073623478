"""The names of azureml.core.compute_target."""

from azureml.core.compute.compute import ComputeTarget
from azureml.exceptions import ComputeTargetException

__all__ = ["ComputeTarget", "ComputeTargetException"]
