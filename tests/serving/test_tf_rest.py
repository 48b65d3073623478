"""TensorFlow Serving's REST protocol, as its clients use it."""

import base64

import pytest
from support import models


def test_rows_of_named_inputs_give_rows_of_named_outputs(double):
    answer = double.predict({"instances": [{"a": [1, 2], "b": [3]}, {"b": [5], "a": [0.5, -1]}]})
    assert answer.status == 200, answer
    assert answer.json() == {"predictions": [{"a2": [2.0, 4.0], "b2": [6]}, {"a2": [1.0, -2.0], "b2": [10]}]}


def test_columns_give_columns(double):
    answer = double.predict({"inputs": {"a": [[1, 2], [3, 4]], "b": [[1], [2]]}})
    assert answer.json() == {"outputs": {"a2": [[2.0, 4.0], [6.0, 8.0]], "b2": [[2], [4]]}}


def test_one_input_takes_plain_values_and_one_output_gives_them(digits):
    rows = digits.predict({"instances": [[0.5] * 784] * 3}).json()["predictions"]
    assert len(rows) == 3 and all(len(row) == 10 for row in rows)
    assert sum(rows[0]) == pytest.approx(1, abs=1e-5)
    columns = digits.predict({"inputs": [[0.5] * 784]}).json()["outputs"]
    assert columns[0] == pytest.approx(rows[0], abs=1e-6)
    named = digits.predict({"inputs": {"x": [[0.5] * 784]}}).json()["outputs"]
    assert named == columns


def test_whole_floats_are_written_as_floats_and_nan_is_taken(double):
    answer = double.post("/v1/models/double:predict", b'{"inputs": {"a": [[NaN, -Infinity]], "b": [[1]]}}')
    assert b'"a2":[[NaN,-Infinity]]' in answer.body, answer
    answer = double.predict({"inputs": {"a": [[1, 2]], "b": [[1]]}})
    assert b'"a2":[[2.0,4.0]]' in answer.body and b'"b2":[[2]]' in answer.body


def test_text_goes_in_as_text_or_base64_and_comes_out_by_the_outputs_name(onnx_models):
    with models.Service(onnx_models / "texts.onnx") as service:
        answer = service.predict({"instances": ["h\u00e9", {"b64": base64.b64encode(b"\x00\xff").decode()}]})
        assert answer.json() == {
            "predictions": [
                {"b64": base64.b64encode("h\u00e9".encode()).decode()},
                {"b64": base64.b64encode(b"\x00\xff").decode()},
            ]
        }


def test_status_and_metadata(double):
    status = double.request("GET", "/v1/models/double").json()
    assert status["model_version_status"][0]["state"] == "AVAILABLE"
    assert status["model_version_status"][0]["version"] == "1"
    about = double.request("GET", "/v1/models/double/versions/1/metadata").json()
    assert about["model_spec"]["name"] == "double"
    signature = about["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["a"]["dtype"] == "DT_FLOAT"
    assert [dim["size"] for dim in signature["inputs"]["a"]["tensor_shape"]["dim"]] == ["-1", "2"]
    assert signature["outputs"]["b2"]["dtype"] == "DT_INT64"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "neither"),
        ({"instances": []}, "empty"),
        ({"instances": [{"a": [1, 2], "b": [3]}], "inputs": {}}, "both"),
        ({"instances": [[1, 2]]}, "2 inputs"),
        ({"instances": [{"a": [1, 2]}]}, "'b'"),
        ({"instances": [{"a": [1, 2], "b": [3], "c": 1}]}, "'c'"),
        ({"instances": [{"a": [1, 2], "b": [3]}, {"a": [1], "b": [3]}]}, "shape"),
        ({"inputs": {"a": [[1, 2, 3]], "b": [[1]]}}, "[-1, 2]"),
        ({"inputs": {"a": [[1, 2], [3]], "b": [[1]]}}, "uneven"),
        ({"inputs": {"a": [["x", "y"]], "b": [[1]]}}, "number"),
        ({"inputs": {"a": [[1, 2]], "b": [[1.0]]}}, "whole number"),
        ({"inputs": {"a": [[1, 2]], "b": [[2**63]]}}, "cannot hold"),
        ({"inputs": {"a": [[1, None]], "b": [[1]]}}, "number"),
        ({"signature_name": "nope", "inputs": {"a": [[1, 2]], "b": [[1]]}}, "nope"),
        ([1], "object"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(double, body, says):
    answer = double.predict(body)
    assert answer.status == 400, answer
    assert says in answer.json()["error"], answer


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nonsense", b'{"inputs"', b'{"inputs": [1}', b"\xff\xfe", b'{"instances": [1]} x', b"\0"],
)
def test_what_is_not_json_is_refused(digits, body):
    answer = digits.post("/v1/models/digits:predict", body)
    assert answer.status == 400 and answer.json()["error"], answer


def test_unknown_models_versions_and_paths(double):
    body = {"inputs": {"a": [[1, 2]], "b": [[1]]}}
    assert double.post("/v1/models/other:predict", body).status == 404
    assert double.post("/v1/models/double/versions/2:predict", body).status == 404
    assert double.post("/v1/models/double/versions/1:predict", body).status == 200
    assert double.post("/v1/models/double:explain", body).status == 400
    answer = double.post("/v1/models/double/labels/stable:predict", body)
    assert answer.status == 404 and "labelled 'stable'" in answer.json()["error"]
    assert double.request("GET", "/v1/other").status == 400
    assert double.request("GET", "/nothing").status == 404
    assert "this server has the model 'double'" in double.request("GET", "/v1/models/x").json()["error"]


def test_signatures_of_a_saved_model(tensorflow_models):
    with models.Service(tensorflow_models / "several") as service:
        assert service.predict({"instances": [[1, 2]]}).json() == {"predictions": [[2.0, 4.0]]}
        answer = service.predict(
            {
                "signature_name": "join",
                "instances": [{"text": "a", "times": 1}, {"text": "\u00e9", "times": 2}],
            }
        )
        assert answer.json() == {
            "predictions": [{"joined": "a1", "times": 2}, {"joined": "\u00e92", "times": 4}]
        }
        answer = service.post(
            "/v1/models/several:classify",
            {"signature_name": "classify", "examples": [{"value": 0.25}, {"value": [0.75]}]},
        )
        assert answer.json() == {
            "result": [[["low", 0.75], ["high", 0.25]], [["low", 0.25], ["high", 0.75]]]
        }, answer
        answer = service.post(
            "/v1/models/several:regress",
            {"signature_name": "regress", "context": {"value": 0.5}, "examples": [{}]},
        )
        assert answer.json() == {"result": [5.0]}, answer
        answer = service.post("/v1/models/several:classify", {"examples": [{"value": 0.25}]})
        assert answer.status == 400 and "does not take examples" in answer.json()["error"]


def test_a_folder_of_versions_serves_the_newest(tensorflow_models):
    with models.Service(tensorflow_models / "digits") as service:
        assert service.about["version"] == "3" and service.about["runtime"] == "tensorflow"
        rows = service.predict({"instances": [[0.5] * 784] * 2}).json()["predictions"]
        assert [sum(row) for row in rows] == pytest.approx([1, 1], abs=1e-5)
        assert service.predict({"instances": [[0.5] * 783]}).status == 400
