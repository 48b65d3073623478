"""Calls that are given up: grpc_given_up.py ADDRESS, of a server with the model regressor."""

import sys

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

stub = service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(sys.argv[1]))
request = service_pb2.ModelInferRequest(model_name="regressor")
request.inputs.add(name="input", datatype="FP64", shape=[1, 4]).contents.fp64_contents.extend([1, 2, 3, 4])


def good(answer):
    return abs(answer.outputs[0].contents.fp64_contents[0] - 10) < 1e-9


assert good(stub.ModelInfer(request))
calls = [stub.ModelInfer.future(request) for _ in range(2000)]
for call in calls[::2]:
    call.cancel()
for call in calls[1::2]:
    try:
        assert good(call.result())
    except grpc.RpcError as error:
        assert error.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE), error
assert good(stub.ModelInfer(request))
