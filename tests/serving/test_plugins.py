"""Runtimes in shared libraries of one's own: the example, built with the C compiler, and those that do not fit."""

import subprocess

import pytest
from support import models
from support.server import ROOT

HEADER = ROOT / "src" / "serving" / "runtimes" / "slipway_runtime.h"
EXAMPLE = ROOT / "examples" / "runtime" / "scale.c"


def build(folder, name, code, header=None):
    """A shared library of this C text, built as docs/serving.md says."""
    (folder / "slipway_runtime.h").write_text(header or HEADER.read_text())
    (folder / f"{name}.c").write_text(code)
    library = folder / f"lib{name}.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O2", f"-I{folder}"]
    subprocess.run(["cc", *flags, "-o", library, folder / f"{name}.c"], check=True)
    return library


def refusal(tmp_path, library):
    (tmp_path / "triple.txt").write_text("3")
    with pytest.raises(models.NotServed) as refused:
        models.Service(tmp_path / "triple.txt", "--runtime", library)
    return refused.value.error


def test_the_example_serves_its_models_over_every_protocol(tmp_path):
    library = build(tmp_path, "scale", EXAMPLE.read_text())
    (tmp_path / "triple.txt").write_text("3")
    with models.Service(tmp_path / "triple.txt", "--runtime", library) as service:
        assert service.about["runtime"] == "scale" and service.name == "triple"
        assert service.predict({"instances": [[1, 2], [3, 4]]}).json() == {"predictions": [[3, 6], [9, 12]]}
        tensor = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}
        outputs = service.post("/v2/models/triple/infer", {"inputs": [tensor]}).json()["outputs"]
        assert outputs[0]["data"] == [3, 6]
        assert service.post("/score", {"data": [[5]]}).status == 200
        assert service.predict({"instances": [["a"]]}).status == 400
    (tmp_path / "triple.txt").write_text("three")
    with pytest.raises(models.NotServed) as refused:
        models.Service(tmp_path / "triple.txt", "--runtime", library)
    assert "holds no number" in refused.value.error["message"], refused.value


def test_a_runtime_of_another_version_is_refused_with_both(tmp_path):
    header = HEADER.read_text().replace("SLIPWAY_RUNTIME_ABI 1U", "SLIPWAY_RUNTIME_ABI 99U")
    error = refusal(tmp_path, build(tmp_path, "newer", EXAMPLE.read_text(), header))
    assert "does not speak version 1" in error["message"] and "slipway_runtime.h" in error["next"], error
    careless = EXAMPLE.read_text().replace(
        "host_abi == SLIPWAY_RUNTIME_ABI ? &kRuntime : NULL", "host_abi ? &kRuntime : 0"
    )
    error = refusal(tmp_path, build(tmp_path, "careless", careless, header))
    assert "speaks version 99" in error["message"] and "version 1" in error["message"], error


def test_what_is_no_runtime_is_refused(tmp_path):
    assert "no such file" in refusal(tmp_path, tmp_path / "absent.so")["message"]
    (tmp_path / "text.so").write_text("no library")
    assert "text.so" in refusal(tmp_path, tmp_path / "text.so")["message"]
    assert (
        "no function slipway_runtime()"
        in refusal(tmp_path, build(tmp_path, "bare", "int nothing;\n"))["message"]
    )
    holes = """
#include "slipway_runtime.h"
static const SlipwayRuntime kNone = {SLIPWAY_RUNTIME_ABI, "none", 0, 0, 0, 0, 0, 0};
const SlipwayRuntime* slipway_runtime(uint32_t abi) { return abi ? &kNone : 0; }
"""
    assert "lacks functions" in refusal(tmp_path, build(tmp_path, "holes", holes))["message"]
