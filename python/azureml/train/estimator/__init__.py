"""Estimator: any script."""

from azureml.core.runconfig import Mpi
from azureml.train._estimator import BACKEND, CHECKS, CONTENT, NODES, PLACE, MMLBaseEstimator, estimator

__all__ = ["Estimator", "Mpi"]


@estimator(PLACE, NODES, BACKEND, CONTENT, CHECKS)
class Estimator(MMLBaseEstimator):
    """Any script, with the packages it needs."""
