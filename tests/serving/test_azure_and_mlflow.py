"""Azure ML's web service and MLflow's model server, as their clients use them."""

import base64
import struct

import pytest
from support import models


def test_health_of_all_kinds(digits):
    assert digits.request("GET", "/").body == b"Healthy"
    for path in ("/ping", "/health"):
        assert digits.request("GET", path).status == 200
    assert digits.request("GET", "/version").body


def test_azures_form_for_onnx_models(double):
    def tensor(dims, kind, raw):
        return {"dims": dims, "dataType": kind, "rawData": base64.b64encode(raw).decode()}

    body = {
        "inputs": {
            "a": tensor(["1", "2"], 1, struct.pack("<2f", 1, 2)),
            "b": tensor([1, 1], 7, struct.pack("<q", 4)),
        }
    }
    for path in ("/score", "/v1/models/default/versions/1:predict"):
        answer = double.post(path, body)
        assert answer.status == 200, answer
        outputs = answer.json()["outputs"]
        assert outputs["a2"]["dims"] == ["1", "2"] and outputs["a2"]["dataType"] == 1
        assert struct.unpack("<2f", base64.b64decode(outputs["a2"]["rawData"])) == (2, 4)
    body["outputFilter"] = ["b2"]
    assert list(double.post("/score", body).json()["outputs"]) == ["b2"]
    plain = {
        "inputs": {
            "a": {"dims": ["1", "2"], "dataType": 1, "floatData": [1, 2]},
            "b": {"dims": ["1", "1"], "dataType": 7, "int64Data": ["9007199254740993"]},
        }
    }
    raw = double.post("/score", plain).json()["outputs"]["b2"]["rawData"]
    assert struct.unpack("<q", base64.b64decode(raw)) == (2 * 9007199254740993,)


def test_score_takes_rows_and_tensorflow_servings_form(digits):
    answer = digits.post("/score", {"data": [[0.5] * 784]}, headers={"x-ms-client-request-id": "abc"})
    assert answer.status == 200 and len(answer.json()["serving_default"][0]) == 10, answer
    assert answer.headers["x-request-id"] == "abc" and float(answer.headers["x-ms-run-fn-exec-ms"]) > 0
    assert len(digits.post("/score", {"instances": [[0.5] * 784]}).json()["predictions"]) == 1
    for bad in ({}, {"data": [[1]]}, {"data": []}, {"else": 1}):
        answer = digits.post("/score", bad)
        assert answer.status == 400 and answer.json()["message"], answer
    assert digits.request("GET", "/score").status == 405


def test_swagger(digits):
    document = digits.request("GET", "/swagger.json").json()
    operations = {
        operation["operationId"] for path in document["paths"].values() for operation in path.values()
    }
    assert operations == {"ServiceHealthCheck", "RunMLService", "GetSwaggerSpec"}
    items = document["definitions"]["ServiceInput"]["properties"]["data"]
    assert items["items"]["items"] == {"type": "number", "format": "float"}


def test_mlflows_four_forms(digits, double):
    row = [0.25] * 784
    expected = digits.post("/invocations", {"instances": [row, row]}).json()["predictions"]
    assert len(expected) == 2
    split = {
        "dataframe_split": {"columns": [f"c{i}" for i in range(784)], "index": [0, 1], "data": [row, row]}
    }
    records = {"dataframe_records": [{f"c{i}": v for i, v in enumerate(row)}] * 2}
    for body in ({"inputs": [row, row]}, split, records):
        answer = digits.post("/invocations", body)
        assert answer.status == 200, answer
        assert answer.json()["predictions"][1] == pytest.approx(expected[1], abs=1e-6)
    answer = double.post("/invocations", {"inputs": {"a": [[1, 2]], "b": [[3]]}, "params": {"x": 1}})
    assert answer.json() == {"predictions": {"a2": [[2.0, 4.0]], "b2": [[6]]}}
    answer = double.post(
        "/invocations", {"dataframe_split": {"columns": ["b", "a"], "data": [[[3], [1, 2]], [[4], [5, 6]]]}}
    )
    assert answer.json() == {"predictions": {"a2": [[2.0, 4.0], [10.0, 12.0]], "b2": [[6], [8]]}}, answer


def test_mlflows_errors(digits):
    for body in ({}, {"instances": [[1]]}, {"instances": [], "inputs": []}, {"dataframe_split": {}}):
        answer = digits.post("/invocations", body)
        assert answer.status == 400 and answer.json()["error_code"] == "BAD_REQUEST", answer
    answer = digits.post("/invocations", b"<a/>", headers={"Content-Type": "text/xml"})
    assert answer.status == 400 and "text/xml" in answer.json()["message"]


def test_mlflows_tables(digits, sklearn_models):
    csv = {"Content-Type": "text/csv; charset=utf-8"}
    row = [i / 784 for i in range(784)]
    expected = digits.post("/invocations", {"instances": [row, row]}).json()
    table = ",".join(f'"c{i}"' for i in range(784)) + "\r\n" + (",".join(map(str, row)) + "\r\n") * 2
    assert digits.post("/invocations", table.encode(), headers=csv).json() == expected
    with models.Service(sklearn_models / "regressor.pkl") as service:
        table = b'\xef\xbb\xbfa,b,"c ""d""",e\n1, 2,+3,.5\n\n-1,1e1,"0",1.\n'
        answer = service.post("/invocations", table, headers=csv)
        assert answer.json()["predictions"] == pytest.approx([6.5, 10]), answer
        for bad, says in {
            b"": "empty",
            b"a,b,c,d\n1,2,3\n": "line 2 has 3 cells",
            b"a,b,c,d\n1,2,3,x\n": "column 4 of line 2",
            b'a,b,c,d\n1,2,3,"4\n': "quoted cell",
            b"a,b,c,d\n": "empty",
            b"a,b\n1,2\n": "2",
            b"a,b,c,d\n1,2,3,\n": "NaN",
        }.items():
            answer = service.post("/invocations", bad, headers=csv)
            assert answer.status == 400 and says in answer.json()["message"], (bad, answer)


def test_metrics_under_the_names_people_graph(digits):
    before = digits.metric("nv_inference_request_success")
    failed = digits.metric("nv_inference_request_failure")
    digits.predict({"instances": [[0.5] * 784] * 5})
    digits.predict({"instances": [[0.5]]})
    assert digits.metric("nv_inference_request_success") == before + 1
    assert digits.metric("nv_inference_request_failure") == failed + 1
    text = digits.request("GET", "/metrics").body.decode()
    for name in (
        "nv_inference_count",
        "nv_inference_exec_count",
        "nv_inference_request_duration_us",
        "nv_inference_queue_duration_us",
        "nv_inference_compute_infer_duration_us",
        ':tensorflow:serving:request_count{model_name="digits",status="OK"}',
        ':tensorflow:serving:request_latency_bucket{model_name="digits",le="10"}',
    ):
        assert name in text, name


def test_a_key_is_asked_for_everywhere_but_at_the_health_checks(onnx_models, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# of the service\nfirst-key\nsecond-key\n")
    with models.Service(onnx_models / "digits.onnx", "--key-file", keys) as service:
        body = {"instances": [[0.5] * 784]}
        for path in ("/", "/ping", "/v2/health/ready"):
            assert service.request("GET", path).status == 200
        assert service.predict(body).status == 401
        assert service.predict(body, token="wrong-key").status == 401
        assert service.predict(body, token="first-key").status == 200
        assert service.post("/score", body, token="second-key").status == 200
        assert service.post("/score?key=first-key", body).status == 401
        assert service.post("/score?api_key=first-key&token=first-key", body).status == 401
        for path in ("/metrics", "/swagger.json", "/v1/models/digits", "/v2/models/digits"):
            assert service.request("GET", path).status == 401, path
        assert "-key" not in service.log()


def test_other_machines_need_tls_and_a_key(onnx_models, tmp_path):
    with pytest.raises(models.NotServed) as refused:
        models.Service(onnx_models / "digits.onnx", listen="0.0.0.0:0")
    assert refused.value.code == 2 and "--tls-cert" in refused.value.error["next"], refused.value
    (tmp_path / "pem").write_text("no certificate, and not looked at")
    with pytest.raises(models.NotServed) as refused:
        tls = ("--tls-cert", tmp_path / "pem", "--tls-key", tmp_path / "pem")
        models.Service(onnx_models / "digits.onnx", *tls, listen="0.0.0.0:0")
    assert refused.value.code == 2 and "--key-file" in refused.value.error["next"], refused.value
