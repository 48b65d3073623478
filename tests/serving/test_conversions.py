"""Models that no runtime loads as they are: converted once by a Python step in their own environment, then served."""

import concurrent.futures
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import models
from support.server import RELEASE

HALVES = {"instances": [[0.5] * 4]}


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """One home for the servers of these tests, so that each model is converted once."""
    return tmp_path_factory.mktemp("converted")


def serve(home, *args, **kwargs):
    return models.Service(*args, env={"SLIPWAY_HOME": str(home), **kwargs.pop("env", {})}, **kwargs)


def entries(home):
    return sorted((home / "converted" / "entries").iterdir())


def expected(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def check_iris(service, folder):
    assert service.about["runtime"] == "tensorflow"
    answer = service.predict(HALVES).json()["predictions"]
    assert answer[0] == pytest.approx(expected(folder, "iris")[0], abs=1e-6)
    assert service.predict({"instances": [[0.5] * 5]}).status == 400


@pytest.mark.parametrize("name", ["iris.h5", "unrunnable"])
def test_what_keras_saves_is_served(tensorflow_models, home, name):
    with serve(home, tensorflow_models / name) as service:
        assert service.about["model"] == name.partition(".")[0]
        check_iris(service, tensorflow_models)


def test_servers_that_start_together_convert_a_model_once(tensorflow_models, home):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        starting = [pool.submit(serve, home, tensorflow_models / "iris.keras") for _ in range(2)]
        services = [start.result() for start in starting]
    with services[0] as one, services[1] as other:
        check_iris(one, tensorflow_models)
        check_iris(other, tensorflow_models)
        assert ["serving.converting" in service.log() for service in services].count(True) == 1


def test_a_second_start_finds_the_first_ones_result(tensorflow_models, home, tmp_path):
    shutil.copy(tensorflow_models / "iris.h5", tmp_path / "same.h5")
    with serve(home, tmp_path / "same.h5"):
        before = entries(home)
    with serve(home, tmp_path / "same.h5") as service:
        assert service.predict(HALVES).status == 200
        assert "serving.converting" not in service.log()
    assert entries(home) == before
    assert not list((home / "converted" / "aside").iterdir())


def test_a_checkpoint_of_tensorflow_1_is_served_from_its_newest_step(tensorflow_models, home):
    with serve(home, tensorflow_models / "checkpoint") as service:
        shown = service.request("GET", "/v2/models/checkpoint").json()
        assert [item["name"] for item in shown["inputs"]] == ["x"]  # neither labels nor keep_prob
        answer = service.predict(HALVES).json()["predictions"]
        assert answer[0] == pytest.approx(
            expected(tensorflow_models, "checkpoint")["probabilities"][0], abs=1e-6
        )


def test_a_file_beside_a_checkpoint_names_its_tensors(tensorflow_models, home, tmp_path):
    folder = tmp_path / "named"
    shutil.copytree(tensorflow_models / "checkpoint", folder)
    (folder / "signature.json").write_text('{"inputs": {"row": "x"}, "outputs": {"raw": "logits:0"}}')
    with serve(home, folder) as service:
        answer = service.predict({"inputs": {"row": [[0.5] * 4]}}).json()["outputs"]
        assert answer[0] == pytest.approx(expected(tensorflow_models, "checkpoint")["logits"][0], abs=1e-6)
    (folder / "signature.json").write_text('{"inputs": ["x"]}')
    assert "signature.json" in refusal(home, folder)["message"]


def refusal(home, *args, **kwargs):
    with pytest.raises(models.NotServed) as refused:
        serve(home, *args, **kwargs)
    return refused.value.error


def test_what_cannot_be_converted_says_why(tensorflow_models, home, tmp_path):
    error = refusal(home, tensorflow_models / "iris.weights.h5")
    assert "weights without the network" in error["message"] and "model.save(" in error["next"], error
    error = refusal(home, tensorflow_models / "own.keras")
    assert "Own" in error["message"] and "--python" in error["next"], error
    for name, content in {
        "x.h5": b"x",
        "x.keras": b"",
        "cut.h5": b"\x89HDF\r\n\x1a\n",
        "cut.keras": b"PK\3\4",
    }.items():
        (tmp_path / name).write_bytes(content)
        assert name in refusal(home, tmp_path / name)["message"]
    shutil.copytree(
        tensorflow_models / "checkpoint", tmp_path / "bare", ignore=shutil.ignore_patterns("*.meta")
    )
    error = refusal(home, tmp_path / "bare")
    assert "without the graph" in error["message"] and ".meta" in error["next"], error
    assert not list((home / "converted" / "aside").iterdir())


def test_an_environment_without_the_framework_is_told_what_to_install(tensorflow_models, home):
    error = refusal(home, tensorflow_models / "iris.keras", python="/usr/bin/python3")
    assert "pip install" in error["next"], error


def test_a_conversion_has_bounds(tensorflow_models, tmp_path):
    error = refusal(tmp_path, tensorflow_models / "iris.keras", "--worker-memory", "64M")
    assert "cannot be converted" in error["message"], error
    assert not list((tmp_path / "converted" / "aside").iterdir())


def test_a_server_that_is_stopped_while_it_converts_leaves_nothing_that_stays(tensorflow_models, tmp_path):
    process = subprocess.Popen(
        [
            RELEASE,
            "serve",
            "--python",
            models.PYTHON,
            "--listen",
            "127.0.0.1:0",
            tensorflow_models / "iris.keras",
        ],
        env={**os.environ, "SLIPWAY_HOME": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    line = process.stderr.readline()
    assert b"serving.converting" in line, line
    process.kill()
    process.wait(10)
    process.stderr.close()
    models.wait_for(lambda: not children_below(tmp_path), what="the converter outlives its server")
    refusal(tmp_path, tensorflow_models / "iris.weights.h5")  # the next conversion clears up
    assert not list((tmp_path / "converted" / "aside").iterdir())


def children_below(folder):
    """The processes whose working folder is below this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if str(path.readlink()).startswith(str(folder)):
                found.append(path)
        except OSError:
            continue
    return found
