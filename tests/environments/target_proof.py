"""The environment that people bring from Azure ML, with exactly its pins. Takes minutes: `make soak` runs it."""

CONDA = """name: project_environment
dependencies:
- python=3.6.2
- pip:
  - azureml-defaults
  - tensorflow-gpu==2.2.0
  - horovod==0.19.5
"""
IMAGE = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"
SCRIPT = """
import sys, tensorflow as tf, horovod, horovod.tensorflow as hvd, azureml.core
hvd.init()
print(sys.version.split()[0], tf.__version__, horovod.__version__, hvd.allreduce(tf.constant([2.0])).numpy()[0])
"""


def test_an_azure_definition_works_with_its_pins(building, tmp_path, monkeypatch):
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    building.down("--cancel")
    del building.env["UV_DEFAULT_INDEX"]
    building.up()
    (tmp_path / "env.yml").write_text(CONDA)
    name = building.cli_json("env", "create", "azure", "--conda", tmp_path / "env.yml", "--image", IMAGE)[
        "reference"
    ]
    run = building.submit("python", "-c", SCRIPT, environment=name)
    building.completed(run, 1800)
    assert building.log(run).decode().splitlines()[-1].split()[1:] == ["2.2.0", "0.19.5", "2.0"]
    log = building.log(run, "system_logs/environment.txt").decode()
    assert "azureml-defaults" in log and "is not used" in log and "Python 3.6.2 is not here: 3.6." in log
    assert len(building.run(run)["environment"]["applied"]) == 2
