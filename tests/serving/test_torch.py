"""PyTorch models: programs run in a process of their own; what is no program is told apart without unpickling it."""

import json

import pytest
from support import models

HALVES = {"instances": [[0.5] * 4]}


@pytest.fixture(scope="module")
def torch_models(tmp_path_factory, torch_python):
    return models.make_once(tmp_path_factory, "torch", python=torch_python)


@pytest.mark.parametrize("name", ["traced.pt", "scripted.pt"])
def test_torchscript_is_served(torch_models, torch_python, name):
    with models.Service(torch_models / name, python=torch_python) as service:
        assert service.about["runtime"] == "torchscript"
        answer = service.predict(HALVES).json()["predictions"]
        expected = json.loads((torch_models / "network.json").read_text())
        assert answer[0] == pytest.approx(expected[0], abs=1e-6)
        assert len(service.predict({"instances": [[0.5] * 4] * 3}).json()["predictions"]) == 3
        refused = service.predict({"instances": [[0.5] * 5]})
        assert refused.status == 400 and refused.json()["error"], refused
        assert service.predict(HALVES).status == 200
        described = service.request("GET", f"/v2/models/{service.name}").json()
        assert described["platform"] == "pytorch" and described["inputs"][0]["name"] in {
            "x",
            "input",
        }  # traces forget


def test_several_inputs_and_outputs_with_whole_numbers_where_the_code_asks_for_them(
    torch_models, torch_python
):
    with models.Service(torch_models / "pair.pt", python=torch_python) as service:
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


def test_a_program_that_takes_no_tensors_says_so(torch_models, torch_python):
    with pytest.raises(models.NotServed) as refused:
        models.Service(torch_models / "text.pt", python=torch_python)
    assert "'text'" in refused.value.error["message"], refused.value


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
