"""Jobs that are given models: placed before the start, found by the job, recorded with the run."""

import json

from support.server import W

TELL = """
import json, os, pathlib, sys
top = pathlib.Path(os.environ["SLIPWAY_MODEL_DIR"])
print(json.dumps({"argv": sys.argv[1:], "azure": os.environ["AZUREML_MODEL_DIR"] == str(top), "top": str(top),
                  "files": {str(p.relative_to(top)): p.stat().st_size for p in top.rglob("*") if p.is_file()}}))
"""


def register(slipway, name, local):
    return slipway.cli_json("model", "register", name, "--local", local)["id"]


def tell(slipway, run):
    slipway.completed(run)
    return json.loads(slipway.log(run))


def test_one_model_is_its_variables_folder_and_a_reference_is_the_model_itself(slipway, tmp_path):
    folder = tmp_path / "net"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "large.bin").write_bytes(b"L" * (9 << 20))  # comes by itself, the others in a pack
    for number in range(50):
        (folder / f"{number}.txt").write_text(str(number))
    register(slipway, "my.net-1", folder)
    run = slipway.cli_json(
        *(
            "submit",
            "--model",
            "my.net-1",
            "--",
            "python3",
            "-c",
            TELL,
            "${models.my.net-1}",
            "x${models.my.net-1}y",
        )
    )["id"]
    told = tell(slipway, run)
    assert told["azure"] and told["top"].endswith("/models/my.net-1/1")
    assert told["argv"] == [told["top"] + "/net", "x" + told["top"] + "/nety"]
    assert told["files"]["net/deep/large.bin"] == 9 << 20 and len(told["files"]) == 51
    shown = slipway.run(run)
    assert shown["job"]["models"] == ["my.net-1:1"] and shown["models"]["used"] == ["my.net-1:1"]
    assert slipway.cli_json("model", "show", "my.net-1")["used_by"] == [run]


def test_several_models_lie_below_one_folder_and_versions_stay_what_they_were(slipway, tmp_path):
    for name, text in (("a", "1"), ("a", "22"), ("b", "333")):
        (tmp_path / f"{name}.bin").write_text(text)
        register(slipway, name, tmp_path / f"{name}.bin")
    job = tmp_path / "job" / "job.yaml"
    job.parent.mkdir()
    job.write_text("command: [python3, -c, " + json.dumps(TELL) + "]\nmodels: [a:1, a, b]\n")
    run = slipway.cli_json("submit", job)["id"]
    told = tell(slipway, run)
    assert told["top"].endswith("/models")
    assert told["files"] == {"a/1/a.bin": 1, "a/2/a.bin": 2, "b/1/b.bin": 3}
    assert slipway.run(run)["job"]["models"] == ["a:1", "a:2", "b:1"]
    (tmp_path / "b.bin").write_text("4444")
    register(slipway, "b", tmp_path / "b.bin")
    again = slipway.api("POST", f"{W}/runs/{run}/rerun", {})["id"]
    assert tell(slipway, again)["files"]["b/1/b.bin"] == 3


def test_a_job_reads_the_models_it_was_given_and_no_other(slipway, tmp_path):
    for name in ("given", "other"):
        (tmp_path / f"{name}.bin").write_text(name)
        register(slipway, name, tmp_path / f"{name}.bin")
    digests = {n: slipway.cli_json("model", "show", n)["snapshot"] for n in ("given", "other")}
    script = "for d in %s %s; do curl -s -o /dev/null -w '%%{http_code} ' -H \"Authorization: Bearer $SLIPWAY_TOKEN\" "
    script += "$SLIPWAY_URL/api/v1/workspaces/default/snapshots/$d; done"
    run = slipway.submit(script % (digests["given"], digests["other"]), models=["given"])
    slipway.completed(run)
    assert slipway.log(run).split() == [b"200", b"404"]


def test_models_that_are_not_there_are_refused_when_the_job_is_submitted(slipway, tmp_path):
    (tmp_path / "m.bin").write_text("m")
    register(slipway, "m", tmp_path / "m.bin")
    for models, command, status in (
        (["none"], ["true"], 404),
        (["m:2"], ["true"], 404),
        (["../m"], ["true"], 400),
        (["m:0"], ["true"], 400),
        (["m"] * 33, ["true"], 400),
        ([], ["echo", "${models.m}"], 400),
        (["m"], ["echo", "${models.m"], 400),
    ):
        answer = slipway.http("POST", f"{W}/runs", {"command": command, "models": models})
        assert answer.status == status, (models, answer.body)
    assert slipway.items(f"{W}/runs") == []
