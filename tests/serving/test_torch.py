"""PyTorch models: TorchScript through libtorch in the server's process, or in processes of Python where that cannot be.
What is no program is told apart without unpickling it."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import models, processes

pytestmark = pytest.mark.timeout(600)  # frameworks are fetched, and a runtime is compiled

HALVES = {"instances": [[0.5] * 4]}


@pytest.fixture(scope="module")
def torch_models(tmp_path_factory, torch_python):
    return models.make_once(tmp_path_factory, "torch", python=torch_python)


@pytest.fixture
def serve(torch_models, torch_python, torch_home):
    """serve("traced.pt"): the runtime is there once one of them has built it. `home` and `path` are others."""

    def start(name, home=torch_home, path=os.environ["PATH"]):
        env = {"SLIPWAY_HOME": str(home), "PATH": str(path)}
        return models.Service(torch_models / name, python=torch_python, env=env)

    return start


def ask_the_network(service, torch_models):
    """Checks what every server of the network is to say, and gives its answer and metadata."""
    answer = service.predict(HALVES).json()["predictions"]
    expected = json.loads((torch_models / "network.json").read_text())
    assert answer[0] == pytest.approx(expected[0], abs=1e-6)
    assert len(service.predict({"instances": [[0.5] * 4] * 3}).json()["predictions"]) == 3
    refused = service.predict({"instances": [[0.5] * 5]})
    assert refused.status == 400 and refused.json()["error"], refused
    assert service.predict(HALVES).status == 200
    described = service.request("GET", f"/v2/models/{service.name}").json()
    assert described["platform"] == "pytorch"
    assert described["inputs"][0]["name"] in {"x", "input"}  # traces forget
    return answer, described


@pytest.mark.parametrize("name", ["traced.pt", "scripted.pt"])
def test_torchscript_is_served_in_the_servers_process(serve, torch_models, name):
    with serve(name) as service:
        assert service.about["runtime"] == "libtorch"
        ask_the_network(service, torch_models)
        assert service.children() == []
        assert "libtorch_cpu.so" in Path(f"/proc/{service.pid}/maps").read_text()
        assert "serving.not_in_process" not in service.log()


def test_without_a_compiler_python_serves_it_with_the_same_answers(serve, torch_models, tmp_path):
    with serve("scripted.pt", home=tmp_path / "home", path=tmp_path / "nothing") as service:
        assert service.about["runtime"] == "torchscript" and len(service.children()) == 1
        assert "there is no C++ compiler on the PATH" in service.log()
        answer, described = ask_the_network(service, torch_models)
    with serve("scripted.pt") as service:
        same_answer, same_description = ask_the_network(service, torch_models)
    assert same_answer[0] == pytest.approx(answer[0], abs=1e-6)
    assert same_description == described


def stand_in_compiler(folder, script):
    """A PATH whose C++ compiler does this instead."""
    folder.mkdir()
    (folder / "c++").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "c++").chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_a_build_that_fails_or_is_killed_leaves_nothing_and_python_serves(
    serve, torch_models, torch_python, tmp_path
):
    home, began = tmp_path / "home", tmp_path / "began"
    slow = stand_in_compiler(tmp_path / "slow", f"echo $$ > {began}.new; mv {began}.new {began}; sleep 3600")
    env = {"HOME": str(tmp_path), "SLIPWAY_HOME": str(home), "PATH": slow}
    command = [models.RELEASE, "serve", torch_models / "scripted.pt", "--python", torch_python, "--listen"]
    server = subprocess.Popen([*command, "127.0.0.1:0"], env=env, stdin=subprocess.DEVNULL)
    try:
        processes.wait_until(began.exists, 60, "the compiler was not started")
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    compiler = int(began.read_text())
    processes.wait_until(lambda: not processes.is_alive(compiler), 30, "the compiler outlives its server")
    assert not (home / "converted" / "entries").exists()

    broken = stand_in_compiler(tmp_path / "broken", "echo 'fatal: no such header' >&2; exit 1")
    with serve("scripted.pt", home=home, path=broken) as service:
        assert service.about["runtime"] == "torchscript"
        lines = [line for line in service.log().splitlines() if "serving.not_in_process" in line]
        assert len(lines) == 1 and "exit code 1" in lines[0], service.log()
        assert "fatal: no such header" in service.log()
        ask_the_network(service, torch_models)
    assert not (home / "converted" / "entries").exists()
    assert not list((home / "converted" / "aside").iterdir())


def test_a_network_that_changes_itself_or_its_input_runs_once_at_a_time(serve):
    with serve("count.pt") as service:
        assert service.about["runtime"] == "libtorch"

        def count(_):
            outputs = service.predict({"inputs": [[7.0]]}).json()["outputs"]
            assert outputs["output_0"] == outputs["output_1"], outputs
            return outputs["output_0"][0][0]

        with ThreadPoolExecutor(8) as clients:
            assert sorted(clients.map(count, range(64))) == list(range(1, 65))


def test_several_inputs_and_outputs_with_whole_numbers_where_the_code_asks_for_them(serve):
    with serve("pair.pt") as service:
        assert service.about["runtime"] == "libtorch"
        body = {"inputs": {"words": [0, 1, 2], "scale": [[2.0], [0.0], [1.0]]}}
        outputs = service.predict(body).json()["outputs"]
        assert outputs["output_1"] == [1, 2, 3] and outputs["output_0"][1] == [0, 0]
        assert service.predict({"inputs": {"words": [9], "scale": [[1.0]]}}).status == 400


@pytest.mark.parametrize(
    ("name", "says"),
    {
        "weights.pt": "weights (a state dict) without their network",
        "pickled.pth": "pickled torch.nn.modules.linear.Linear",
        "training.pt": "a dictionary",
        "old.pt": "a pickled object",
    }.items(),
)
def test_what_is_no_program_says_what_is_needed(torch_models, name, says):
    with pytest.raises(models.NotServed) as refused:
        models.Service(torch_models / name, python="/nowhere/python")  # none is started
    error = refused.value.error
    assert says in error["message"] and "torch.onnx.export" in error["next"], error


@pytest.mark.parametrize(("name", "says"), {"text.pt": "'text'", "named.pt": "returns a Dict"}.items())
def test_a_program_of_other_things_than_tensors_says_so(serve, name, says):
    with pytest.raises(models.NotServed) as refused:
        serve(name)
    assert says in refused.value.error["message"], refused.value


def test_damaged_files_are_refused_before_anything_is_started(torch_models, tmp_path):
    whole = (torch_models / "traced.pt").read_bytes()
    cases = {
        "cut.pt": whole[: len(whole) // 2],
        "empty.pt": b"",
        "noise.pt2": bytes(range(256)),
        "zip.pt": whole[-22:],
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(models.NotServed) as refused:
            models.Service(tmp_path / name, python="/nowhere/python")
        assert name in refused.value.error["message"] and refused.value.code == 9, refused.value


def test_an_environment_without_torch_is_told_what_to_install(torch_models):
    with pytest.raises(models.NotServed) as refused:
        models.Service(torch_models / "traced.pt")
    assert "pip install torch" in refused.value.error["message"], refused.value
