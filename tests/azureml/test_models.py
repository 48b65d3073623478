"""Models as programs for the SDK register, find and fetch them."""

import pytest


def test_a_file_is_registered_found_and_fetched(ws, here):
    from azureml.core import Model
    from azureml.core.resource_configuration import ResourceConfiguration

    (here / "model.pkl").write_bytes(b"weights")
    for stage in ("one", "two"):
        made = Model.register(
            ws,
            "model.pkl",
            "sklearn_model",
            tags={"stage": stage},
            properties={"area": "diabetes"},
            description="ridge",
            model_framework=Model.Framework.CUSTOM,
            model_framework_version="1.0",
            resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
        )
    assert (made.name, made.version, made.id) == ("sklearn_model", 2, "sklearn_model:2")
    assert made.resource_configuration.memory_in_gb == 0.5
    assert made.model_framework == "Custom"
    assert Model(ws, "sklearn_model").version == 2
    assert Model(ws, id="sklearn_model:1").tags == {"stage": "one"}
    assert Model(ws, "sklearn_model", tags=[["stage", "one"]]).version == 1
    assert [model.version for model in Model.list(ws, tags=["stage"])] == [2, 1]
    assert Model.list(ws, properties=[["area", "elsewhere"]]) == []
    assert list(ws.models) == ["sklearn_model"]
    path = made.download("there")
    assert (here / path).read_bytes() == b"weights"
    from azureml.exceptions import ModelNotFoundException, WebserviceException

    with pytest.raises(WebserviceException, match="exist_ok"):
        made.download("there")
    made.download("there", exist_ok=True)
    assert Model.get_model_path("sklearn_model", _workspace=ws).endswith("/2/model.pkl")
    made.add_tags({"best": "yes"})
    made.remove_tags(["stage"])
    assert Model(ws, "sklearn_model").tags == {"best": "yes"}
    made.update(tags={"other": "1"}, description="lasso")
    assert (made.tags, made.description) == ({"other": "1"}, "lasso")
    assert made.serialize()["framework"] == "Custom"
    made.delete()
    with pytest.raises(ModelNotFoundException):
        Model(ws, id="sklearn_model:2")


@pytest.mark.parametrize("name", ["", "-begins", "has space", "x" * 256])
def test_names_of_models(ws, here, name):
    from azureml.core import Model
    from azureml.exceptions import UserErrorException

    (here / "model.pkl").write_bytes(b"weights")
    with pytest.raises(UserErrorException, match="is not a name for a model"):
        Model.register(ws, "model.pkl", name)


def test_what_cannot_be_registered(ws, here):
    from azureml.core import Model
    from azureml.exceptions import UserErrorException

    with pytest.raises(UserErrorException, match="no file or folder"):
        Model.register(ws, "nothing.pkl", "model")
    (here / "model.pkl").write_bytes(b"weights")
    with pytest.raises(UserErrorException, match="no framework"):
        Model.register(ws, "model.pkl", "model", model_framework="Prolog")


def test_a_run_registers_what_it_wrote(ws, submit):
    run = submit(
        "import os\nfrom azureml.core import Run\n"
        "os.makedirs('outputs', exist_ok=True)\nopen('outputs/model.pkl', 'w').write('weights')\n"
        "model = Run.get_context().register_model('inside', 'outputs/model.pkl')\nprint(model.id)\n"
    )
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    after = run.register_model(
        "outside", "outputs/model.pkl", tags={"area": "digits"}, model_framework="Custom"
    )
    assert after.run_id == run.id
    assert after.run == run
    from azureml.core import Model

    assert Model(ws, "inside").run_id == run.id
    assert {model.name for model in Model.list(ws, run_id=run.id)} == {"inside", "outside"}
