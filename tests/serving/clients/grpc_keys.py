"""Calls with and without a key.

grpc_keys.py ADDRESS [CERTIFICATE], of a server with the model double, the key the-key and bodies of 1 MB at most.
"""

import sys
from pathlib import Path

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

if len(sys.argv) > 2:
    channel = grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials(Path(sys.argv[2]).read_bytes()))
else:
    channel = grpc.insecure_channel(sys.argv[1])
stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
assert stub.ServerLive(service_pb2.ServerLiveRequest()).live
about = service_pb2.ModelMetadataRequest(name="double")
for metadata in ((), (("authorization", "Bearer wrong"),)):
    try:
        stub.ModelMetadata(about, metadata=metadata)
        raise SystemExit("nobody asked for the key")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAUTHENTICATED and "key" in error.details(), error
key = (("authorization", "Bearer the-key"),)
assert stub.ModelMetadata(about, metadata=key).name == "double"
large = service_pb2.ModelInferRequest(model_name="double", raw_input_contents=[bytes(3 << 20)])
for metadata, code in (((), grpc.StatusCode.UNAUTHENTICATED), (key, grpc.StatusCode.RESOURCE_EXHAUSTED)):
    try:
        stub.ModelInfer(large, metadata=metadata)
        raise SystemExit("too much was taken")
    except grpc.RpcError as error:
        assert error.code() == code, error
assert stub.ModelMetadata(about, metadata=key).name == "double"
