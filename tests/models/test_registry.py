"""Models: registered from runs and folders, versioned, found, compared, brought back, deleted."""

import json

import pytest
from support.data import add_datastore, create
from support.jobs import WITH_TOKEN
from support.server import Slipway, W

FROM_RUN = {"name": "m", "run": "RUN", "path": "outputs/model"}


def register(slipway, name, *args, **kwargs):
    return slipway.cli_json("model", "register", name, *args, **kwargs)


def blobs(slipway):
    """Every stored content with its size."""
    return {p.parent.name + p.name: p.stat().st_size for p in (slipway.home / "blobs").glob("??/*")}


def test_registering_a_runs_output_moves_no_bytes_and_the_same_again_stores_nothing(slipway, trained):
    before = blobs(slipway)
    first = register(slipway, "digits", "--run", trained, "--path", "outputs/model")
    assert (first["id"], first["files"], first["framework"]) == ("digits:1", 2, "custom")
    assert set(blobs(slipway)) - set(before) == {first["snapshot"]}, "the list of its files alone is new"
    again = register(slipway, "digits", "--run", trained, "--path", "./outputs/model/")
    assert (again["version"], again["snapshot"]) == (2, first["snapshot"])
    assert len(blobs(slipway)) == len(before) + 1
    files = [file["path"] for file in slipway.items(f"{W}/models/digits:1/files")]
    assert files == ["model/sub/c.json", "model/w.bin"], "the last part of the path is the name at the top"
    one = register(slipway, "report", "--run", trained, "--path", "outputs/report.txt")
    assert [file["path"] for file in slipway.items(f"{W}/models/{one['id']}/files")] == ["report.txt"]


def test_the_record_says_run_code_data_and_needs_and_outlives_the_run(slipway, tmp_path):
    data = slipway.folder / "pictures"
    data.mkdir()
    (data / "a.txt").write_text("A")
    add_datastore(slipway, "images", data)
    create(slipway, "pictures", "images:**")
    (tmp_path / "train.py").write_text("open('outputs/m.bin', 'w').write('weights')")
    run = slipway.cli_json(
        *(
            "submit",
            "--source",
            tmp_path,
            "--input",
            "pictures=download:pictures",
            "--",
            "python3",
            "train.py",
        )
    )["id"]
    slipway.completed(run)
    model = register(
        *(slipway, "pets", "--run", run, "--path", "outputs/m.bin", "--framework", "pytorch", "--no-trial"),
        *(
            "--framework-version",
            "2.2",
            "--cpu",
            "1",
            "--memory",
            "0.5",
            "--gpu",
            "1",
            "--description",
            "cats",
        ),
        *("--tag", "stage=test", "--property", "seed=7", "--dataset", "checked=pictures:1"),
    )
    shown = slipway.cli_json("model", "show", "pets")
    assert shown == model
    assert (shown["framework"], shown["framework_version"], shown["description"]) == (
        "pytorch",
        "2.2",
        "cats",
    )
    assert shown["resources"] == {"cpus": 1, "memory_bytes": 512 << 20, "gpus": 1}
    assert shown["datasets"] == {"pictures": "pictures:1", "checked": "pictures:1"}
    assert shown["code"]["snapshot"] == slipway.run(run)["job"]["snapshot"] != ""
    assert shown["code"]["command"] == ["python3", "train.py"]
    assert (shown["tags"], shown["properties"]) == ({"stage": "test"}, {"seed": "7"})
    assert slipway.run(run)["models"] == {"registered": ["pets:1"], "used": []}
    assert slipway.cli_json("data", "show", "pictures")["models"] == ["pets:1"]
    text = slipway.cli("run", "show", run).stdout
    assert "registered as" in text and "pets:1" in text
    slipway.cli("run", "delete", run)
    assert slipway.cli_json("model", "show", "pets")["run"] == run
    slipway.cli("model", "download", "pets", tmp_path / "back")
    assert (tmp_path / "back" / "m.bin").read_text() == "weights"
    source = slipway.http("GET", f"{W}/snapshots/{shown['code']['snapshot']}")
    assert source.status == 200, "the code it came from stays with it"


def test_a_folder_and_a_file_of_this_machine_come_back_as_they_were(slipway, tmp_path):
    folder = tmp_path / "net"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"\x00graph")
    (folder / "variables" / "data").write_bytes(b"v" * 100_000)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    model = register(slipway, "net", "--local", folder)
    assert (model["files"], model["run"], model["code"]) == (3, None, {})
    register(slipway, "net", "--local", folder / "saved_model.pb")
    back = slipway.cli_json("model", "download", "net:1", tmp_path / "back")
    assert back["path"] == str(tmp_path / "back" / "net")
    for path in ("saved_model.pb", "variables/data", "run.sh"):
        there, here = tmp_path / "back" / "net" / path, folder / path
        assert there.read_bytes() == here.read_bytes()
        assert there.stat().st_mode & 0o111 == here.stat().st_mode & 0o111
    refused = slipway.cli("model", "download", "net:1", tmp_path / "back", check=False)
    assert refused.returncode != 0 and "is there already" in refused.stderr
    slipway.cli("model", "download", "net:1", tmp_path / "back", "--overwrite")
    slipway.cli("model", "download", "net", tmp_path / "newest")
    assert [p.name for p in (tmp_path / "newest").iterdir()] == ["saved_model.pb"]
    diff = slipway.cli_json("model", "diff", "net:1", "net:2")
    assert {c["path"]: c["change"] for c in diff["files"]}["saved_model.pb"] == "added"
    assert "saved_model.pb" in slipway.cli("model", "diff", "net:1", "net:2").stdout


def test_lists_filter_by_name_framework_tag_run_dataset_and_latest(slipway, trained):
    def names(*args):
        return [model["id"] for model in slipway.cli_json("model", "list", *args)["items"]]

    source = ("--run", trained, "--path", "outputs/model", "--no-trial")
    register(slipway, "a", *source, "--framework", "onnx", "--tag", "stage=old")
    register(slipway, "a", *source, "--framework", "keras", "--tag", "stage=new")
    register(slipway, "b", *source, "--framework", "onnx", "--property", "k=v")
    assert names() == ["b:1", "a:2"]
    assert names("--all") == ["b:1", "a:2", "a:1"]
    assert names("--name", "a", "--all") == ["a:2", "a:1"]
    assert names("--framework", "onnx") == ["b:1", "a:1"], "the newest of those that fit"
    assert names("--tag", "stage=old") == ["a:1"]
    assert names("--run", trained, "--all") == ["b:1", "a:2", "a:1"]
    assert names("--dataset", "mnist") == []
    query = {"properties": json.dumps({"k": None})}
    assert [m["id"] for m in slipway.items(f"{W}/models", **query)] == ["b:1"]
    assert [m["id"] for m in slipway.items(f"{W}/models", limit=1)] == ["b:1", "a:2", "a:1"], "page by page"
    assert [m["id"] for m in slipway.cli_json("model", "versions", "a")["items"]] == ["a:2", "a:1"]
    for query in (
        {"framework": "caffe"},
        {"latest": "yes"},
        {"tag": "x"},
        {"cursor": "z"},
        {"dataset": "../x"},
    ):
        assert slipway.http("GET", f"{W}/models", query=query).status == 400, query


def test_tags_change_properties_do_not(slipway, trained):
    register(slipway, "m", "--run", trained, "--path", "outputs/model", "--tag", "a=1", "--property", "p=1")
    slipway.cli("model", "tag", "m:1", "a=2", "b=3")
    slipway.cli("model", "update", "m", "--memory", "2", "--remove-tag", "b", "--description", "new")
    model = slipway.cli_json(
        "model", "update", "m", "--cpu", "2", "--property", "q=2", "--framework", "keras"
    )
    assert (model["tags"], model["properties"]) == ({"a": "2"}, {"p": "1", "q": "2"})
    assert model["resources"] == {"cpus": 2, "memory_bytes": 2 << 30, "gpus": 0}
    assert (model["description"], model["framework"]) == ("new", "keras")
    refused = slipway.cli("model", "update", "m", "--property", "p=2", check=False)
    assert refused.returncode != 0 and "cannot be changed" in refused.stderr
    assert slipway.cli("model", "tag", "m", check=False).returncode == 2
    diff = slipway.api("GET", f"{W}/model-diff", query={"from": "m:1", "to": "m"})
    assert diff["changes"] == 0 and diff["facts"] == {}


def test_samples_are_files_that_the_model_keeps_or_datasets(slipway, trained, tmp_path):
    data = slipway.folder / "rows"
    data.mkdir()
    (data / "rows.csv").write_text("1,2\n")
    add_datastore(slipway, "rows", data)
    create(slipway, "rows", "rows:rows.csv")
    (tmp_path / "body.json").write_text('{"data": [[1, 2]]}')
    model = register(
        *(slipway, "m", "--run", trained, "--path", "outputs/model"),
        *("--sample-input", tmp_path / "body.json", "--sample-output", "dataset:rows"),
    )
    assert model["sample_input"]["name"] == "body.json" and model["sample_input"]["size"] == 18
    assert model["sample_output"] == {"dataset": "rows:1"}
    assert slipway.http("GET", f"{W}/models/m/samples/input").body == b'{"data": [[1, 2]]}'
    assert slipway.http("GET", f"{W}/models/m/samples/output").status == 404
    assert slipway.http("GET", f"{W}/models/m/samples/other").status == 404


def test_versions_are_deleted_one_by_one_or_all_and_numbers_never_come_back(slipway, trained):
    for _ in range(3):
        register(slipway, "m", "--run", trained, "--path", "outputs/model")
    slipway.cli("model", "delete", "m:3")
    assert slipway.cli("model", "show", "m:3", check=False).returncode == 5
    assert register(slipway, "m", "--run", trained, "--path", "outputs/model")["version"] == 4
    slipway.cli("model", "delete", "m")
    assert slipway.cli_json("model", "list")["items"] == []
    assert slipway.cli("model", "delete", "m", check=False).returncode == 5
    assert register(slipway, "m", "--run", trained, "--path", "outputs/model")["version"] == 5


def test_what_a_run_uses_is_not_deleted_until_it_has_ended(slipway, trained):
    register(slipway, "m", "--run", trained, "--path", "outputs/model")
    run = slipway.submit("exec sleep 600", models=["m"])
    slipway.wait_for(run, "Running")
    refused = slipway.cli("model", "delete", "m:1", check=False)
    assert refused.returncode != 0 and run in refused.stderr and "run cancel" in refused.stderr
    slipway.cli("run", "cancel", run)
    slipway.wait(run)
    slipway.cli("model", "delete", "m:1")
    assert slipway.run(run)["models"]["used"] == ["m:1"], "its record stays true"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("m", "--run", "nope-12345678", "--path", "outputs/model"), 5, "no run"),
        (("m", "--run", "RUN", "--path", "outputs/none"), 5, "has kept no file at"),
        (("m", "--run", "RUN", "--path", "outputs/mod"), 5, "has kept no file at"),
        (("m", "--run", "RUN", "--path", "outputs/../../etc/passwd"), 2, "without '..'"),
        (("m", "--run", "RUN", "--path", "/etc/passwd"), 2, "no path of a run's files"),
        (("m", "--run", "RUN"), 2, "--path"),
        (("m",), 2, "nothing to register"),
        (("m", "--local", "/nowhere/at/all"), 5, "no file or folder"),
        (("m", "--local", "EMPTY"), 2, "has no files"),
        (("m", "--local", "EMPTY", "--path", "x"), 2, "cannot be combined"),
        (("../m", "--run", "RUN", "--path", "outputs/model"), 2, "not a valid model name"),
        (("_m", "--run", "RUN", "--path", "outputs/model"), 2, "not a valid model name"),
        (("m" * 256, "--run", "RUN", "--path", "outputs/model"), 2, "not a valid model name"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--framework", "caffe"), 2, "caffe"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--gpu", "-1"), 2, "GPUs"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--cpu", "1e9"), 2, "CPUs"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--framework-version", "a b"), 2, "version"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--dataset", "x=none"), 5, "none"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--sample-input", "dataset:none"), 5, "none"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--sample-input", "EMPTY"), 2, "no files"),
        (("m", "--run", "RUN", "--path", "outputs/model", "--env", "none"), 5, "none"),
    ],
)
def test_what_cannot_be_a_model_is_refused_with_a_sentence(shared, args, code, words):
    slipway, run, empty = shared
    args = [{"RUN": run, "EMPTY": empty}.get(arg, arg) for arg in args]
    answer = slipway.cli("model", "register", *args, check=False)
    assert (answer.returncode, slipway.cli_json("model", "list")["items"]) == (code, []), answer.stderr
    assert words in answer.stderr


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"name": "m"}, 400),
        ({"name": "m", "path": "outputs/model"}, 400),
        ({"name": "m", "path": "x", "snapshot": "y"}, 400),
        ({"name": "m", "snapshot": "0" * 64}, 404),
        ({"name": "m", "snapshot": "../../etc"}, 404),
        (
            {**FROM_RUN, "tags": {str(i): "x" for i in range(300)}},
            400,
        ),
        ({**FROM_RUN, "tags": {"a": 1}}, 400),
        ({**FROM_RUN, "properties": {"a": "x" * 10_000}}, 400),
        ({**FROM_RUN, "description": "x" * 100_000}, 400),
        ({"name": "m", "run": "RUN", "path": "x" * 5000}, 400),
        (
            {
                "name": "m",
                "run": "RUN",
                "path": "outputs/model",
                "datasets": {str(i): "x" for i in range(300)},
            },
            400,
        ),
        (
            {
                "name": "m",
                "run": "RUN",
                "path": "outputs/model",
                "sample_input": {"name": "../x", "digest": "0" * 64},
            },
            400,
        ),
        (
            {
                "name": "m",
                "run": "RUN",
                "path": "outputs/model",
                "sample_input": {"name": "x", "digest": "0" * 64},
            },
            409,
        ),
        (
            {
                "name": "m",
                "run": "RUN",
                "path": "outputs/model",
                "sample_input": {"dataset": "a", "digest": "b"},
            },
            400,
        ),
        ({**FROM_RUN, "resources": {"memory_bytes": -1}}, 400),
        ({**FROM_RUN, "more": 1}, 400),
    ],
)
def test_requests_that_say_too_much_or_too_little_are_refused(shared, body, status):
    slipway, run, _ = shared
    body = {key: run if value == "RUN" else value for key, value in body.items()}
    answer = slipway.http("POST", f"{W}/models", body)
    assert answer.status == status, answer.body
    assert answer.json()["error"]["message"]
    assert slipway.items(f"{W}/models") == []


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server for the requests that change nothing."""
    server = Slipway()
    try:
        server.up()
        run = server.submit("mkdir -p outputs/model; echo w > outputs/model/w.bin")
        server.completed(run)
        yield server, run, tmp_path_factory.mktemp("empty")
    finally:
        server.stop_everything()
        server.remove()


def test_the_same_key_registers_once(slipway, trained):
    body = {"name": "m", "run": trained, "path": "outputs/model"}
    key = {"Idempotency-Key": "once"}
    first, second = (slipway.http("POST", f"{W}/models", body, headers=key) for _ in range(2))
    assert (first.status, second.status) == (201, 200)
    assert first.json()["id"] == second.json()["id"] == "m:1"
    assert slipway.http("POST", f"{W}/models", {**body, "name": "n"}, headers=key).status == 409


def test_a_job_registers_its_own_files_and_nothing_else(slipway, trained):
    script = f"""
{WITH_TOKEN}
import pathlib, urllib.request, hashlib
def put(text):
    digest = hashlib.sha256(text).hexdigest()
    request = urllib.request.Request(os.environ["SLIPWAY_URL"] + "/api/v1/workspaces/default/blobs/" + digest,
        method="PUT", data=text, headers={{"Authorization": "Bearer " + os.environ["SLIPWAY_TOKEN"]}})
    urllib.request.urlopen(request, timeout=60)
    return {{"path": "outputs/m.bin", "digest": digest, "size": len(text)}}
print(call("POST", f"/runs/{{me}}/files", {{"files": [put(b"weights")]}}))
print(call("POST", f"/runs/{{me}}/models", {{"name": "mine", "path": "outputs/m.bin"}}))
print(call("POST", "/runs/{trained}/models", {{"name": "stolen", "path": "outputs/model"}}))
print(call("POST", "/models", {{"name": "stolen", "run": "{trained}", "path": "outputs/model"}}))
print(call("DELETE", "/models/mine"), call("PATCH", "/models/mine", {{}}), call("GET", "/models/mine"))
"""
    run = slipway.submit("python3", "-c", script)
    slipway.completed(run)
    lines = slipway.log(run).decode().split("\n")
    assert lines[:4] == ["200", "201", "404", "403"], lines
    assert all(int(code) in (403, 404) for code in lines[4].split())
    assert [model["id"] for model in slipway.items(f"{W}/models")] == ["mine:1"]
    assert slipway.cli_json("model", "show", "mine")["run"] == run


def test_a_workspace_with_models_is_not_deleted(slipway, tmp_path):
    slipway.cli("workspace", "create", "lab")
    (tmp_path / "m.bin").write_text("m")
    slipway.cli("--workspace", "lab", "model", "register", "m", "--local", tmp_path / "m.bin")
    refused = slipway.cli("workspace", "delete", "lab", check=False)
    assert refused.returncode != 0 and "models" in refused.stderr
    slipway.cli("--workspace", "lab", "model", "delete", "m")
    slipway.cli("workspace", "delete", "lab")
