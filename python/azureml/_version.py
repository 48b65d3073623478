"""Which SDK v1 this companion follows. `azureml.core.VERSION` is what programs print and compare."""

VERSION = "1.61.0"
