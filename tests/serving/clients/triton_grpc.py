"""Triton's gRPC client, and its stubs as KServe's clients use them.

triton_grpc.py ADDRESS, of a server with the model double.
"""

import sys
import time

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2, service_pb2_grpc

client = triton.InferenceServerClient(sys.argv[1])
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("double")
assert client.is_model_ready("double", "1")
assert client.get_server_metadata().name == "slipway"
about = client.get_model_metadata("double")
assert [(i.name, i.datatype, list(i.shape)) for i in about.inputs] == [
    ("a", "FP32", [-1, 2]),
    ("b", "INT64", [-1, 1]),
]
a, b = triton.InferInput("a", [3, 2], "FP32"), triton.InferInput("b", [3, 1], "INT64")
a.set_data_from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))
b.set_data_from_numpy(np.array([[1], [2], [-3]], dtype=np.int64))
for outputs in (None, [triton.InferRequestedOutput("b2"), triton.InferRequestedOutput("a2")]):
    result = client.infer("double", [a, b], outputs=outputs, request_id="x")
    assert result.get_response().id == "x"
    assert (result.as_numpy("a2") == np.arange(6).reshape(3, 2) * 2).all()
    assert (result.as_numpy("b2") == [[2], [4], [-6]]).all()
    if outputs:
        assert [o.name for o in result.get_response().outputs] == ["b2", "a2"]
channel = grpc.insecure_channel(sys.argv[1])
assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"
# Many at a time on one connection.
results = []
for _ in range(500):
    client.async_infer("double", [a, b], lambda result, error: results.append(error))
until = time.monotonic() + 20
while len(results) < 500 and time.monotonic() < until:
    time.sleep(0.01)
assert len(results) == 500 and not any(results), results[:3]
# Typed contents, as KServe's clients send them.
stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
request = service_pb2.ModelInferRequest(model_name="double")
one, two = (
    request.inputs.add(name="a", datatype="FP32", shape=[1, 2]),
    request.inputs.add(name="b", datatype="INT64", shape=[1, 1]),
)
one.contents.fp32_contents.extend([1.5, -2])
two.contents.int64_contents.append(-4)
answer = stub.ModelInfer(request)
assert list(answer.outputs[0].contents.fp32_contents) == [3, -4] and list(
    answer.outputs[1].contents.int64_contents
) == [-8]


def refused(call, code, says):
    try:
        call()
    except (grpc.RpcError, triton.InferenceServerException) as error:
        assert code in str(error) and says in str(error), error
        return
    raise SystemExit(f"{says}: was not refused")


refused(lambda: client.infer("other", [a, b]), "NOT_FOUND", "there is no model 'other'")
refused(lambda: client.infer("double", [a, b], model_version="9"), "NOT_FOUND", "no version '9'")
refused(lambda: client.infer("double", [a]), "INVALID_ARGUMENT", "'b' is missing")
refused(lambda: client.get_model_config("double"), "UNIMPLEMENTED", "no method")
wide = triton.InferInput("a", [1, 3], "FP32")
wide.set_data_from_numpy(np.zeros((1, 3), np.float32))
refused(lambda: client.infer("double", [wide, b]), "INVALID_ARGUMENT", "[-1, 2]")
request.inputs[0].shape[0] = 1 << 40
refused(lambda: stub.ModelInfer(request), "INVALID_ARGUMENT", "shape")
request.inputs[0].shape[0] = 2
refused(lambda: stub.ModelInfer(request), "INVALID_ARGUMENT", "elements")
request.inputs[0].shape[0] = 1
request.raw_input_contents.append(b"123")
refused(lambda: stub.ModelInfer(request), "INVALID_ARGUMENT", "raw")
