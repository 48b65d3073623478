"""What an environment is made of, before any server has heard of it."""

import os
import sys

import pytest
from azureml import _yaml
from azureml.core import Environment
from azureml.core.conda_dependencies import CondaDependencies
from azureml.exceptions import UserErrorException

CONDA = """
name: tf
channels: [conda-forge]
dependencies:
  - python=3.6.2  # the time's own
  - numpy
  - pip:
    - tensorflow-gpu==2.2.0
    - 'horovod==0.19.5'
"""


@pytest.mark.parametrize("with_yaml", [True, False])
def test_a_conda_file_is_read_with_and_without_pyyaml(tmp_path, monkeypatch, with_yaml):
    if not with_yaml:
        monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "env.yml").write_text(CONDA)
    environment = Environment.from_conda_specification("tf", str(tmp_path / "env.yml"))
    assert environment._definition() == {
        "variables": {},
        "python": "3.6.2",
        "pip": ["tensorflow-gpu==2.2.0", "horovod==0.19.5"],
        "conda": ["numpy"],
        "conda_channels": ["conda-forge"],
    }
    assert _yaml.load(environment.python.conda_dependencies.serialize_to_string())["name"] == "tf"


@pytest.mark.parametrize("with_yaml", [True, False])
def test_a_broken_line_of_a_conda_file_is_named(tmp_path, monkeypatch, with_yaml):
    if not with_yaml:
        monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "env.yml").write_text('name: tf\ndependencies: [a, b\nchannels: "x\n')
    with pytest.raises(UserErrorException, match=r"line \d"):
        Environment.from_conda_specification("tf", str(tmp_path / "env.yml"))


def test_packages_replace_earlier_ones_of_their_name():
    packages = CondaDependencies.create(pip_packages=["Torch==1.5", "azureml-sdk"], python_version="3.7")
    packages.add_pip_package("torch==1.6.0")
    packages.add_conda_package("python=3.8")
    assert list(packages.pip_packages) == ["azureml-defaults", "azureml-sdk", "torch==1.6.0"]
    assert packages.get_python_version() == "3.8"
    packages.remove_pip_package("azureml-sdk")
    assert "azureml-sdk" not in packages.serialize_to_string()


@pytest.mark.parametrize(
    ("packages", "python"),
    [([], ""), (["pandas"], ""), (["pandas>=1.0", "x~=2", "y!=3"], ""), (["pandas==1.0.5"], "3.8.13")],
)
def test_the_default_python_is_kept_where_packages_are_pinned(packages, python):
    from azureml.core._environments import definition_of

    environment = Environment("x")
    for package in packages:
        environment.python.conda_dependencies.add_pip_package(package)
    assert definition_of(environment)["python"] == python


def test_image_and_dockerfile_reset_each_other():
    environment = Environment("image")
    environment.docker.base_dockerfile = "FROM debian"
    assert environment.docker.base_image is None
    environment.docker.base_image = "debian:12"
    assert environment.docker.base_dockerfile is None
    assert environment._definition()["container"]["image"] == "debian:12"


def test_azures_own_image_alone_means_no_container():
    assert "container" not in Environment("plain")._definition()


def test_a_saved_environment_loads_again(tmp_path):
    environment = Environment.from_dockerfile("mine", "FROM debian\n", pip_requirements=None)
    environment.python.user_managed_dependencies = False
    environment.environment_variables = {"A": "b"}
    environment.save_to_directory(tmp_path / "saved")
    assert sorted(os.listdir(tmp_path / "saved")) == [
        "BaseDockerfile",
        "azureml_environment.json",
        "conda_dependencies.yml",
    ]
    again = Environment.load_from_directory(tmp_path / "saved")
    assert again._definition() == environment._definition()
    with pytest.raises(UserErrorException, match="overwrite"):
        environment.save_to_directory(tmp_path / "saved")


@pytest.mark.parametrize("name", ["AzureML-Minimal", "microsoft-x"])
def test_reserved_names_are_cloned_before_they_are_registered(name):
    with pytest.raises(UserErrorException, match="clone"):
        Environment(name).register(None)
    clone = Environment(name).clone("mine")
    assert (clone.name, clone.version) == ("mine", None)
