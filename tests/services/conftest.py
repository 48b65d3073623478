"""A server with a few models to deploy, and what a client of a service does."""

import pytest
from support import models
from support.services import Shop


@pytest.fixture(scope="session")
def model_files(tmp_path_factory):
    return models.make(tmp_path_factory.mktemp("models"), "onnx_times")


@pytest.fixture
def shop(slipway, model_files):
    """Models `times:1` and `times:2`, twice and three times the input, and the environment `frameworks`."""
    return Shop(slipway, model_files)
