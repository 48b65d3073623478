"""Images of models."""

from azureml._lazy import lazy

lazy(__name__, {"azureml.core.image.image": "ContainerImage Image"})
