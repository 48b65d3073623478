"""Models, made once a session by the real frameworks, and the servers that most tests share."""

import pytest
from support import models


@pytest.fixture(scope="session")
def onnx_models(tmp_path_factory):
    return models.make_once(tmp_path_factory, "onnx_double", "onnx_digits", "onnx_external")


@pytest.fixture(scope="session")
def tensorflow_models(tmp_path_factory):
    return models.make_once(tmp_path_factory, "tensorflow", "keras", "checkpoint")


@pytest.fixture(scope="session")
def sklearn_models(tmp_path_factory):
    return models.make_once(tmp_path_factory, "sklearn")


@pytest.fixture(scope="session")
def double(onnx_models):
    """Two inputs and two outputs, each doubled."""
    with models.Service(onnx_models / "double.onnx") as service:
        yield service


@pytest.fixture(scope="session")
def digits(onnx_models):
    """784 numbers in, 10 probabilities out."""
    with models.Service(onnx_models / "digits.onnx") as service:
        yield service
