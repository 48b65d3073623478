"""Models, made once a session by the real frameworks, and the servers that most tests share."""

import os

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
def torch_python(framework):
    """An interpreter with the PyTorch that the other tests have too."""
    return framework("pytorch")


@pytest.fixture(scope="session")
def torch_home(tmp_path_factory):
    """The home of servers of TorchScript: the first one builds the runtime, for all test processes of a session."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "torch-home"
    home.mkdir(exist_ok=True)
    return home


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
