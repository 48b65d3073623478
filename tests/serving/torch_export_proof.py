"""What torch.export and AOTInductor save, served with the newest PyTorch. It is 5 GB: `make soak` runs this."""

import json

import pytest
from support import frameworks, models

HALVES = [[0.5] * 4]


@pytest.fixture(scope="module")
def newest_torch(tmp_path_factory):
    shared = tmp_path_factory.getbasetemp().parent / "frameworks" / "torch-newest"
    return frameworks.environment(shared, "3.11", "torch==2.15.0", "numpy")


@pytest.mark.parametrize("name", ["exported.pt2", "compiled.pt2", "traced.pt", "scripted.pt"])
def test_programs_of_the_newest_pytorch_are_served(tmp_path_factory, newest_torch, torch_home, name):
    folder = models.make_once(tmp_path_factory, "torch", "torch_exported", python=newest_torch)
    env = {"SLIPWAY_HOME": str(torch_home)}
    with models.Service(folder / name, python=newest_torch, env=env, timeout=300) as service:
        assert (service.about["runtime"] == "libtorch") == name.endswith(".pt"), service.log()
        shown = service.request("GET", f"/v2/models/{service.name}").json()["inputs"][0]
        answer = service.predict({"instances": HALVES}).json()["predictions"]
        assert answer[0] == pytest.approx(json.loads((folder / "network.json").read_text())[0], abs=1e-6)
        assert len(service.predict({"instances": HALVES * 3}).json()["predictions"]) == 3
        if name in ("exported.pt2", "traced.pt"):  # they know their shapes
            assert shown == {"name": "x", "datatype": "FP32", "shape": [-1, 4]}
            assert service.predict({"instances": [[0.5] * 5]}).status == 400
