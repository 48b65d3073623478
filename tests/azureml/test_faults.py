"""What a program meets when the world is not as it should be."""

import io
import threading
import time

import pytest
from azureml._service import translated
from azureml.core import Experiment, Workspace
from azureml.core._run_watch import stream
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.exceptions import (
    AuthenticationException,
    DiscoveryUrlNotFoundException,
    UserErrorException,
    WorkspaceException,
)
from slipway import errors

STEADY = """
import os, time
print("begun", flush=True)
while not os.path.exists({go!r}):
    time.sleep(0.02)
print("gone on", flush=True)
"""


class Shown(io.StringIO):
    """What was printed, and a way to wait for a part of it."""

    def wait_for(self, text, timeout=60):
        end = time.monotonic() + timeout
        while text not in self.getvalue():
            assert time.monotonic() < end, f"{text!r} was not printed: {self.getvalue()}"
            time.sleep(0.02)


def test_waiting_goes_on_when_the_server_is_restarted(slipway, submit, here):
    go = here / "go"
    run = submit(STEADY.format(go=str(go)))
    shown = Shown()
    waiting = threading.Thread(target=stream, args=(run, shown), daemon=True)
    waiting.start()
    shown.wait_for("begun\n")
    slipway.kill_server()
    shown.wait_for("does not answer")
    go.write_text("")
    slipway.again()
    shown.wait_for("gone on\n")
    waiting.join(60)
    assert not waiting.is_alive()
    assert shown.getvalue().count("begun\n") == 1 and "Execution Summary" in shown.getvalue()
    assert run.wait_for_completion()["status"] == "Completed"


def test_a_wrong_token_is_said_at_once(here, slipway, monkeypatch):
    monkeypatch.setenv("SLIPWAY_URL", slipway.url)
    monkeypatch.setenv("SLIPWAY_TOKEN", "swt_wrong")
    with pytest.raises(AuthenticationException):
        Workspace.get("default")


def test_no_server_is_said_at_once(here, monkeypatch):
    monkeypatch.setenv("SLIPWAY_URL", "http://127.0.0.1:9")
    with pytest.raises(DiscoveryUrlNotFoundException, match="slipway up"):
        Workspace.get("default")


def test_an_address_of_data_that_does_not_answer_is_not_taken_for_a_missing_server():
    said = errors.from_answer(
        502, {"error": {"code": "unreachable", "message": "http://h/a.gz cannot be reached"}}
    )
    with pytest.raises(UserErrorException, match="cannot be reached"):
        with translated(UserErrorException):
            raise said


def test_a_configuration_of_azure_makes_its_workspace_once(here):
    (here / "config.json").write_text(
        '{"subscription_id": "11111111-aaaa", "resource_group": "rg", "workspace_name": "from-azure"}'
    )
    for _ in range(2):
        ws = Workspace.from_config()
        assert (ws.name, ws.resource_group, ws.subscription_id) == ("from-azure", "rg", "11111111-aaaa")
    assert ws.get_details()["name"] == "from-azure"
    ws.write_config()
    assert Workspace.from_config(path=str(here)).name == "from-azure"


def test_a_missing_workspace_is_named(here):
    with pytest.raises(WorkspaceException, match="nowhere"):
        Workspace.get("nowhere")
    Workspace.create("here").write_config()
    with pytest.raises(WorkspaceException, match="already"):
        Workspace.create("here", show_output=False)
    assert Workspace.create("here", exist_ok=True, show_output=False).name == "here"
    Workspace.from_config().delete()
    with pytest.raises(WorkspaceException, match="here"):
        Workspace.from_config()


def test_who_may_not_create_is_told_so(here, slipway, monkeypatch):
    made = slipway.cli_json("token", "create", "alice", "--role", "contributor", "--workspace", "default")
    monkeypatch.setenv("SLIPWAY_URL", slipway.url)
    monkeypatch.setenv("SLIPWAY_TOKEN", made["token"])
    ws = Workspace.get("default")
    with pytest.raises(AuthenticationException):
        ComputeTarget.create(ws, "cpu", AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=1))


def test_runs_and_experiments_that_are_not_there(ws):
    with pytest.raises(UserErrorException, match="nope"):
        ws.get_run("nope")
    assert Experiment.list(ws, "nope") == [] and list(Experiment(ws, "nope").get_runs()) == []


def test_a_cluster_from_its_making_to_its_end(ws, capsys, recwarn):
    with pytest.raises(ComputeTargetException, match="cpu"):
        ComputeTarget(ws, "cpu")
    config = AmlCompute.provisioning_configuration(
        vm_size="STANDARD_NC6", max_nodes=2, vm_priority="lowpriority", idle_seconds_before_scaledown=1800
    )
    for name in ("local", "amlcompute", "containerinstance"):
        with pytest.raises(ComputeTargetException, match="reserved"):
            ComputeTarget.create(ws, name, config)
    target = ComputeTarget.create(ws, "cpu", config)
    assert len([w for w in recwarn if "STANDARD_NC6" in str(w.message)]) == 1
    target.wait_for_completion(show_output=True)
    assert capsys.readouterr().out.startswith("Succeeded\n")
    status = target.get_status().serialize()
    assert status["scaleSettings"] == {
        "minNodeCount": 0,
        "maxNodeCount": 2,
        "nodeIdleTimeBeforeScaleDown": "PT1800S",
    }
    assert (status["vmPriority"], status["vmSize"], status["allocationState"]) == (
        "LowPriority",
        "STANDARD_NC6",
        "Steady",
    )
    assert set(status["nodeStateCounts"]) == {
        "preparingNodeCount", "runningNodeCount", "idleNodeCount", "unusableNodeCount", "leavingNodeCount",
        "preemptedNodeCount",
    }  # fmt: skip
    assert target.get_status().currentNodeCount == 0 and target.list_nodes() == []
    # Time that is over is said, and nothing is raised.
    target.wait_for_completion(show_output=True, min_node_count=1, timeout_in_minutes=0.005)
    assert "time to wait is over" in capsys.readouterr().out
    target.update(min_nodes=1)
    target.wait_for_completion(min_node_count=1, timeout_in_minutes=1)
    assert target.get_status().currentNodeCount == 1 and len(target.list_nodes()) == 1
    assert list(ws.compute_targets) == ["cpu"] and isinstance(ComputeTarget(ws, "cpu"), AmlCompute)
    target.update(min_nodes=0, idle_seconds_before_scaledown=0)
    target.delete()
    with pytest.raises(ComputeTargetException):
        ComputeTarget(ws, "cpu")
