"""`slipway serve --trial`: whether a model serves, in one line; and what a replica of a service does in its run."""

import json
import os
import socket
import subprocess

import pytest
from support import models
from support.server import RELEASE


def trial(*args, env=None):
    """The line and the exit code."""
    done = subprocess.run(
        [RELEASE, "serve", "--trial", "--python", models.PYTHON, *map(str, args)],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 1, (done.stdout, done.stderr)
    return json.loads(lines[0]), done.returncode


def test_a_model_that_serves_shows_its_signature_and_a_sample(onnx_models):
    said, code = trial(onnx_models / "double.onnx")
    assert code == 0 and said["serves"] is True and said["runtime"] == "onnxruntime"
    (signature,) = said["signature"].values()
    assert signature["inputs"] == [
        {"name": "a", "datatype": "FP32", "shape": [-1, 2]},
        {"name": "b", "datatype": "INT64", "shape": [-1, 1]},
    ]
    assert said["sample_input"] == {"instances": [{"a": [0, 0], "b": [0]}]}
    assert said["sample_output"] == {"predictions": [{"a2": [0, 0], "b2": [0]}]}


def test_every_signature_of_a_saved_model_is_shown(tensorflow_models):
    said, code = trial(tensorflow_models / "several")
    assert code == 0 and {"serving_default", "join", "classify", "regress"} <= set(said["signature"])


def test_a_pickle_is_asked_as_its_services_are(sklearn_models):
    said, code = trial(sklearn_models / "classifier.joblib")
    assert code == 0 and said["sample_input"] == {"data": [[0, 0, 0, 0]]}
    assert list(said["sample_output"]) == ["predict_proba"]


def test_a_damaged_model_is_said_not_to_serve(tmp_path):
    (tmp_path / "cut.onnx").write_bytes(b"\x08\x08cut")
    said, code = trial(tmp_path / "cut.onnx")
    assert code != 0 and said["serves"] is False and said["reason"], said


def test_a_sample_of_the_users_own_decides(onnx_models, tmp_path):
    sample = tmp_path / "sample.json"
    sample.write_text(json.dumps({"instances": [{"a": [1, 2], "b": [3]}]}))
    said, _ = trial(onnx_models / "double.onnx", "--sample", sample)
    assert said["sample_output"] == {"predictions": [{"a2": [2, 4], "b2": [6]}]}
    sample.write_text(json.dumps({"instances": [{"a": [1, 2]}]}))
    said, code = trial(onnx_models / "double.onnx", "--sample", sample)
    assert code != 0 and said["serves"] is False and "does not give the input 'b'" in said["reason"], said


def test_an_entry_script_is_started_and_asked_with_the_sample(tmp_path):
    (tmp_path / "score.py").write_text("import json\ndef run(data): return len(json.loads(data)['data'])\n")
    said, code = trial("--entry", tmp_path / "score.py")
    assert code == 0 and said == {
        "serves": True,
        "runtime": "entry-script",
        "signature": {},
        "sample_input": None,
        "sample_output": None,
    }
    (tmp_path / "sample.json").write_text('{"data": [1, 2]}')
    said, _ = trial("--entry", tmp_path / "score.py", "--sample", tmp_path / "sample.json")
    assert said["sample_output"] == 2


@pytest.fixture
def run_socket(tmp_path):
    """The supervisor's end of the in-job socket."""
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(str(tmp_path / "s"))
    receiver.settimeout(20)
    yield receiver
    receiver.close()


def test_a_replica_reports_where_it_listens_and_asks_for_its_key(onnx_models, run_socket):
    env = {
        "SLIPWAY_SOCKET": run_socket.getsockname(),
        "SLIPWAY_NODES": "127.0.0.2,127.0.0.3",
        "SLIPWAY_NODE_RANK": "1",
        "SLIPWAY_MODEL_DIR": str(onnx_models / "external"),
        "REPLICA_KEY": "the-key",
    }
    with models.Service("--report-endpoint", "--key-env", "REPLICA_KEY", listen=None, env=env) as service:
        said = json.loads(run_socket.recv(1 << 16))
        assert said == {"properties": {"endpoint": service.url.removeprefix("http://")}}
        assert service.url.startswith("http://127.0.0.3:")
        assert service.request("GET", "/v2/health/ready").status == 200
        assert service.predict({"instances": [[1] * 2000]}).status == 401
        assert service.predict({"instances": [[1] * 2000]}, token="the-key").status == 200
        with open(f"/proc/{service.pid}/environ", "rb") as environ:
            assert b"the-key" not in environ.read()


def test_a_script_does_not_see_the_key_of_its_replica(tmp_path):
    (tmp_path / "score.py").write_text("import os\ndef run(data): return dict(os.environ)\n")
    env = {"REPLICA_KEY": "the-key"}
    with models.Service("--entry", tmp_path / "score.py", "--key-env", "REPLICA_KEY", env=env) as service:
        seen = service.post("/score", b"x", token="the-key").json()
        assert "the-key" not in json.dumps(seen) and "REPLICA_KEY" not in seen


def test_a_replica_that_cannot_report_ends_and_says_why(onnx_models):
    service = models.Service("--report-endpoint", onnx_models / "double.onnx", listen=None)
    assert service.process.wait(20) != 0
    assert "SLIPWAY_SOCKET" in service.log()
    service.folder.cleanup()


def test_without_a_model_it_says_what_to_name():
    with pytest.raises(models.NotServed) as refused:
        models.Service()
    assert "no model to serve" in refused.value.error["message"]
