"""A run that has kept something to register, and a real model made once a session."""

import pytest
from support import models


@pytest.fixture(scope="session")
def onnx_models(tmp_path_factory):
    return models.make(tmp_path_factory.mktemp("onnx"), "onnx_double")


@pytest.fixture
def trained(slipway):
    """A completed run with a model of two files, a report beside it, and a script."""
    script = (
        "mkdir -p outputs/model/sub; echo weights > outputs/model/w.bin; echo {} > outputs/model/sub/c.json; "
    )
    run = slipway.submit(script + "echo done > outputs/report.txt", experiment="digits")
    slipway.completed(run)
    return run
