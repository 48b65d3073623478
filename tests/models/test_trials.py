"""Trial loads: a run finds out whether a version serves, and the version's record says so."""

import json
import socket
import subprocess

import pytest
from support import models
from support.server import W


@pytest.fixture
def frameworks(slipway):
    """The frameworks of the tests as an environment of this server."""
    slipway.cli("env", "create", "frameworks", "--interpreter", models.PYTHON)


def register(slipway, *args, **kwargs):
    return slipway.cli_json("model", "register", *args, timeout=120, **kwargs)


def test_a_model_that_serves_is_registered_with_its_signature(slipway, frameworks, onnx_models):
    source = slipway.folder / "source"
    source.mkdir()
    (source / "double.onnx").write_bytes((onnx_models / "double.onnx").read_bytes())
    run = slipway.cli_json(
        *("submit", "--source", source, "--env", "frameworks", "--", "cp", "double.onnx", "outputs/")
    )["id"]
    slipway.completed(run)
    answer = slipway.cli(
        *(
            "model",
            "register",
            "double",
            "--run",
            run,
            "--path",
            "outputs/double.onnx",
            "--framework",
            "onnx",
        ),
        timeout=120,
    )
    assert "yes, with onnx" in answer.stdout and "a FP32 [?, 2]" in answer.stdout, answer.stdout
    trial = slipway.cli_json("model", "show", "double")["trial"]
    assert (trial["state"], trial["serves"], trial["reason"]) == ("done", True, "")
    inputs, outputs = (next(iter(trial["signature"].values()))[side] for side in ("inputs", "outputs"))
    assert [(tensor["name"], tensor["datatype"]) for tensor in inputs] == [("a", "FP32"), ("b", "INT64")]
    assert [tensor["name"] for tensor in outputs] == ["a2", "b2"]
    tried = slipway.run(trial["run"])
    assert (tried["kind"], tried["state"]) == ("trial", "Completed")
    assert tried["job"]["environment"] == "frameworks:1", "the run's own, since it has the framework"
    assert tried["job"]["timeout_seconds"] > 0 and tried["job"]["resources"]["memory_bytes"] > 0
    assert [item["id"] for item in slipway.cli_json("run", "list")["items"]] == [run], "not among users' runs"
    assert [item["id"] for item in slipway.cli_json("run", "list", "--kind", "trial")["items"]] == [
        trial["run"]
    ]
    assert slipway.cli_json("run", "show", "latest")["id"] == run
    assert slipway.cli("run", "rerun", trial["run"], check=False).returncode == 2
    slipway.cli("model", "delete", "double:1")
    assert slipway.items(f"{W}/runs", kind="trial") == [], "its trial goes with it"


@pytest.mark.parametrize("fault", ["truncated", "text", "missing"])
def test_a_model_that_does_not_serve_says_why_at_once(slipway, frameworks, onnx_models, tmp_path, fault):
    good = (onnx_models / "double.onnx").read_bytes()
    content = {"truncated": good[: len(good) // 2], "text": b"not a model at all", "missing": b"x"}[fault]
    path = tmp_path / ("weights.bin" if fault == "missing" else "broken.onnx")
    path.write_bytes(content)
    answer = slipway.cli(
        *("model", "register", "bad", "--local", path, "--framework", "onnx", "--env", "frameworks"),
        timeout=120,
    )
    assert answer.returncode == 0, "it is registered all the same"
    assert "no: " in answer.stdout, answer.stdout
    trial = slipway.cli_json("model", "show", "bad")["trial"]
    assert trial["serves"] is False and len(trial["reason"]) > 10 and trial["signature"] is None
    assert slipway.cli_json("model", "list")["items"][0]["trial"]["serves"] is False


def test_the_users_sample_is_what_it_is_asked_with(slipway, frameworks, onnx_models, tmp_path):
    (tmp_path / "good.json").write_text(json.dumps({"inputs": {"a": [[1.5, 2]], "b": [[3]]}}))
    (tmp_path / "bad.json").write_text(json.dumps({"inputs": {"a": [[1, 2, 3]], "b": [[3]]}}))
    args = ("double", "--local", onnx_models / "double.onnx", "--framework", "onnx", "--env", "frameworks")
    good = register(slipway, *args, "--sample-input", tmp_path / "good.json")["trial"]
    assert good["serves"] and good["sample_output"]["outputs"] == {"a2": [[3.0, 4.0]], "b2": [[6]]}
    bad = register(slipway, *args, "--sample-input", tmp_path / "bad.json")["trial"]
    assert bad["serves"] is False and bad["reason"]
    diff = slipway.cli_json("model", "diff", "double:1", "double:2")
    assert diff["facts"]["serves"] == {"from": True, "to": False}


def test_without_a_trial_the_record_says_so_and_one_can_follow(slipway, frameworks, onnx_models):
    args = ("double", "--local", onnx_models / "double.onnx")
    assert register(slipway, *args)["trial"]["state"] == "none", "a custom model is not loaded by anything"
    assert slipway.cli("model", "trial", "double", check=False).returncode != 0
    skipped = register(slipway, *args, "--framework", "onnx", "--env", "frameworks", "--no-trial")["trial"]
    assert (skipped["state"], skipped["serves"], skipped["run"]) == ("skipped", None, None)
    tried = slipway.cli_json("model", "trial", "double:2", timeout=120)["trial"]
    assert (tried["state"], tried["serves"], tried["number"]) == ("done", True, 2)
    assert slipway.items(f"{W}/runs") == []


def pickle_of(path, code):
    """A pickle whose opening runs the code: a pickle is a program."""
    script = "import pickle, sys\nclass Bomb:\n  def __reduce__(self):\n    return exec, (sys.argv[1],)\n"
    script += "sys.stdout.buffer.write(pickle.dumps(Bomb()))"
    path.write_bytes(
        subprocess.run([models.PYTHON, "-c", script, code], capture_output=True, check=True).stdout
    )
    return path


def test_a_model_that_ends_the_process_is_one_that_does_not_serve(slipway, frameworks, tmp_path):
    bomb = pickle_of(tmp_path / "model.pkl", "import os; os._exit(7)")
    trial = register(
        *(slipway, "bomb", "--local", bomb, "--framework", "scikit-learn", "--env", "frameworks")
    )["trial"]
    assert trial["serves"] is False and trial["reason"]
    assert slipway.api("GET", "/api/v1/server")["version"], "the server is untouched"


def test_a_model_reaches_no_network_while_it_is_tried(slipway, frameworks, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        caller = pickle_of(tmp_path / "model.pkl", f"import socket; socket.create_connection({address!r}, 5)")
        trial = register(
            *(slipway, "caller", "--local", caller, "--framework", "scikit-learn", "--env", "frameworks")
        )["trial"]
        assert trial["serves"] is False
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


READS = "open({path!r}).read()"
WRITES = "open({path!r}, 'a').write('x')"
LISTS = "import os; os.listdir({path!r})"
REMOVES = "import os; os.remove({path!r})"


@pytest.mark.parametrize(
    ("code", "place"),
    [
        (READS, "home/token"),
        (READS, "home/slipway.db"),
        (READS, "user/.ssh/id_rsa"),
        (READS, "/etc/shadow"),
        (LISTS, "user/.ssh"),
        (WRITES, "user/.bashrc"),
        (REMOVES, "user/.bashrc"),
    ],
    ids=["token", "store", "key", "shadow", "folder", "write", "remove"],
)
def test_a_model_sees_no_files_of_the_user_while_it_is_tried(slipway, frameworks, tmp_path, code, place):
    (slipway.folder / "user" / ".ssh").mkdir(parents=True)
    for name in (".ssh/id_rsa", ".bashrc"):
        (slipway.folder / "user" / name).write_text("mine")
    path = str(slipway.folder / place)
    thief = pickle_of(tmp_path / "model.pkl", code.format(path=path))
    trial = register(
        *(slipway, "thief", "--local", thief, "--framework", "scikit-learn", "--env", "frameworks")
    )["trial"]
    assert trial["serves"] is False
    assert "Permission denied" in trial["reason"] and path in trial["reason"], trial
    assert (slipway.folder / "user" / ".bashrc").read_text() == "mine"


def test_a_model_may_write_where_it_is_tried(slipway, frameworks, tmp_path):
    code = "import os, tempfile\nfor folder in (tempfile.mkdtemp(), os.path.expanduser('~')):\n"
    code += " with open(folder + '/x', 'w') as file: file.write('x')\n"
    writer = pickle_of(tmp_path / "model.pkl", code + "raise RuntimeError('all was written')")
    trial = register(
        *(slipway, "writer", "--local", writer, "--framework", "scikit-learn", "--env", "frameworks")
    )["trial"]
    assert trial["serves"] is False and "all was written" in trial["reason"], trial


def test_a_trial_that_cannot_take_place_leaves_the_question_open(slipway, onnx_models):
    slipway.cli("env", "create", "gone", "--interpreter", "/nowhere/python")
    args = ("double", "--local", onnx_models / "double.onnx", "--framework", "onnx", "--env", "gone")
    trial = register(slipway, *args)["trial"]
    assert (trial["state"], trial["serves"]) == ("done", None)
    assert "did not take place" in trial["reason"], trial


def test_a_version_is_not_deleted_while_its_trial_runs(slipway, onnx_models):
    holder = slipway.submit("exec sleep 600")  # has the whole node, so the trial waits
    slipway.wait_for(holder, "Running")
    args = ("double", "--local", onnx_models / "double.onnx", "--framework", "onnx", "--no-wait")
    model = register(slipway, *args)
    assert model["trial"]["state"] == "running" and model["trial"]["run"]
    refused = slipway.cli("model", "delete", "double", check=False)
    assert refused.returncode != 0 and model["trial"]["run"] in refused.stderr
    again = slipway.cli_json("model", "trial", "double", "--no-wait")
    assert again["trial"]["run"] == model["trial"]["run"], "one at a time"
    slipway.cli("run", "cancel", model["trial"]["run"])
    slipway.wait(model["trial"]["run"])
    trial = slipway.cli_json("model", "show", "double")["trial"]
    assert trial["serves"] is None and "was canceled" in trial["reason"]
    slipway.cli("model", "delete", "double")
    slipway.cli("run", "cancel", holder)


def test_a_trial_is_started_by_the_next_look_when_the_server_was_killed_before_it(dev, onnx_models):
    dev.up(env={"SLIPWAY_FAILPOINTS": "model.after_commit=kill@1"})
    dev.cli("env", "create", "frameworks", "--interpreter", models.PYTHON)
    args = ("model", "register", "double", "--local", onnx_models / "double.onnx", "--framework", "onnx")
    dev.cli(*args, "--env", "frameworks", check=False, timeout=30)
    dev.again()
    trial = dev.cli_json("model", "show", "double")["trial"]
    assert trial["state"] == "running" and trial["run"]
    dev.wait(trial["run"])
    assert dev.cli_json("model", "show", "double")["trial"]["serves"] is True
    assert [run["id"] for run in dev.items(f"{W}/runs", kind="trial")] == [trial["run"]], "once"
