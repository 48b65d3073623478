"""The Open Inference Protocol, by hand and with Triton's own client."""

import json
import struct
import subprocess

import pytest
from support import models

A = {"name": "a", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}
B = {"name": "b", "shape": [1, 1], "datatype": "INT64", "data": [3]}


def test_health_and_metadata(double):
    for path in ("/v2/health/live", "/v2/health/ready"):
        answer = double.request("GET", path)
        assert answer.status == 200 and answer.json() == {"live": True, "ready": True}
    assert "binary_tensor_data" in double.request("GET", "/v2").json()["extensions"]
    about = double.request("GET", "/v2/models/double/versions/1").json()
    assert about["platform"] == "onnx" and about["versions"] == ["1"]
    assert about["inputs"] == [
        {"name": "a", "datatype": "FP32", "shape": [-1, 2]},
        {"name": "b", "datatype": "INT64", "shape": [-1, 1]},
    ]
    assert double.request("GET", "/v2/models/double/ready").json() == {"name": "double", "ready": True}
    assert double.request("GET", "/v2/models/double/config").json()["max_batch_size"] == 64
    assert double.request("GET", "/v2/models/double/stats").json()["model_stats"][0]["name"] == "double"
    assert double.post("/v2/repository/index", {}).json()[0]["state"] == "READY"


def test_tensors_as_json_flat_or_nested_in_any_order_of_members(double):
    nested = {"data": [[1, 2]], "datatype": "FP32", "name": "a", "shape": [1, 2]}
    for first in (A, nested):
        answer = double.post("/v2/models/double/infer", {"id": "7", "inputs": [first, B]})
        assert answer.status == 200, answer
        assert answer.json() == {
            "model_name": "double",
            "model_version": "1",
            "id": "7",
            "outputs": [
                {"name": "a2", "datatype": "FP32", "shape": [1, 2], "data": [2.0, 4.0]},
                {"name": "b2", "datatype": "INT64", "shape": [1, 1], "data": [6]},
            ],
        }


def test_named_outputs_alone(double):
    answer = double.post("/v2/models/double/infer", {"inputs": [A, B], "outputs": [{"name": "b2"}]})
    assert [output["name"] for output in answer.json()["outputs"]] == ["b2"]


def binary(*inputs, **extra):
    """The body and headers of a request with binary tensors."""
    described = [
        {"name": name, "shape": shape, "datatype": kind, "parameters": {"binary_data_size": len(content)}}
        for name, shape, kind, content in inputs
    ]
    text = json.dumps({"inputs": described, **extra}).encode()
    body = text + b"".join(content for *_, content in inputs)
    return body, {"Inference-Header-Content-Length": str(len(text))}


def test_binary_tensors_both_ways(double):
    body, headers = binary(
        ("a", [2, 2], "FP32", struct.pack("<4f", 1, 2, 3, 4)),
        ("b", [2, 1], "INT64", struct.pack("<2q", 5, 6)),
        parameters={"binary_data_output": True},
    )
    answer = double.post("/v2/models/double/infer", body, headers=headers)
    assert answer.status == 200, answer
    length = int(answer.headers["inference-header-content-length"])
    about, content = json.loads(answer.body[:length]), answer.body[length:]
    assert [o["parameters"]["binary_data_size"] for o in about["outputs"]] == [16, 16]
    assert struct.unpack("<4f", content[:16]) == (2, 4, 6, 8)
    assert struct.unpack("<2q", content[16:]) == (10, 12)


CLIENT = """
import sys, numpy as np, tritonclient.http as http
client = http.InferenceServerClient(sys.argv[1])
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("double")
assert client.get_model_metadata("double")["inputs"][0]["name"] == "a"
assert client.get_model_config("double")["max_batch_size"] == 64
assert client.get_model_repository_index()[0]["name"] == "double"
client.load_model("double")
for call, says in ((client.unload_model, "does not unload"), (client.load_model, "no model 'other'")):
    try:
        call("double" if call == client.unload_model else "other")
        raise SystemExit(says)
    except Exception as error:
        assert says in str(error), error
for as_binary in (True, False):
    a, b = http.InferInput("a", [3, 2], "FP32"), http.InferInput("b", [3, 1], "INT64")
    a.set_data_from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2), binary_data=as_binary)
    b.set_data_from_numpy(np.array([[1], [2], [3]], dtype=np.int64), binary_data=as_binary)
    named = [http.InferRequestedOutput("a2", binary_data=False), http.InferRequestedOutput("b2")]
    outputs = None if as_binary else named
    result = client.infer("double", [a, b], outputs=outputs, request_id="x")
    assert result.get_response()["id"] == "x"
    assert (result.as_numpy("a2") == np.arange(6).reshape(3, 2) * 2).all()
    assert (result.as_numpy("b2") == [[2], [4], [6]]).all()
assert client.get_inference_statistics("double")["model_stats"][0]["inference_count"] >= 6
try:
    client.infer("other", [a, b])
    raise SystemExit("an unknown model was found")
except Exception as error:
    assert "there is no model 'other'" in str(error), error
"""


def test_tritons_client(double):
    address = double.url.removeprefix("http://")
    result = subprocess.run(
        [models.PYTHON, "-c", CLIENT, address], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr


def changed(which, **members):
    return {**which, **members}


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([A], "'b' is missing"),
        ([A, A, B], "twice"),
        ([changed(A, name="z"), B], "no input 'z'"),
        ([changed(A, datatype="FP64"), B], "takes FP32"),
        ([changed(A, datatype="FLOAT"), B], "no datatype"),
        ([changed(A, shape=[1, 3]), B], "elements"),
        ([changed(A, shape=[1, 3], data=[1, 2, 3]), B], "[-1, 2]"),
        ([changed(A, shape=[-1, 2]), B], "dimension"),
        ([changed(A, shape=[2**40, 2**40]), B], "dimension"),
        ([changed(A, shape=[100_000_000, 2]), B], "shape"),
        ([{"name": "a"}, B], "lacks"),
        ([{"name": "a", "shape": [1, 2], "datatype": "FP32"}, B], "no data"),
        ([changed(A, parameters={"binary_data_size": 8}), B], "announces"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(double, inputs, says):
    answer = double.post("/v2/models/double/infer", {"inputs": inputs})
    assert answer.status == 400 and says in answer.json()["error"], answer


def test_binary_lengths_that_lie_are_refused(double):
    good = ("a", [1, 2], "FP32", bytes(8)), ("b", [1, 1], "INT64", bytes(8))
    body, headers = binary(*good)
    length = int(headers["Inference-Header-Content-Length"])
    for wrong in (str(length - 1), str(length + 1), str(len(body) + 1), "-1", "x", str(2**70)):
        answer = double.post(
            "/v2/models/double/infer", body, headers={"Inference-Header-Content-Length": wrong}
        )
        assert answer.status == 400, (wrong, answer)
    assert double.post("/v2/models/double/infer", body[:-1], headers=headers).status == 400
    assert double.post("/v2/models/double/infer", body + b"x", headers=headers).status == 400
    short, short_headers = binary(("a", [1, 2], "FP32", bytes(7)), good[1])
    assert double.post("/v2/models/double/infer", short, headers=short_headers).status == 400
    assert double.post("/v2/models/double/infer", body, headers=headers).status == 200


def test_text_tensors_in_binary(onnx_models):
    with models.Service(onnx_models / "texts.onnx") as service:
        content = b"".join(struct.pack("<I", len(t)) + t for t in (b"", b"a\0b", b"\xff"))
        body, headers = binary(("text", [3], "BYTES", content), parameters={"binary_data_output": True})
        answer = service.post("/v2/models/texts/infer", body, headers=headers)
        assert answer.status == 200 and answer.body.endswith(content.replace(b"a\0b", b"a\0b")), answer
        for bad in (content[:-1], content + b"\0", struct.pack("<I", 2**32 - 1), b"\1"):
            body, headers = binary(("text", [3], "BYTES", bad))
            assert service.post("/v2/models/texts/infer", body, headers=headers).status == 400
