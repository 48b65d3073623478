"""Runs of several processes, as the SDK's classes ask for them."""

import json

import pytest
from azureml.core import Experiment, ScriptRunConfig
from azureml.core._launchers import fields
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.runconfig import (
    MpiConfiguration,
    ParallelTaskConfiguration,
    PyTorchConfiguration,
    RunConfiguration,
    TensorflowConfiguration,
)
from azureml.exceptions import UserErrorException
from azureml.train.dnn import Gloo, Mpi, Nccl, ParameterServer, PyTorch, TensorFlow
from azureml.train.estimator import Estimator


def asked(launcher, nodes, processes):
    return {"launcher": launcher, "nodes": nodes, "processes": processes}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (MpiConfiguration(), {"nodes": 1}),
        (MpiConfiguration(4, 2), asked("mpi", 2, 4)),
        (PyTorchConfiguration(node_count=2), asked("pytorch", 2, 1)),
        (PyTorchConfiguration(6, "Gloo", 2), asked("pytorch", 2, 3)),
        (TensorflowConfiguration(), asked("tensorflow:workers=1,ps=1", 2, 1)),
        (TensorflowConfiguration(3, 0), asked("tensorflow:workers=3,ps=0", 3, 1)),
    ],
)
def test_a_configuration_names_the_launcher_and_its_processes(config, expected):
    made = ScriptRunConfig(".", script="a.py", distributed_job_config=config).run_config
    assert fields(made) == expected


def test_fewer_nodes_take_several_tasks_each():
    made = ScriptRunConfig(
        ".", script="a.py", distributed_job_config=TensorflowConfiguration(4, 1)
    ).run_config
    made.node_count = 2
    assert fields(made) == asked("tensorflow:workers=4,ps=1", 2, 3)


@pytest.mark.parametrize(
    ("config", "word"),
    [
        (MpiConfiguration(0), "process_count_per_node is a whole number"),
        (MpiConfiguration("two"), "process_count_per_node is a whole number"),
        (PyTorchConfiguration(3, node_count=2), "multiple of node_count"),
        (TensorflowConfiguration(0), "worker_count is a whole number"),
        (TensorflowConfiguration(1, -1), "parameter_server_count is a whole number"),
        (ParallelTaskConfiguration(), "no launcher ParallelTask"),
    ],
)
def test_counts_that_make_no_sense_are_refused(config, word):
    with pytest.raises(UserErrorException, match=word):
        fields(ScriptRunConfig(".", script="a.py", distributed_job_config=config).run_config)


@pytest.mark.parametrize(
    ("communicator", "expected"),
    [
        ("None", {"nodes": 2}),
        ("IntelMpi", asked("mpi", 2, 3)),
        ("OpenMpi", asked("mpi", 2, 3)),
        ("Gloo", asked("pytorch", 2, 1)),
        ("ParameterServer", asked("tensorflow:workers=1,ps=1", 2, 1)),
    ],
)
def test_a_run_configuration_by_hand(communicator, expected):
    made = RunConfiguration(script="a.py", communicator=communicator)
    made.node_count = 2
    made.mpi.process_count_per_node = 3
    assert fields(made) == expected


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (Estimator, {}, {"nodes": 1}),
        (Estimator, {"node_count": 2}, asked("mpi", 2, 1)),
        (Estimator, {"process_count_per_node": 2}, asked("mpi", 1, 2)),
        (Estimator, {"node_count": 2, "distributed_training": Mpi(3)}, asked("mpi", 2, 3)),
        (Estimator, {"node_count": 2, "process_count_per_node": 3, "distributed_backend": "mpi"},
         asked("mpi", 2, 3)),
        (TensorFlow, {"node_count": 2, "distributed_training": ParameterServer(2, 1)},
         asked("tensorflow:workers=2,ps=1", 2, 2)),
        (TensorFlow, {"node_count": 2, "worker_count": 2, "distributed_backend": "ps"},
         asked("tensorflow:workers=2,ps=1", 2, 2)),
        (TensorFlow, {"node_count": 2, "distributed_training": Mpi()}, asked("mpi", 2, 1)),
        (PyTorch, {"node_count": 2, "distributed_training": Nccl()}, asked("pytorch", 2, 1)),
        (PyTorch, {"node_count": 2, "process_count_per_node": 2, "distributed_training": Gloo()},
         asked("pytorch", 2, 2)),
    ],
)  # fmt: skip
def test_estimators_say_the_same(kind, given, expected):
    assert fields(kind("src", entry_script="train.py", **given).run_config) == expected


SCRIPT = """
import json, os
keep = ("OMPI_COMM_WORLD_", "TF_CONFIG", "MASTER_", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK", "AZ")
print(json.dumps({name: value for name, value in os.environ.items() if name.startswith(keep)}), flush=True)
"""


@pytest.fixture
def pair(ws):
    config = AmlCompute.provisioning_configuration("STANDARD_D1", max_nodes=2)
    return ComputeTarget.create(ws, "pair", config)


def said(run, rank, folder):
    run.download_file(f"azureml-logs/70_driver_log_{rank}.txt", str(folder / "log.txt"))
    return json.loads((folder / "log.txt").read_text())


def test_mpi_starts_the_ranks_of_two_nodes(submit, pair, here, capsys):
    run = submit(SCRIPT, compute_target=pair, distributed_job_config=MpiConfiguration(2, 2))
    details = run.wait_for_completion(show_output=True)
    assert details["runDefinition"]["mpi"] == {"processCountPerNode": 2, "nodeCount": 2}
    assert details["runDefinition"]["communicator"] == "Mpi" and details["runDefinition"]["nodeCount"] == 2
    logs = [name for name in run.get_file_names() if "70_driver_log" in name]
    assert logs == [f"azureml-logs/70_driver_log_{rank}.txt" for rank in range(4)]
    found = [said(run, rank, here) for rank in range(4)]
    assert [one["OMPI_COMM_WORLD_RANK"] for one in found] == ["0", "1", "2", "3"]
    assert [one["OMPI_COMM_WORLD_LOCAL_RANK"] for one in found] == ["0", "1", "0", "1"]
    assert {one["OMPI_COMM_WORLD_SIZE"] for one in found} == {"4"}
    assert len({one["AZ_BATCH_MASTER_NODE"] for one in found}) == 1
    streamed = capsys.readouterr().out
    assert "Streaming azureml-logs/70_driver_log_0.txt" in streamed and "OMPI_COMM_WORLD_RANK" in streamed


def test_pytorch_and_tensorflow_tell_every_process_its_place(submit, pair, here):
    torch = submit(SCRIPT, compute_target=pair, distributed_job_config=PyTorchConfiguration(4, "Gloo", 2))
    flow = submit(SCRIPT, compute_target=pair, distributed_job_config=TensorflowConfiguration(1, 1))
    assert torch.wait_for_completion()["runDefinition"]["pytorch"] == {"processCount": 4, "nodeCount": 2}
    places = [said(torch, rank, here) for rank in range(4)]
    names = ("RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE")
    assert [[int(place[name]) for name in names] for place in places] == [
        [0, 0, 0, 4],
        [1, 1, 0, 4],
        [2, 0, 1, 4],
        [3, 1, 1, 4],
    ]
    assert len({(place["MASTER_ADDR"], place["MASTER_PORT"]) for place in places}) == 1
    counts = flow.wait_for_completion()["runDefinition"]["tensorflow"]
    assert counts == {"workerCount": 1, "parameterServerCount": 1}
    configs = [json.loads(said(flow, rank, here)["TF_CONFIG"]) for rank in range(2)]
    assert [config["task"] for config in configs] == [
        {"type": "worker", "index": 0},
        {"type": "ps", "index": 0},
    ]
    assert {len(places) for config in configs for places in config["cluster"].values()} == {1}


def test_more_nodes_than_the_cluster_has_are_refused_at_submission(submit, pair):
    with pytest.raises(Exception, match="2 nodes"):
        submit(SCRIPT, compute_target=pair, distributed_job_config=MpiConfiguration(1, 3))


def test_the_estimator_of_the_tutorials_runs_over_mpi(ws, pair, machine, here):
    (here / "source").mkdir()
    (here / "source" / "train.py").write_text(SCRIPT)
    estimator = Estimator(
        "source",
        entry_script="train.py",
        compute_target=pair,
        node_count=2,
        distributed_training=Mpi(),
        environment_definition=machine,
    )
    run = Experiment(ws, "tests").submit(estimator)
    run.wait_for_completion()
    assert [said(run, rank, here)["OMPI_COMM_WORLD_SIZE"] for rank in range(2)] == ["2", "2"]
