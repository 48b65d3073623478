"""Clients with an environment of their own: MLServer's and MLflow's. Others are in the tests of their protocols."""

import json
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support import frameworks, models

CLIENTS = Path(__file__).with_name("clients")


@pytest.fixture(scope="session")
def client_python(tmp_path_factory):
    shared = tmp_path_factory.getbasetemp().parent / "frameworks" / "serving-clients"
    packages = ("mlserver==1.7.1", "mlflow-skinny==3.17.2", "pandas", "scipy")
    return frameworks.environment(shared, "3.11", *packages)


@pytest.fixture(scope="module")
def regressor(sklearn_models):
    """The sum of four numbers."""
    with models.Service(sklearn_models / "regressor.pkl") as service:
        yield service


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_mlservers_batch_client(client_python, regressor, tmp_path):
    rows = [[i, 1, 1, 1] for i in range(10)]
    requests = [
        {"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP64", "data": row}]} for row in rows
    ]
    (tmp_path / "in.txt").write_text("".join(json.dumps(request) + "\n" for request in requests))
    run(
        *(client_python.with_name("mlserver"), "infer", "-u", regressor.url.partition("://")[2]),
        *("-m", "regressor", "-i", tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-s", 3, "-w", 2),
    )
    answers = [json.loads(line) for line in (tmp_path / "out.txt").read_text().splitlines()]
    values = sorted(round(answer["outputs"][0]["data"][0], 6) for answer in answers)
    assert values == [i + 3 for i in range(10)], answers


def test_mlservers_types_over_grpc(client_python, regressor):
    run(client_python, CLIENTS / "mlserver_grpc.py", regressor.url.partition("://")[2])


def test_mlflows_scoring_client(client_python, regressor):
    parts = urlsplit(regressor.url)
    run(client_python, CLIENTS / "mlflow_scoring.py", parts.hostname, parts.port)
