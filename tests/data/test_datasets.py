"""Datasets: created from folders, patterns and uploads, versioned, compared, deleted."""

import subprocess

import pytest
from support.server import W


@pytest.fixture
def images(slipway):
    folder = slipway.folder / "images"
    for number in range(10):
        path = folder / "train" / ("cats" if number % 2 else "dogs") / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("picture " * (number + 1))
    (folder / "train" / "notes.txt").write_text("notes")
    slipway.cli("datastore", "add", "images", "--path", folder)
    return folder


def paths(slipway, dataset):
    return [file["path"] for file in slipway.cli_json("data", "files", dataset)["items"]]


def test_the_same_files_are_the_same_version_and_a_changed_source_a_new_one(slipway, images):
    first = slipway.cli_json("data", "create", "pets", "images:train/**/*.jpg", "--description", "pets")
    assert (first["version"], first["files"], first["existed"]) == (1, 10, False)
    again = slipway.cli_json("data", "create", "pets", "images:train/**/*.jpg")
    assert (again["version"], again["existed"], again["description"]) == (1, True, "pets")
    (images / "train/dogs/0.jpg").write_text("another picture")
    (images / "train/dogs/new.jpg").write_text("new")
    (images / "train/cats/1.jpg").unlink()
    assert slipway.cli_json("data", "create", "pets", "images:train/**/*.jpg")["version"] == 2
    assert [v["version"] for v in slipway.cli_json("data", "versions", "pets")["items"]] == [2, 1]
    changes = {c["path"]: c["change"] for c in slipway.cli_json("data", "diff", "pets:1", "pets:2")["files"]}
    assert changes == {"cats/1.jpg": "removed", "dogs/0.jpg": "modified", "dogs/new.jpg": "added"}
    text = slipway.cli("data", "diff", "pets:1", "pets:2").stdout
    assert "removed  cats/1.jpg" in text


def test_layout_strips_what_one_path_has_in_common(slipway, images):
    slipway.cli("data", "create", "glob", "images:train/dogs/*.jpg")
    assert paths(slipway, "glob") == ["0.jpg", "2.jpg", "4.jpg", "6.jpg", "8.jpg"]
    slipway.cli("data", "create", "one", "images:train/notes.txt")
    assert paths(slipway, "one") == ["notes.txt"]
    slipway.cli("data", "create", "several", "images:train/notes.txt", "images:train/cats")
    assert paths(slipway, "several")[0] == "images/train/cats/1.jpg"
    assert paths(slipway, "several")[-1] == "images/train/notes.txt"


def test_operations_are_kept_and_give_the_same_files_each_time(slipway, images):
    slipway.cli("data", "create", "all", "images:train")
    for name in ("one", "two"):
        slipway.cli(
            "data", "create", name, "--from", "all", "--filter", "*.jpg", "--sample", "0.5", "--seed", "7"
        )
    assert len(paths(slipway, "one")) == 5 and paths(slipway, "one") == paths(slipway, "two")
    shown = slipway.cli_json("data", "show", "one")
    assert shown["definition"]["from"] == "all:1"
    assert [op["op"] for op in shown["definition"]["operations"]] == ["filter", "sample"]
    slipway.cli("data", "split", "all", "first", "second", "--fraction", "0.7", "--seed", "3")
    first, second = paths(slipway, "first"), paths(slipway, "second")
    assert len(first) == 8 and sorted(first + second) == paths(slipway, "all")
    slipway.cli("data", "create", "few", "images:train/**", "--min-size", "30", "--skip", "1", "--take", "2")
    assert len(paths(slipway, "few")) == 2


def test_a_path_that_yields_no_file_is_named(slipway, images):
    for path, code in [
        ("images:train/*.png", 5),
        ("images:nothing", 5),
        ("nowhere:train", 5),
        ("images:../etc/passwd", 2),
        ("images:/etc/passwd", 2),
        ("s3://bucket/x", 2),
    ]:
        answer = slipway.cli("data", "create", "bad", "images:train", path, check=False)
        assert answer.returncode == code, answer.stderr
        assert path.partition(":")[0] in answer.stderr
    assert slipway.cli_json("data", "list")["items"] == []


def test_links_that_leave_or_loop_are_refused_with_a_sentence(slipway, images):
    (images / "train/inside.jpg").symlink_to("dogs/0.jpg")
    slipway.cli("data", "create", "inside", "images:train")
    assert "inside.jpg" in paths(slipway, "inside")
    (images / "train/passwd").symlink_to("/etc/passwd")
    refused = slipway.cli("data", "create", "bad", "images:train", check=False)
    assert refused.returncode == 2 and "'train/passwd' is a link that leaves the datastore" in refused.stderr
    (images / "train/passwd").unlink()
    (images / "train/up").symlink_to("..")
    looped = slipway.cli("data", "create", "bad", "images:train", check=False)
    assert looped.returncode == 2 and "a loop" in looped.stderr
    slipway.cli("data", "create", "good", "images:train", "--filter", "*.jpg")


def test_an_unreadable_file_is_named(stopped, tmp_path_factory):
    """The server runs as an ordinary user here: root may read everything."""
    folder = stopped.folder / "images"
    folder.mkdir()
    (folder / "secret.bin").write_text("x")
    (folder / "secret.bin").chmod(0)
    subprocess.run(["chown", "-R", "nobody", str(stopped.folder)], check=True)
    (folder / "secret.bin").chmod(0)
    stopped.folder.chmod(0o755)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    environment = {**stopped.env, "SLIPWAY_HOME": str(stopped.home)}
    command = [*as_nobody, str(stopped.binary), "up", "--listen", "127.0.0.1:0", "--detach"]
    subprocess.run(command, env=environment, cwd=stopped.folder, check=True, capture_output=True, timeout=60)
    stopped.started = True
    stopped.cli("datastore", "add", "images", "--path", folder)
    refused = stopped.cli("data", "create", "bad", "images:**", check=False)
    assert refused.returncode == 2 and "cannot read 'secret.bin': Permission denied" in refused.stderr


def test_a_local_folder_is_uploaded_and_outlives_its_source(slipway):
    folder = slipway.folder / "mine"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/a.txt").write_text("A")
    made = slipway.cli_json("data", "create", "mine", "./mine", cwd=slipway.folder)
    assert made["definition"]["paths"][0].startswith("workspaceblobstore:uploads/")
    assert paths(slipway, "mine") == ["deep/a.txt"]
    again = slipway.cli_json("data", "create", "mine", "./mine", cwd=slipway.folder)
    assert again["existed"]
    (folder / "deep/a.txt").write_text("changed")
    assert slipway.cli_json("data", "create", "mine", "./mine", cwd=slipway.folder)["version"] == 2
    old = slipway.http("GET", f"{W}/data/mine:1/content", query={"path": "deep/a.txt"})
    assert old.body == b"A"


def test_versions_are_tagged_and_deleted_and_numbers_never_reused(slipway, images):
    slipway.cli("data", "create", "pets", "images:train", "--tag", "a=1")
    tagged = slipway.cli_json("data", "tag", "pets", "b=2", "--remove", "a", "--description", "all pets")
    assert tagged["tags"] == {"b": "2"} and tagged["description"] == "all pets"
    slipway.cli("data", "delete", "pets")
    gone = slipway.cli("data", "show", "pets", check=False)
    assert gone.returncode == 5 and "no dataset 'pets'" in gone.stderr
    assert slipway.cli_json("data", "create", "pets", "images:train")["version"] == 2


def test_runs_name_a_version_and_versions_name_their_runs(slipway, images):
    slipway.cli("data", "create", "pets", "images:train")
    run = slipway.submit("true", inputs={"pets": {"dataset": "pets", "mode": "direct"}})
    slipway.completed(run)
    assert slipway.run(run)["job"]["inputs"]["pets"]["dataset"] == "pets:1"
    assert slipway.cli_json("data", "show", "pets:1")["used_by"] == [{"run": run, "input": "pets"}]
    assert f"{run} (input pets)" in slipway.cli("data", "show", "pets").stdout
    assert "pets = pets:1" in slipway.cli("run", "show", run).stdout
    (images / "train/notes.txt").write_text("other notes")
    slipway.cli("data", "create", "pets", "images:train")
    again = slipway.api("POST", f"{W}/runs/{run}/rerun")
    assert again["job"]["inputs"]["pets"]["dataset"] == "pets:1"
    newer = slipway.submit("true", inputs={"pets": {"dataset": "pets", "mode": "direct"}})
    slipway.completed(again["id"])
    slipway.completed(newer)
    difference = slipway.cli_json("run", "diff", run, newer)["data"]
    assert difference["from"]["pets"]["dataset"] == "pets:1"
    assert difference["to"]["pets"]["dataset"] == "pets:2"


def test_submission_checks_inputs_outputs_and_references(slipway, images):
    slipway.cli("data", "create", "pets", "images:train")
    slipway.cli("datastore", "add", "web", "--url", "https://host.example/")
    for arguments, code, words in [
        (["--input", "pets=mount:pats"], 5, "the input 'pets': there is no dataset 'pats'"),
        (["--input", "pets=mount:pets:9"], 5, "no version 9"),
        (["--input", "pets"], 2, "is no input"),
        (["--input", "1x=pets"], 2, "input name"),
        (["--output", "model=upload:web:x"], 2, "read only"),
        (["--output", "model=upload:images:../x"], 2, "no path below"),
        (["--input", "x=pets", "--output", "x"], 2, "an input and an output"),
    ]:
        answer = slipway.cli("submit", "--no-source", *arguments, "--", "true", check=False)
        assert answer.returncode == code, (arguments, answer.stderr)
        assert words in answer.stderr
    unknown = slipway.cli(
        "submit", "--no-source", "--input", "pets=pets", "--", "cat", "${inputs.pats}", check=False
    )
    assert unknown.returncode == 2 and "the input 'pats', which the job has not" in unknown.stderr


def test_a_job_file_names_inputs_and_outputs(slipway, images):
    slipway.cli("data", "create", "pets", "images:train")
    folder = slipway.folder / "code"
    folder.mkdir()
    (folder / "job.yaml").write_text(
        "command: ls -R\n"
        "inputs:\n  pets: direct:pets\n  more: {dataset: 'pets:1', mode: direct, verify: false}\n"
        "outputs:\n  model: {register_as: model}\n"
    )
    run = slipway.cli("submit", folder / "job.yaml").stdout.strip()
    job = slipway.run(run)["job"]
    assert job["inputs"]["pets"]["dataset"] == "pets:1" and not job["inputs"]["more"]["verify"]
    assert job["outputs"]["model"] == {
        "datastore": "workspaceblobstore",
        "path": "",
        "mode": "upload",
        "register_as": "model",
        "overwrite": False,
    }
    (folder / "job.yaml").write_text("command: ls\ninputs: {pets: {datset: pets}}\n")
    wrong = slipway.cli("submit", folder / "job.yaml", check=False)
    assert wrong.returncode == 2 and "did you mean 'dataset'" in wrong.stderr


def test_a_version_in_use_is_not_deleted(slipway, images):
    slipway.cli("data", "create", "pets", "images:train")
    run = slipway.submit("sleep 60", inputs={"pets": {"dataset": "pets", "mode": "direct"}})
    refused = slipway.cli("data", "delete", "pets:1", check=False)
    assert refused.returncode == 6 and run in refused.stderr
    slipway.cli("run", "cancel", run)
    slipway.wait_for(run, "Canceled")
    slipway.cli("data", "delete", "pets:1")


def test_a_job_reads_its_own_inputs_and_no_others(slipway, images):
    slipway.cli("data", "create", "pets", "images:train")
    slipway.cli("data", "create", "other", "images:train/notes.txt")
    script = (
        "for path in runs/$SLIPWAY_RUN_ID/inputs/pets/manifest runs/$SLIPWAY_RUN_ID/inputs/other/manifest "
        "data/other/manifest datastores/images/content?path=train/notes.txt; do "
        'curl -s -o /dev/null -w "%{http_code} " -H "Authorization: Bearer $SLIPWAY_TOKEN" '
        "$SLIPWAY_URL/api/v1/workspaces/default/$path; done"
    )
    run = slipway.submit(script, inputs={"pets": {"dataset": "pets", "mode": "direct"}})
    slipway.completed(run)
    assert slipway.log(run).split() == [b"200", b"404", b"403", b"403"]
