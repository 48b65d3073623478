"""The older place of azureml.tensorboard."""

from azureml.tensorboard import Tensorboard

__all__ = ["Tensorboard"]
