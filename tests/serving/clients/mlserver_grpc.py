"""MLServer's own types and stubs for gRPC: mlserver_grpc.py ADDRESS, of a server with the model regressor."""

import sys

import grpc
import numpy
from mlserver.codecs import NumpyCodec
from mlserver.grpc import converters, dataplane_pb2, dataplane_pb2_grpc
from mlserver.types import InferenceRequest

stub = dataplane_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(sys.argv[1]))
assert stub.ModelReady(dataplane_pb2.ModelReadyRequest(name="regressor")).ready
rows = NumpyCodec.encode_input("input", numpy.array([[1.0, 2, 3, 4], [0, 0, 0, 1]]))
for use_raw in (False, True):
    request = converters.ModelInferRequestConverter.from_types(
        InferenceRequest(inputs=[rows]), model_name="regressor", model_version=None, use_raw=use_raw
    )
    answer = converters.ModelInferResponseConverter.to_types(stub.ModelInfer(request))
    values = NumpyCodec.decode_output(answer.outputs[0]).ravel()
    assert numpy.allclose(values, [10, 1]), values
