"""gRPC to a service's own port, asked by Triton's real client."""

import subprocess

from support import models

CLIENT = """
import sys, numpy, tritonclient.grpc as grpc
from tritonclient.utils import InferenceServerException
address, key = sys.argv[1:]
client = grpc.InferenceServerClient(address)
good = {"authorization": f"Bearer {key}"}
assert client.is_model_ready("times", headers=good)
x = grpc.InferInput("x", [2, 1], "FP32")
x.set_data_from_numpy(numpy.array([[1.0], [2.0]], dtype=numpy.float32))
for _ in range(5):
    assert client.infer("times", [x], headers=good).as_numpy("y").tolist() == [[2.0], [4.0]]
many = grpc.InferInput("x", [3000, 1], "FP32")
many.set_data_from_numpy(numpy.ones((3000, 1), dtype=numpy.float32))
for way in ("gzip", "deflate"):
    answer = client.infer("times", [many], headers=good, compression_algorithm=way)
    assert (answer.as_numpy("y") == 2).all() and answer.as_numpy("y").shape == (3000, 1)
for headers, status in (({"authorization": "Bearer wrong"}, "UNAUTHENTICATED"), ({}, "UNAUTHENTICATED")):
    try:
        client.infer("times", [x], headers=headers)
        raise SystemExit("it was let in")
    except InferenceServerException as error:
        assert status in error.status(), error.status()
try:
    client.infer("other", [x], headers=good)
    raise SystemExit("there is no such model")
except InferenceServerException as error:
    assert "NOT_FOUND" in error.status(), error.status()
"""


def test_calls_go_through_the_services_own_port_with_its_keys(shop):
    service = shop.deployed("times-svc")
    address = service.own_url.removeprefix("http://")
    done = subprocess.run(
        [models.PYTHON, "-c", CLIENT, address, service.key], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert service.record["traffic"]["requests"] >= 6
    assert service.record["traffic"]["under_way"] == 0
