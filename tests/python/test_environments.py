"""Environments from Python."""

import pytest
from slipway import errors


def test_environment_is_described_versioned_compared_and_deleted(ws, tmp_path):
    first = ws.environments.create("tools", pip=["six==1.16.0"], python="3.11", tags={"for": "tests"})
    assert (first.reference, first.definition["pip"]) == ("tools:1", ["six==1.16.0"])
    assert ws.environments.create("tools", pip=["six==1.16.0"], python="3.11").version == 1
    second = ws.environments.create("tools", pip=["six==1.17.0"], python="3.11")
    assert [e.version for e in ws.environments.versions("tools")] == [2, 1]
    assert ws.environments["tools"].version == 2 and ws.environments["tools:1"].definition == first.definition
    assert ws.environments.diff("tools:1", "tools:2")["packages"]
    (tmp_path / "requirements.txt").write_text("six==1.15.0\n")
    filed = ws.environments.create("filed", requirements_file=str(tmp_path / "requirements.txt"))
    assert filed.definition["pip"] == ["six==1.15.0"]
    clone = second.clone("mine", variables={"A": 1})
    assert clone.definition["pip"] == ["six==1.17.0"] and clone.definition["variables"] == {"A": "1"}
    curated = {e.name for e in ws.environments.list(curated=True)}
    assert any(name.startswith("curated/") for name in curated)
    assert ws.environments[sorted(curated)[0]].document["curated"]
    assert {e.name for e in ws.environments} == {"tools", "filed", "mine"} and "tools" in ws.environments
    for shown in (ws.environments, first):
        assert shown._repr_html_().startswith("<table>")
    filed.delete()
    assert "filed" not in ws.environments


def test_bad_environment_is_refused(ws, tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="not both"):
        ws.environments.create("x", image="a", dockerfile="FROM b")
    with pytest.raises(errors.InvalidArgumentError, match="cannot read"):
        ws.environments.create("x", conda_file=str(tmp_path / "nope.yml"))
    with pytest.raises(errors.SlipwayError):
        ws.environments.create("curated/mine", pip=["six"])
    with pytest.raises(errors.NotFoundError, match="nope"):
        ws.environments["nope"]
    with pytest.raises(errors.NotFoundError, match="nope"):
        ws.submit(command=["true"], source=None, environment="nope")


@pytest.mark.timeout(300)
def test_script_runs_in_its_environment_and_can_log(ws, tmp_path):
    environment = ws.environments.create("tools", pip=["six==1.16.0"])
    (tmp_path / "train.py").write_text(
        "import six, slipway\nslipway.log(loss=0.5, step=1)\nprint(six.__version__, slipway.__file__)\n"
    )
    run = ws.submit("train.py", source=str(tmp_path), environment=environment).wait(timeout=200)
    assert run.logs().startswith("1.16.0 ") and run.metrics() == {"loss": 0.5}
    assert environment.locks()[0]["packages"]["six"] == "1.16.0"
