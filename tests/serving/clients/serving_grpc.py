"""TensorFlow Serving's client: serving_grpc.py ADDRESS, of a server with the model several."""

import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

channel = grpc.insecure_channel(sys.argv[1])
stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)


def predict(signature="", outputs=(), name="several", version=0, compression=None, **inputs):
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    if version:
        request.model_spec.version.value = version
    request.output_filter.extend(outputs)
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(
            value if hasattr(value, "dtype") and not hasattr(value, "shape") else tf.make_tensor_proto(value)
        )
    return stub.Predict(request, timeout=20, compression=compression)


answer = predict(x=np.array([[1, 2], [3, 4]], np.float32))
assert tf.make_ndarray(answer.outputs["y"]).tolist() == [[2, 4], [6, 8]]
assert answer.model_spec.name == "several" and answer.model_spec.signature_name == "serving_default"
# Enough for the answer to be compressed where the request is.
many = np.arange(4000, dtype=np.float32).reshape(2000, 2)
for way in (grpc.Compression.Gzip, grpc.Compression.Deflate):
    assert (tf.make_ndarray(predict(x=many, compression=way).outputs["y"]) == many * 2).all()
# One value that stands for all, and values one by one.
assert tf.make_ndarray(
    predict(x=tf.make_tensor_proto(3.0, shape=[2, 2], dtype=tf.float32)).outputs["y"]
).tolist() == [[6, 6], [6, 6]]
answer = predict("join", text=[b"a", b"\xff"], times=np.array([3, -4], np.int64))
assert tf.make_ndarray(answer.outputs["joined"]).tolist() == [b"a3", b"\xff-4"]
assert tf.make_ndarray(answer.outputs["times"]).tolist() == [6, -8]
assert list(predict("join", ["times"], text=["a"], times=np.array([3], np.int64)).outputs) == ["times"]


def example(value):
    return tf.train.Example(
        features=tf.train.Features(
            feature={"value": tf.train.Feature(float_list=tf.train.FloatList(value=[value]))}
        )
    )


request = classification_pb2.ClassificationRequest()
request.model_spec.name, request.model_spec.signature_name = "several", "classify"
request.input.example_list.examples.extend([example(0.25), example(1)])
rows = stub.Classify(request, timeout=20).result.classifications
assert [[(c.label, c.score) for c in row.classes] for row in rows] == [
    [("low", 0.75), ("high", 0.25)],
    [("low", 0), ("high", 1)],
]
request = regression_pb2.RegressionRequest()
request.model_spec.name, request.model_spec.signature_name = "several", "regress"
request.input.example_list_with_context.context.CopyFrom(example(0.5))
request.input.example_list_with_context.examples.extend([tf.train.Example(), example(2)])
assert [r.value for r in stub.Regress(request, timeout=20).result.regressions] == [5, 20]

request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
request.model_spec.name = "several"
about = get_model_metadata_pb2.SignatureDefMap()
stub.GetModelMetadata(request).metadata["signature_def"].Unpack(about)
assert {"serving_default", "join", "classify", "regress"} <= set(about.signature_def)
spec = about.signature_def["serving_default"].inputs["x"]
assert spec.dtype == tf.float32.as_datatype_enum and [d.size for d in spec.tensor_shape.dim] == [-1, 2]
request = get_model_status_pb2.GetModelStatusRequest()
request.model_spec.name = "several"
(status,) = model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(request).model_version_status
assert (status.version, status.state, status.status.error_code) == (1, 30, 0)


def refused(call, code, says):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code and says in error.details(), error
        return
    raise SystemExit(f"{says}: was not refused")


codes = grpc.StatusCode
good = np.zeros((1, 2), np.float32)
refused(lambda: predict(name="other", x=good), codes.NOT_FOUND, "no model 'other'")
refused(lambda: predict(version=7, x=good), codes.NOT_FOUND, "no version '7'")
refused(lambda: predict("nothing", x=good), codes.INVALID_ARGUMENT, "no signature 'nothing'")
refused(lambda: predict(outputs=["z"], x=good), codes.INVALID_ARGUMENT, "no output 'z'")
refused(lambda: predict(z=good), codes.INVALID_ARGUMENT, "no input 'z'")
refused(lambda: predict(x=good.astype(np.int32)), codes.INVALID_ARGUMENT, "takes FP32")
refused(lambda: predict(x=np.zeros((1, 3), np.float32)), codes.INVALID_ARGUMENT, "[-1, 2]")
huge = tf.make_tensor_proto(good)
huge.tensor_shape.dim[0].size = 1 << 50
refused(lambda: predict(x=huge), codes.INVALID_ARGUMENT, "bytes")
huge.tensor_content = b""
huge.float_val.append(1)
refused(lambda: predict(x=huge), codes.INVALID_ARGUMENT, "shape")
refused(lambda: predict("classify", inputs=[b"no example"]), codes.INVALID_ARGUMENT, "")
refused(lambda: stub.Predict(predict_pb2.PredictRequest()), codes.NOT_FOUND, "no model ''")
