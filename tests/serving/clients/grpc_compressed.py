"""Calls whose messages are compressed, by Triton's client and byte by byte.

grpc_compressed.py ADDRESS, of a server with the model double and bodies of 1 MB at most.
"""

import gzip
import http.client
import sys
import zlib
from urllib.parse import unquote

import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2

OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED = "0", "3", "8", "12"
client = triton.InferenceServerClient(sys.argv[1])
for rows in (1, 5000):
    a, b = triton.InferInput("a", [rows, 2], "FP32"), triton.InferInput("b", [rows, 1], "INT64")
    ones, twos = np.ones((rows, 2), np.float32), np.full((rows, 1), 2)
    a.set_data_from_numpy(ones)
    b.set_data_from_numpy(twos)
    for way in ("gzip", "deflate", None):
        result = client.infer("double", [a, b], compression_algorithm=way)
        assert (result.as_numpy("a2") == ones * 2).all() and (result.as_numpy("b2") == twos * 2).all()
much = triton.InferInput("a", [1 << 20, 2], "FP32")
much.set_data_from_numpy(np.zeros((1 << 20, 2), np.float32))
try:
    client.infer("double", [much, b], compression_algorithm="gzip")
    raise SystemExit("a message of 8 MB was taken")
except triton.InferenceServerException as error:
    assert "RESOURCE_EXHAUSTED" in error.status() and "1048576 bytes" in error.message(), error


def call(message, encoding, accept="identity, deflate, gzip", method="ModelInfer"):
    """One call over HTTP/1.1: its status and sentence, whether the answer is compressed, and its message."""
    headers = {"Content-Type": "application/grpc", "grpc-accept-encoding": accept}
    if encoding:
        headers["grpc-encoding"] = encoding
    connection = http.client.HTTPConnection(sys.argv[1], timeout=60)
    body = b"\1" + len(message).to_bytes(4, "big") + message
    connection.request("POST", f"/inference.GRPCInferenceService/{method}", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    said = unquote(answer.headers.get("grpc-message", ""))
    return answer.headers["grpc-status"], said, answer.headers.get("grpc-encoding"), content


raw = service_pb2.ModelInferRequest(model_name="double")
raw.inputs.add(name="a", datatype="FP32", shape=[5000, 2])
raw.inputs.add(name="b", datatype="INT64", shape=[5000, 1])
raw.raw_input_contents.extend([np.ones((5000, 2), np.float32).tobytes(), np.full((5000, 1), 2).tobytes()])
message = raw.SerializeToString()
for encoding, compress, expand in (
    ("gzip", gzip.compress, gzip.decompress),
    ("deflate", zlib.compress, zlib.decompress),
):
    status, _, used, content = call(compress(message), encoding)
    assert (status, used, content[0]) == (OK, encoding, 1) and len(content) < 10_000
    answer = service_pb2.ModelInferResponse.FromString(expand(content[5:]))
    assert answer.raw_output_contents[0] == np.full((5000, 2), 2, np.float32).tobytes()
    # A client that does not take compressed answers gets none.
    status, _, used, content = call(compress(message), encoding, accept="identity")
    assert (status, used, content[0]) == (OK, None, 0)
    bomb = compress(bytes(64 << 20))
    assert len(bomb) < 1 << 17
    for method in ("ModelInfer", "ServerLive"):
        status, said, _, _ = call(bomb, encoding, method=method)
        assert status == RESOURCE_EXHAUSTED and "once uncompressed" in said, (status, said)
    for broken in (compress(message)[:-1], compress(message) + b"x", message, b""):
        status, said, _, _ = call(broken, encoding)
        assert status == INVALID_ARGUMENT and f"not compressed with {encoding}" in said, (status, said)
status, said, _, _ = call(gzip.compress(message), None)
assert status == INVALID_ARGUMENT and "does not say how" in said, (status, said)
status, said, _, _ = call(message, "snappy")
assert status == UNIMPLEMENTED and "'snappy'" in said and "gzip" in said, (status, said)
assert client.is_server_live() and client.infer("double", [a, b]).as_numpy("a2").shape == (5000, 2)
