"""Models, made once a session by the real frameworks, and the servers that most tests share."""

import pytest
from support import frameworks, models
from support.interpreters import OLDEST


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
def torch_python(tmp_path_factory):
    """An interpreter with the PyTorch that the other tests have too."""
    shared = tmp_path_factory.getbasetemp().parent / "frameworks" / "pytorch"
    return frameworks.environment(shared, OLDEST, "torch==1.6.0", "pytorch-lightning==1.2.10")


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
