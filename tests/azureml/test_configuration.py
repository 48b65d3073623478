"""What needs no server: configurations, names, files, and runs outside of any job."""

import json
import warnings
from pathlib import Path

import pytest
from azureml import _support
from azureml.core import Environment, Experiment, Run, RunConfiguration, ScriptRunConfig, _command, _config
from azureml.core.compute import AmlCompute, RemoteCompute, _sizes
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from azureml.core.workspace import check_workspace_name
from azureml.data.data_reference import DataReference
from azureml.exceptions import ComputeTargetException, RunEnvironmentException, UserErrorException

ROOT = Path(__file__).resolve().parent.parent.parent
PYENV = Path.home() / ".pyenv" / "versions"


def config(folder, name="ws", **more):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"subscription_id": "s", "resource_group": "g", "workspace_name": name, **more})
    (folder / "config.json").write_text(text)
    return folder / "config.json"


def test_the_kind_of_folder_outranks_how_near_it_is(tmp_path):
    below = tmp_path / "a" / "b"
    plain = config(below)
    older = config(tmp_path / "a" / "aml_config")
    assert _config.find(below) == str(older)
    newest = config(tmp_path / ".azureml")
    assert _config.find(below) == str(newest)
    assert _config.find(plain) == str(plain)


def test_project_json_is_found_after_config_json(tmp_path):
    (tmp_path / "aml_config").mkdir()
    scope = "/subscriptions/S/resourceGroups/G/providers/Microsoft.MachineLearningServices/workspaces/W"
    (tmp_path / "aml_config" / "project.json").write_text(json.dumps({"Scope": scope}))
    assert _config.read(_config.find(tmp_path)) == ("S", "G", "W")


def test_a_config_json_of_another_program_does_not_hide_the_right_one(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json").write_text('{"compilerOptions": {}}')
    assert _config.find(tmp_path / "a").startswith(str(tmp_path)) if config(tmp_path) else None


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"Scope": "/nowhere"}'])
def test_a_damaged_configuration_is_named(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(UserErrorException, match=r"config\.json"):
        _config.read(_config.find(path))


def test_no_configuration_at_all_says_what_to_do(tmp_path):
    with pytest.raises(UserErrorException, match="write_config"):
        _config.find(tmp_path, "no-such-name.json")


@pytest.mark.parametrize("name", ["ab", "-abc", "a" * 34, "a b c", None, ""])
def test_names_that_no_workspace_has(name):
    with pytest.raises(UserErrorException, match="3 to 33"):
        check_workspace_name(name)


@pytest.mark.parametrize("name", ["", "a" * 256, "a/b", "-x", None])
def test_names_that_no_experiment_has(name):
    with pytest.raises(UserErrorException, match="1 to 255"):
        Experiment(None, name)


def test_a_run_configuration_is_saved_and_loaded(tmp_path):
    made = RunConfiguration("train.py", ["--lr", 0.1])
    made.target, made.node_count = "gpu", 2
    made.environment.python.conda_dependencies.add_pip_package("numpy")
    made.save(str(tmp_path), "big")
    again = RunConfiguration.load(str(tmp_path), "big")
    assert (again.script, again.arguments, again.target, again.node_count) == (
        "train.py",
        ["--lr", "0.1"],
        "gpu",
        2,
    )
    assert again.environment._definition() == made.environment._definition()


def test_command_and_script_exclude_each_other():
    with pytest.raises(UserErrorException, match="not both"):
        ScriptRunConfig(".", script="a.py", command="python a.py")
    with pytest.raises(UserErrorException, match="script or a command"):
        ScriptRunConfig(".")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (MpiConfiguration(2, 3), ("Python", "Mpi", 3)),
        (PyTorchConfiguration(node_count=2), ("PyTorch", "Nccl", 2)),
        (TensorflowConfiguration(2, 1), ("TensorFlow", "ParameterServer", 3)),
    ],
)
def test_distributed_configurations_set_framework_and_nodes(config, expected):
    made = ScriptRunConfig(".", script="a.py", distributed_job_config=config).run_config
    assert (made.framework, made.communicator, made.node_count) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--lr", 0.1, "it's"], ["python", "train.py", "--lr", "0.1", "it's"]),
        (
            ["--at", "$HOST:1", "a b", ""],
            ["/bin/sh", "-c", "exec python train.py --at \"${HOST}\":1 'a b' ''"],
        ),
        (["$(rm -rf /)", "$5"], ["python", "train.py", "$(rm -rf /)", "$5"]),
        (["$X;`id`"], ["/bin/sh", "-c", "exec python train.py \"${X}\"';`id`'"]),
    ],
)
def test_variables_in_arguments_are_expanded_and_nothing_else(arguments, expected):
    made = _command.script_command("python", "train.py", arguments)
    assert made == expected
    if made[0] == "/bin/sh":
        assert _command.unwrapped(made)[:2] == ["python", "train.py"]


def estimated(kind, **given):
    """What an estimator would have built, and what it would run."""
    made = kind("src", entry_script="train.py", **given)
    return made.run_config.environment._definition(), made._script_run_config()


def test_estimators_are_script_run_configurations_with_their_packages():
    from azureml.train.dnn import PyTorch, TensorFlow
    from azureml.train.estimator import Estimator
    from azureml.train.sklearn import SKLearn

    definition, config = estimated(
        Estimator,
        script_params={"--a": 1, "--flag": ""},
        pip_packages=["numpy"],
        environment_variables={"X": "1"},
    )
    assert config.arguments == ["--a", 1, "--flag"] and config.script == "train.py"
    assert definition["pip"] == ["azureml-defaults", "numpy"] and definition["variables"] == {"X": "1"}
    for kind, given, python, package in (
        (TensorFlow, {"framework_version": "2.2", "use_gpu": True}, "3.8", "tensorflow-gpu==2.2.*"),
        (TensorFlow, {"framework_version": "1.13"}, "3.7", "tensorflow==1.13.*"),
        (TensorFlow, {"framework_version": "2.21.0", "use_gpu": True}, "", "tensorflow==2.21.0"),
        (TensorFlow, {}, "", "tensorflow"),
        (PyTorch, {"framework_version": "1.6"}, "3.8", "torch==1.6.*"),
        (PyTorch, {"pip_packages": ["torch==1.5.1"]}, "", "torch==1.5.1"),
        (SKLearn, {}, "", "scikit-learn"),
    ):
        definition, _ = estimated(kind, **given)
        assert definition["python"] == python and package in definition["pip"], definition
    with pytest.raises(TypeError):
        estimated(SKLearn, node_count=2)
    with pytest.raises(UserErrorException, match="not both"):
        estimated(Estimator, environment_definition=Environment("x"), pip_packages=["numpy"])
    with pytest.warns(DeprecationWarning, match="Estimator is deprecated"):
        _support._said.clear()
        estimated(Estimator)


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ("STANDARD_NC6", (6, 56, 1)),
        ("Standard_D2_v2", (2, 7, 0)),
        ("STANDARD_DS3_V2", (4, 14, 0)),
        ("Standard_F16s_v2", (16, 32, 0)),
        ("Standard_E4ds_v4", (4, 32, 0)),
        ("Standard_NC64as_T4_v3", (64, 440, 4)),
    ],
)
def test_sizes_of_virtual_machines_are_shapes_of_nodes(size, shape):
    cores, memory, gpus = _sizes.shape(size)
    assert (cores, memory >> 30, gpus) == shape


@pytest.mark.parametrize(
    "given",
    [{"vm_size": "HUGE"}, {"min_nodes": 3, "max_nodes": 2}, {"vm_priority": "cheap"}, {"max_nodes": 0}],
)
def test_impossible_clusters_are_refused(given):
    with pytest.raises(ComputeTargetException):
        AmlCompute.provisioning_configuration(**{"vm_size": "STANDARD_D2_V2", **given})


def test_what_azure_has_and_slipway_cannot_honour_warns_once_and_names_the_callers_line():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            AmlCompute.provisioning_configuration(
                vm_size="STANDARD_D2_V2", admin_username="me", vnet_name=None
            )
    assert [str(w.message) for w in said if "admin_username" in str(w.message)] == [str(said[0].message)]
    assert len(said) == 1 and said[0].filename == __file__


def test_what_azure_does_not_have_is_a_type_error():
    with pytest.raises(TypeError):
        AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", colour="red")
    with pytest.raises(TypeError):
        ScriptRunConfig(".", script="a.py", colour="red")
    with pytest.raises(TypeError):
        Experiment(None, "exp", colour="red")
    with pytest.raises(TypeError):
        Environment("x", colour="red")


def test_other_machines_say_what_to_do_instead():
    with pytest.raises(UserErrorException, match="agent"):
        RemoteCompute.attach_configuration(username="me", address="host", password="secret")


class FakeStore:
    name = "store"


def test_a_data_reference_is_its_variable():
    assert str(DataReference(FakeStore(), "mnist")) == "$AZUREML_DATAREFERENCE_mnist"
    assert DataReference(FakeStore(), "mnist").as_download("/tmp/x").path_on_compute == "/tmp/x"
    with pytest.raises(UserErrorException):
        DataReference(FakeStore(), "mnist", mode="copy")


def test_outside_a_job_a_run_prints_what_it_would_log(capsys, monkeypatch):
    monkeypatch.delenv("SLIPWAY_RUN_ID", raising=False)
    run = Run.get_context()
    run.log("loss", 0.5)
    run.log_list("acc", [1, 2])
    run.log_row("xy", x=1, y=2)
    run.log_image("plot", path=__file__)
    run.tag("a", "b")
    with run.child_run() as child:
        child.log("c", 1)
    assert run.id.startswith("OfflineRun")
    assert run.get_tags() == {"a": "b"}
    said = capsys.readouterr().out
    for expected in ("loss:\n0.5", "acc:\n2", "{'x': 1, 'y': 2}", "image plot"):
        assert expected in said
    with pytest.raises(UserErrorException, match="log_list"):
        run.log("many", [1, 2])
    with pytest.raises(RunEnvironmentException):
        Run.get_context(allow_offline=False)
