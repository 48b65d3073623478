"""Estimators that know a framework's packages."""

from azureml.core.runconfig import Mpi, TensorflowConfiguration
from azureml.core.runconfig import PyTorchConfiguration as _PyTorchConfiguration
from azureml.train._estimator import (
    BACKEND,
    CHECKS,
    CONTENT,
    FRAMEWORK,
    NODES,
    PLACE,
    WORKERS,
    MMLBaseEstimator,
    estimator,
    is_older,
    pinned,
)

__all__ = ["Chainer", "Gloo", "Keras", "Mpi", "Nccl", "ParameterServer", "PyTorch", "TensorFlow"]


class ParameterServer(TensorflowConfiguration):
    """Workers and parameter servers, for `distributed_training`."""


class Nccl(_PyTorchConfiguration):
    """One process on each node, for `distributed_training`."""

    def __init__(self):
        super().__init__(None, "Nccl", 1)


class Gloo(_PyTorchConfiguration):
    """One process on each node, for `distributed_training`."""

    def __init__(self):
        super().__init__(None, "Gloo", 1)


def _tensorflow(version, use_gpu):
    # From 2.1 on one package serves both; the separate one ended with 2.12.
    return pinned("tensorflow-gpu" if use_gpu and is_older(version, (2, 11)) else "tensorflow", version)


@estimator(PLACE, NODES, WORKERS, BACKEND, CONTENT, FRAMEWORK, CHECKS)
class TensorFlow(MMLBaseEstimator):
    """A TensorFlow script. `framework_version` may be newer than the SDK knew."""

    _base_environment = "estimator-tensorflow"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [_tensorflow(version, use_gpu)]

    @staticmethod
    def _python_of(version):
        return "3.7" if is_older(version, (1, 15)) else "3.8" if is_older(version, (2, 2)) else None


@estimator(PLACE, NODES, BACKEND, CONTENT, FRAMEWORK, CHECKS)
class PyTorch(MMLBaseEstimator):
    """A PyTorch script. `framework_version` may be newer than the SDK knew."""

    _base_environment = "estimator-pytorch"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [pinned("torch", version), "torchvision"]

    @staticmethod
    def _python_of(version):
        return "3.7" if is_older(version, (1, 3)) else "3.8" if is_older(version, (1, 6)) else None


@estimator(PLACE, NODES, BACKEND, CONTENT, FRAMEWORK, CHECKS)
class Keras(MMLBaseEstimator):
    """A Keras script on TensorFlow."""

    _base_environment = "estimator-keras"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [pinned("keras", version), "tensorflow"]


@estimator(PLACE, NODES, BACKEND, CONTENT, FRAMEWORK, CHECKS)
class Chainer(MMLBaseEstimator):
    """A Chainer script."""

    _base_environment = "estimator-chainer"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [pinned("chainer", version)]
