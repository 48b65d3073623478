"""Models in processes of their own: scikit-learn and entry scripts, and what such processes do wrong."""

import concurrent.futures
import json
import os
import pickle
import signal
import subprocess
import threading

import pytest
from support import models, processes
from support.server import RELEASE


def test_a_pickled_classifier_predicts_by_every_protocol(sklearn_models):
    rows = [[0, 0, 0, 0], [1, 1, 1, 1]]
    with models.Service(sklearn_models / "classifier.joblib") as service:
        assert service.about["runtime"] == "scikit-learn"
        assert service.predict({"instances": rows}).json() == {"predictions": ["low", "high"]}
        answer = service.post("/score", {"data": rows}).json()
        assert [len(row) for row in answer["predict_proba"]] == [2, 2]
        assert service.post("/score", {"data": rows, "method": "predict"}).json() == {
            "predict": ["low", "high"]
        }
        assert service.post(
            "/invocations", {"dataframe_split": {"columns": list("abcd"), "data": rows}}
        ).json() == {"predictions": ["low", "high"]}
        body = {
            "inputs": [{"name": "input", "shape": [2, 4], "datatype": "FP64", "data": [*rows[0], *rows[1]]}]
        }
        assert service.post("/v2/models/classifier/infer", body).json()["outputs"][0]["data"] == [
            "low",
            "high",
        ]
        for bad in ([[1, 2]], [[1, 2, 3, "x"]], [[1, 2, 3, None]]):
            assert service.predict({"instances": bad}).status == 400
        answer = service.post("/score", {"data": [[1, 2, 3, None]]})
        assert answer.status == 400 and "NaN" in answer.json()["message"], answer
        assert service.post("/score", {"data": rows, "method": "fit"}).status == 400


def test_rows_that_queue_up_are_predicted_together(sklearn_models):
    with models.Service(sklearn_models / "regressor.pkl") as service:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            rows = [[i, 1, 1, 1] for i in range(400)]
            answers = pool.map(
                lambda row: service.predict({"instances": [row]}).json()["predictions"][0], rows
            )
        assert list(answers) == pytest.approx([row[0] + 3 for row in rows])
        assert service.metric("nv_inference_exec_count") < service.metric("nv_inference_count")


class Hostile:
    """A pickle that does something when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"echo $PPID > {self.path}",)


def test_a_pickle_is_loaded_in_another_process_and_never_in_the_server(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Hostile(tmp_path / "loaded-by")))
    with pytest.raises(models.NotServed) as refused:
        models.Service(tmp_path / "model.pkl")
    assert "has no predict()" in refused.value.error["message"], refused.value
    assert (tmp_path / "loaded-by").exists()  # by the worker, which is why it is one


def test_an_interpreter_without_the_models_packages_is_told(sklearn_models):
    with pytest.raises(models.NotServed) as refused:
        models.Service(sklearn_models / "classifier.joblib", python="/usr/bin/python3")
    assert "--python" in refused.value.error["next"], refused.value


def test_damaged_pickles_are_refused(sklearn_models, tmp_path):
    whole = (sklearn_models / "regressor.pkl").read_bytes()
    for name, content in {"cut.pkl": whole[:100], "empty.pkl": b"", "noise.joblib": os.urandom(500)}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(models.NotServed) as refused:
            models.Service(tmp_path / name)
        assert refused.value.error["message"], refused.value


# -- entry scripts -----------------------------------------------------------------------------------------------


def serve(tmp_path, code, *args, **kwargs):
    script = tmp_path / "score.py"
    script.write_text(code)
    return models.Service(tmp_path, "--entry", script, *args, **kwargs)


def test_init_once_and_run_for_each_request(tmp_path):
    (tmp_path / "weights.json").write_text("[2, 3]")
    code = """
import json, os
import numpy
calls = 0
def init():
    global weights
    weights = json.load(open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "weights.json")))
def run(data):
    global calls
    calls += 1
    values = numpy.array(json.loads(data)["data"])
    return {"sum": (values * weights).sum(axis=1), "calls": calls}
"""
    with serve(tmp_path, code) as service:
        assert service.post("/score", {"data": [[1, 1], [2, 0]]}).json() == {"sum": [5, 4], "calls": 1}
        answer = service.post("/score", {"data": [[1, 1]]})
        assert answer.json()["calls"] == 2 and float(answer.headers["x-ms-run-fn-exec-ms"]) > 0
        assert service.post("/v1/models/score:predict", {"instances": [1]}).status == 501
        assert service.request("GET", "/").body == b"Healthy"


def test_raw_requests_and_answers(tmp_path):
    code = """
from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse
@rawhttp
def run(request):
    if request.method == "GET":
        return AMLResponse(request.args.get("q", ""), 200)
    if request.method == "POST":
        body = request.get_data()
        return AMLResponse(bytes(reversed(body)), 201, {"X-Kind": request.headers["content-type"]})
    return AMLResponse("bad request", 400)
"""
    with serve(tmp_path, code) as service:
        answer = service.post("/score", b"\x00\x01\xff", headers={"Content-Type": "image/png"})
        assert (
            answer.status == 201
            and answer.body == b"\xff\x01\x00"
            and answer.headers["x-kind"] == "image/png"
        )
        answer = service.request("GET", "/score?q=a%20b")
        assert answer.status == 200 and answer.body == b"a b"


def test_a_key_does_not_reach_the_script(tmp_path):
    (tmp_path / "keys").write_text("the-key\n")
    code = """
from azureml.contrib.services.aml_request import rawhttp
@rawhttp
def run(request):
    return {"seen": sorted(request.headers)}
"""
    with serve(tmp_path, code, "--key-file", tmp_path / "keys") as service:
        assert "authorization" not in service.post("/score", b"", token="the-key").json()["seen"]


def test_schema_decorators(tmp_path):
    code = """
import numpy
from inference_schema.schema_decorators import input_schema, output_schema
from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType
@input_schema("data", NumpyParameterType(numpy.array([[1.0, 2.0]])))
@output_schema(NumpyParameterType(numpy.array([3.0])))
def run(data):
    return data.sum(axis=1).tolist()
"""
    with serve(tmp_path, code) as service:
        assert service.post("/score", {"data": [[1, 2], [3, 4]]}).json() == [3, 7]
        definitions = service.request("GET", "/swagger.json").json()["definitions"]
        assert "data" in definitions["ServiceInput"]["properties"], definitions
        assert service.post("/score", {"wrong": 1}).status == 500


def test_a_script_that_raises_fails_its_request_alone(tmp_path):
    code = """
import sys
def run(data):
    if data == "raise": raise ValueError("no such number")
    if data == "exit": sys.exit(3)
    if data == "odd": return object()
    if data == "print": print("x" * 5_000_000)
    return data
"""
    with serve(tmp_path, code) as service:
        answer = service.post("/score", b"raise")
        assert answer.status == 500 and answer.json() == {
            "message": "run() raised ValueError: no such number"
        }
        assert service.post("/score", b"exit").status == 500
        assert "not JSON" in service.post("/score", b"odd").json()["message"]
        assert service.post("/score", b"\xff").status == 400
        assert service.post("/score", b"print").status == 200
        assert service.post("/score", b"fine").json() == "fine"
        assert "no such number" in service.log()
        assert len(service.children()) == 1


def test_a_script_that_dies_is_started_again(tmp_path):
    code = "import os\ndef run(data):\n    if data == 'die': os._exit(1)\n    return os.getpid()\n"
    with serve(tmp_path, code) as service:
        first = service.post("/score", b"x").json()
        answer = service.post("/score", b"die")
        assert answer.status == 503 and "gone" in answer.json()["message"], answer
        second = service.post("/score", b"x").json()
        assert second != first
        processes.kill_and_wait(second, signal.SIGKILL)
        third = models.wait_for(lambda: (a := service.post("/score", b"x")).status == 200 and a.json())
        assert third not in {first, second}


def test_a_script_that_hangs_costs_its_own_request(tmp_path):
    code = "import time\ndef run(data):\n    if data == 'hang': time.sleep(3600)\n    return 1\n"
    with serve(tmp_path, code, "--timeout", "1s", "--workers", 2) as service:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            hanging = pool.submit(service.post, "/score", b"hang")
            for _ in range(20):
                assert service.post("/score", b"x").status == 200
            assert hanging.result().status == 504
        models.wait_for(lambda: len(service.children()) == 2)
        assert service.post("/score", b"x").status == 200


def test_a_script_that_takes_too_much_memory_fails_alone(tmp_path):
    code = "def run(data):\n    return len(bytearray(int(data)))\n"
    with serve(tmp_path, code, "--worker-memory", "512M") as service:
        answer = service.post("/score", b"4000000000")
        assert answer.status in {500, 503}, answer
        assert models.wait_for(lambda: service.post("/score", b"10").status == 200)


def test_a_script_that_leaks_is_started_again_when_its_memory_is_used_up(tmp_path):
    code = """
import os
held = []
def run(data):
    held.append(bytearray(100 << 20))
    return os.getpid()
"""
    with serve(tmp_path, code, "--worker-memory", "600M") as service:
        answers = [service.post("/score", b"x") for _ in range(16)]
        served = [answer.json() for answer in answers if answer.status == 200]
        failed = [answer for answer in answers if answer.status != 200]
        assert len(set(served)) > 1, answers
        assert len(served) > len(failed) > 0, answers
        assert all(answer.status == 500 and "MemoryError" in answer.json()["message"] for answer in failed)


def test_workers_killed_under_load_cost_the_requests_they_had(tmp_path):
    code = "import os\ndef run(data):\n    return os.getpid()\n"
    with serve(tmp_path, code, "--workers", 2) as service:
        stop = threading.Event()
        statuses = []

        def load():
            while not stop.is_set():
                statuses.append(service.post("/score", b"x").status)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(load)
            try:
                for _ in range(3):
                    victim = service.children()[0]
                    processes.kill_and_wait(victim, signal.SIGKILL)
                    models.wait_for(lambda gone=victim: len(set(service.children()) - {gone}) == 2)
            finally:
                stop.set()
        assert set(statuses) <= {200, 503}, set(statuses)
        # What each had, and what it was given before its end was seen.
        assert statuses.count(503) <= 6 < statuses.count(200), statuses.count(503)


def test_a_log_that_cannot_be_written_does_not_stop_the_service(tmp_path):
    """A full disk under the log: the server writes nowhere else."""
    script = tmp_path / "loud.py"
    script.write_text("def run(data):\n    print('x' * 100_000, flush=True)\n    return 1\n")
    with open("/dev/full", "wb") as full, models.Service(script, stderr=full) as service:
        for _ in range(5):
            assert service.post("/score", b"x").json() == 1
        assert len(service.children()) == 1


def test_a_script_that_cannot_start_is_refused_with_its_own_words(tmp_path):
    for code, says in {
        "def init(): raise RuntimeError('no weights')\ndef run(d): pass": "no weights",
        "import not_installed_anywhere\ndef run(d): pass": "not_installed_anywhere",
        "def init(): pass": "no function run()",
        "def run(d:": "SyntaxError",
        "import os\nos._exit(3)": "ended while it loaded",
    }.items():
        with pytest.raises(models.NotServed) as refused:
            serve(tmp_path, code)
        assert says in refused.value.error["message"], refused.value


def test_workers_die_with_a_server_that_is_killed(tmp_path):
    service = serve(tmp_path, "import os\ndef run(data):\n    return os.getpid()\n")
    worker = service.post("/score", b"x").json()
    service.stop(signal.SIGKILL)
    models.wait_for(lambda: not processes.is_alive(worker), what="the worker outlives its server")
    service.folder.cleanup()


def test_a_server_that_still_loads_can_be_stopped(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\ndef init():\n    pathlib.Path('loading').touch()\n    time.sleep(3600)\n"
        "def run(data): return 1\n"
    )
    process = subprocess.Popen(
        [RELEASE, "serve", tmp_path / "slow.py", "--listen", "127.0.0.1:0", "--python", models.PYTHON],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    models.wait_for((tmp_path / "loading").exists)
    process.terminate()
    assert process.wait(10) == 128 + signal.SIGTERM
    models.wait_for(lambda: not processes.marked_with(tmp_path), what="a worker is left")


def test_a_script_file_is_a_model(tmp_path):
    (tmp_path / "echo.py").write_text("def run(data):\n    return data\n")
    with models.Service(tmp_path / "echo.py") as service:
        assert service.about["model"] == "echo"
        assert service.post("/score", json.dumps({"a": 1}).encode()).json() == '{"a": 1}'
