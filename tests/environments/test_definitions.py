"""Describing environments: files, versions, names, rules, and what is wrong with them."""

import json

import pytest
from support.server import W

CONDA = """name: project_environment
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip
- numpy=1.18
- pip:
  - azureml-defaults
  - tensorflow-gpu==2.2.0
  - horovod==0.19.5
"""


def refused(slipway, *args, code=2, **kwargs):
    """What the program says when it refuses: one error with what to do next."""
    result = slipway.cli(*args, check=False, **kwargs)
    assert result.returncode == code, result
    assert result.stdout == ""
    first, *rest = result.stderr.splitlines()
    assert first.startswith("error: ")
    return first.removeprefix("error: "), "\n".join(rest)


def test_one_name_many_versions(slipway, tmp_path):
    (tmp_path / "env.yml").write_text(CONDA)
    first = slipway.cli_json("env", "create", "tf", "--conda", "env.yml", cwd=tmp_path)
    assert first["reference"] == "tf:1"
    assert first["definition"]["python"] == "3.6.2"
    assert first["definition"]["conda"] == ["numpy=1.18"]
    again = slipway.cli_json("env", "create", "tf", "--conda", tmp_path / "env.yml")
    assert again["reference"] == "tf:1", "the same description is the same version"
    (tmp_path / "requirements.txt").write_text("-r base.txt\nflask  # for the page\n")
    (tmp_path / "base.txt").write_text("numpy>=1.20,<2\n")
    second = slipway.cli_json(
        "env",
        "create",
        "tf",
        "--requirements",
        tmp_path / "requirements.txt",
        "--python",
        "3.11",
        "--var",
        "A=b",
    )
    assert second["reference"] == "tf:2"
    assert second["definition"]["pip"] == ["numpy>=1.20,<2", "flask"]
    assert second["definition"]["variables"] == {"A": "b"}
    assert [v["version"] for v in slipway.cli_json("env", "versions", "tf")["items"]] == [2, 1]
    assert slipway.cli_json("env", "show", "tf")["version"] == 2
    assert slipway.cli_json("env", "show", "tf:1")["version"] == 1
    names = [item["reference"] for item in slipway.cli_json("env", "list")["items"]]
    assert "tf:2" in names and "tf:1" not in names and "curated/tensorflow:3" in names
    diff = slipway.cli_json("env", "diff", "tf:1", "tf:2")
    assert diff["locked"] is False
    assert {"name": "flask", "change": "added", "from": None, "to": ""} in diff["packages"]
    assert "flask" in slipway.cli("env", "diff", "tf:1", "tf:2").stdout


def test_key_is_that_of_the_content(slipway):
    one = slipway.cli_json("env", "create", "a", "--pip", "numpy", "--pip", "Foo_Bar", "--var", "X=1")
    two = slipway.cli_json("env", "create", "b", "--pip", "foo-bar", "--pip", "numpy")
    three = slipway.cli_json("env", "create", "b", "--pip", "foo-bar", "--pip", "numpy", "--python", "3.9")
    assert one["key"] == two["key"] != three["key"]


def test_pyproject_image_dockerfile_and_interpreter(slipway, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nrequires-python = ">=3.9"\ndependencies = ["numpy"]\n'
    )
    made = slipway.cli_json("env", "create", "p", "--pyproject", tmp_path / "pyproject.toml")
    assert made["definition"]["python"] == ">=3.9" and made["definition"]["pip"] == ["numpy"]
    made = slipway.cli_json(
        "env", "create", "i", "--image", "docker.io/library/debian:12", "--shm-size", "1g"
    )
    assert made["definition"]["container"]["enabled"] is True
    (tmp_path / "Dockerfile").write_text("FROM debian:12\nRUN true\n")
    made = slipway.cli_json("env", "create", "d", "--dockerfile", tmp_path / "Dockerfile")
    assert made["definition"]["container"]["dockerfile"].startswith("FROM debian:12")
    made = slipway.cli_json("env", "create", "u", "--interpreter", "/usr/bin/python3")
    assert made["definition"]["user_managed"] is True


def test_substitutions_are_said_before_anything_is_built(slipway, tmp_path):
    (tmp_path / "env.yml").write_text(CONDA)
    slipway.cli("env", "create", "tf", "--conda", tmp_path / "env.yml")
    applied = slipway.cli_json("env", "show", "tf")["applied"]
    assert len(applied) == 1 and "azureml-defaults is met by slipway-azureml" in applied[0]
    slipway.cli("env", "substitution", "add", "package", "tensorflow-gpu", "tensorflow-cpu")
    slipway.cli("env", "substitution", "add", "python", "3.6", "3.8")
    applied = "\n".join(slipway.cli_json("env", "show", "tf")["applied"])
    assert "tensorflow-gpu==2.2.0 is replaced by tensorflow-cpu==2.2.0" in applied
    assert "python 3.6.2 is replaced by 3.8" in applied
    slipway.cli("env", "substitution", "remove", "package", "azureml-*")
    rules = [(r["kind"], r["from"], r["default"]) for r in slipway.cli_json("env", "substitution")["items"]]
    assert rules == [
        ("package", "tensorflow-gpu", False),
        ("python", "3.6", False),
        ("image", "mcr.microsoft.com/azureml/*", True),
    ]
    assert "tensorflow-cpu" in slipway.cli("env", "substitution", "list").stdout
    message, next_step = refused(slipway, "env", "substitution", "remove", "package", "nothing", code=5)
    assert "there is no rule for package 'nothing'" in message and "substitution list" in next_step
    message, _ = refused(slipway, "env", "substitution", "add", "planet", "mars")
    assert "package, python or image" in message


def test_clone_save_and_load_go_both_ways(slipway, tmp_path):
    clone = slipway.cli_json("env", "clone", "curated/scikit-learn", "mine")
    assert clone["reference"] == "mine:1" and clone["curated"] is False
    folder = tmp_path / "saved"
    files = slipway.cli_json("env", "save", "mine", folder)["files"]
    assert sorted(p.rpartition("/")[2] for p in files) == [
        "azureml_environment.json",
        "conda_dependencies.yml",
    ]
    document = json.loads((folder / "azureml_environment.json").read_text())
    assert document["name"] == "mine" and document["version"] == "1"
    assert document["docker"]["enabled"] is False and document["python"]["interpreterPath"] == "python"
    assert "scikit-learn" in (folder / "conda_dependencies.yml").read_text()
    assert slipway.cli_json("env", "load", folder)["reference"] == "mine:1"
    again = slipway.cli_json("env", "load", folder, "--name", "other")
    assert again["definition"] == clone["definition"]
    message, next_step = refused(slipway, "env", "load", tmp_path, code=5)
    assert "there is no azureml_environment.json" in message and "save" in next_step


def test_azures_names_resolve_to_the_nearest(slipway):
    shown = slipway.cli_json("env", "show", "AzureML-TensorFlow-2.0-GPU")
    assert shown["reference"] == "curated/tensorflow:2" and "AzureML-TensorFlow-2.0-GPU" in shown["note"]
    message, _ = refused(slipway, "env", "show", "AzureML-VowpalWabbit-8.8", code=5)
    assert "nothing that is shipped comes near" in message


@pytest.mark.parametrize("name", ["AzureML-mine", "Microsoft-mine", "azureml", "curated/mine"])
def test_reserved_names_are_refused(slipway, name):
    message, next_step = refused(slipway, "env", "create", name, "--pip", "numpy")
    assert name in message and "clone it first" in next_step
    answer = slipway.http("POST", f"{W}/environments", {"name": name, "definition": {"pip": ["numpy"]}})
    assert answer.status == 400


BROKEN = [
    ("env.yml", "name: x\ndependencies:\n- python=3.8\n- [numpy\nchannels: y\n", "env.yml:"),
    ("env.yml", "dependencies:\n- python=3.8\n- numpy==\n", "env.yml:3:3: 'numpy==' is no package"),
    ("env.yml", "dependencies:\n- pip:\n  - ../here\n", "env.yml:3:5: '../here' is a local path"),
    ("env.yml", "dependencies:\n- pip:\n  - -r ../more.txt\n", "outside the folder"),
    ("req.txt", "numpy\n../here\n", "req.txt:2: '../here' is a local path"),
    ("req.txt", "numpy\n\n-r ../more.txt\n", "req.txt:3: '../more.txt' lies outside the folder"),
    ("req.txt", "-r /etc/hostname\n", "req.txt:1: '/etc/hostname' lies outside the folder"),
    ("req.txt", "-e .\n", "req.txt:1: '.' is a local path"),
    ("req.txt", "-r missing.txt\n", "req.txt:1: 'missing.txt' cannot be read"),
    ("req.txt", "numpy=1.2\n", "req.txt:1: '=1.2' is no version constraint"),
    ("req.txt", "--index-url https://me:hush@host/simple\n", "user name or password"),
    ("pyproject.toml", "[project]\ndependencies = ['a', ./b]\n", "pyproject.toml:2:"),
    ("Dockerfile", "FROM debian:12\nCOPY . /app\n", "Dockerfile:2: COPY takes local files"),
]


@pytest.mark.parametrize(("file", "text", "says"), BROKEN)
def test_a_broken_file_is_refused_with_its_line(slipway, tmp_path, file, text, says):
    (tmp_path / "more.txt").write_text("flask\n")
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / file).write_text(text)
    option = {"env.yml": "--conda", "req.txt": "--requirements", "pyproject.toml": "--pyproject"}.get(
        file, "--dockerfile"
    )
    message, next_step = refused(slipway, "env", "create", "x", option, folder / file)
    assert says in message and next_step.strip()
    assert "hush" not in message + next_step
    message, _ = refused(slipway, "submit", "--no-source", "--env", folder / file, "--", "true")
    assert says in message, "the same file given with a run"
    assert slipway.items(f"{W}/runs") == []


def test_a_link_out_of_the_folder_is_not_followed(slipway, tmp_path):
    (tmp_path / "secret.txt").write_text("flask\n")
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "more.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "req.txt").write_text("-r more.txt\n")
    message, _ = refused(slipway, "env", "create", "x", "--requirements", folder / "req.txt")
    assert "'more.txt' cannot be read" in message


def test_contradictions_and_unknown_things_are_refused(slipway, tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM debian:12\n")
    message, _ = refused(
        slipway, "env", "create", "x", "--image", "debian:12", "--dockerfile", tmp_path / "Dockerfile"
    )
    assert "not both" in message
    answer = slipway.http(
        "POST",
        f"{W}/environments",
        {"name": "x", "definition": {"container": {"image": "a", "dockerfile": "FROM b"}}},
    )
    assert answer.status == 400 and "both" in answer.json()["error"]["message"]
    message, _ = refused(slipway, "env", "create", "x")
    assert "nothing says what the environment is made of" in message
    message, _ = refused(slipway, "env", "create", "x", "--interpreter", "python3", "--pip", "numpy")
    assert "user-managed" in message
    message, _ = refused(slipway, "env", "create", "x", "--python", "three")
    assert "'three' is no version of Python" in message
    slipway.cli("env", "create", "x", "--pip", "numpy")
    for args in (
        ("env", "show", "x:9"),
        ("env", "delete", "x:9"),
        ("submit", "--env", "x:9", "--no-source", "--", "true"),
    ):
        message, next_step = refused(slipway, *args, code=5)
        assert "there is no version 9 of environment 'x'" in message and "env versions x" in next_step
    message, next_step = refused(slipway, "submit", "--env", "nowhere", "--no-source", "--", "true", code=5)
    assert "there is no environment 'nowhere'" in message and "env list" in next_step
    message, _ = refused(slipway, "submit", "--env", "x:new", "--no-source", "--", "true")
    assert "'new' is no version" in message
    message, next_step = refused(
        slipway, "submit", "--env", "./nothing.txt", "--no-source", "--", "true", code=5
    )
    assert "there is no file './nothing.txt'" in message
    message, next_step = refused(slipway, "env", "lock", "x", code=5)
    assert "has no lock yet" in message and "slipway env build x" in next_step


def test_a_deleted_version_is_hidden_from_new_runs(slipway):
    slipway.cli("env", "create", "x", "--pip", "numpy==1.26.4")
    slipway.cli("env", "create", "x", "--pip", "numpy==1.26.3")
    slipway.cli("env", "delete", "x:2")
    assert slipway.cli_json("env", "show", "x")["version"] == 1
    slipway.cli("env", "delete", "x")
    refused(slipway, "env", "show", "x", code=5)
    assert slipway.cli_json("env", "create", "x", "--pip", "numpy==1.26.3")["version"] == 3


def test_files_are_understood_by_the_server_too(slipway):
    made = slipway.api(
        "POST", f"{W}/environments", {"name": "tf", "files": {"conda": CONDA, "requirements": "flask\n"}}
    )
    assert made["definition"]["pip"][-1] == "flask" and made["definition"]["python"] == "3.6.2"
    answer = slipway.http("POST", f"{W}/environments", {"files": {"requirements": "flask\n-r /etc/passwd\n"}})
    assert answer.status == 400 and "requirements:2:" in answer.json()["error"]["message"]


def test_who_may_do_what(slipway):
    def token(role):
        return slipway.api("POST", "/api/v1/tokens", {"name": role, "role": role, "workspace": "default"})[
            "token"
        ]

    reader, contributor = token("reader"), token("contributor")
    body = {"name": "x", "definition": {"pip": ["numpy"]}}
    assert slipway.http("POST", f"{W}/environments", body, token=reader).status == 403
    assert slipway.http("POST", f"{W}/environments", body, token=contributor).status == 201
    assert slipway.http("GET", f"{W}/environments/x", token=reader).status == 200
    rule = {"kind": "package", "from": "a", "to": "b"}
    assert slipway.http("POST", f"{W}/environment-substitutions", rule, token=contributor).status == 403
    assert slipway.http("DELETE", f"{W}/environments/x", token=reader).status == 403
    assert slipway.http("GET", f"{W}/environments", token="wrong").status == 401


def test_azures_base_image_with_packages_means_this_machine(slipway):
    definition = {
        "container": {"enabled": True, "image": "mcr.microsoft.com/azureml/base-gpu:openmpi3.1.2-cuda10.1"}
    }
    made = slipway.api(
        "POST", f"{W}/environments", {"name": "a", "definition": definition, "files": {"conda": CONDA}}
    )
    assert made["definition"]["pip"][1:] == ["tensorflow-gpu==2.2.0", "horovod==0.19.5"], "the pins stay"
    assert any("without a container" in sentence for sentence in made["applied"])
    bare = slipway.api("POST", f"{W}/environments", {"name": "a", "definition": definition})
    assert bare["applied"] == [], "an image that is all there is stays"


def test_names_complete_in_the_shell(slipway):
    slipway.cli("env", "create", "mine", "--pip", "numpy")
    for words in (("env", "show", ""), ("submit", "--env", "")):
        offered = [line.split("\t")[0] for line in slipway.cli("__complete", *words).stdout.splitlines()]
        assert "mine" in offered and "curated/pytorch" in offered and offered.count("curated/pytorch") == 1


def test_environments_go_with_their_workspace(slipway):
    slipway.cli("workspace", "create", "other")
    slipway.cli("--workspace", "other", "env", "create", "mine", "--pip", "numpy")
    refused(slipway, "env", "show", "mine", code=5)
    slipway.cli("workspace", "delete", "other")
    slipway.cli("workspace", "create", "other")
    refused(slipway, "--workspace", "other", "env", "show", "mine", code=5)
