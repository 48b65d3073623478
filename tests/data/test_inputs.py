"""A run's inputs: downloaded or mounted, found by the job, recorded with the run."""

import hashlib
import json

import pytest
from support.data import add_datastore, create
from support.nginx import Nginx
from support.processes import wait_until

TELL = """
import json, os, pathlib, sys
top = pathlib.Path(sys.argv[1])
print(json.dumps({"argv": sys.argv[1:], "inputs": json.loads(os.environ["SLIPWAY_INPUTS"]),
                  "variable": os.environ["pictures"], "azure": os.environ["AZUREML_DATAREFERENCE_pictures"],
                  "files": sorted(str(p.relative_to(top)) for p in top.rglob("*") if p.is_file())}))
"""


@pytest.fixture
def pictures(slipway):
    """A datastore with a folder of files, and a dataset of them."""
    folder = slipway.folder / "images"
    for name, content in {"train/a.txt": "A", "train/deep/b.txt": "BB", "big.bin": "x" * 3_000_000}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    add_datastore(slipway, "images", folder)
    create(slipway, "pictures", "images:**")
    return folder


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_job_finds_its_input_in_arguments_environment_and_json(slipway, pictures, mode):
    run = slipway.submit(
        "python3",
        "-c",
        TELL,
        "${inputs.pictures}",
        inputs={"pictures": {"dataset": "pictures", "mode": mode}},
    )
    slipway.completed(run)
    told = json.loads(slipway.log(run))
    path = told["argv"][0]
    assert told == {
        "argv": [path],
        "inputs": {"pictures": path},
        "variable": path,
        "azure": path,
        "files": ["big.bin", "train/a.txt", "train/deep/b.txt"],
    }
    recorded = slipway.run(run)
    assert recorded["job"]["inputs"]["pictures"]["dataset"] == "pictures:1"
    (placed,) = recorded["inputs"]
    assert (placed["name"], placed["version"], placed["mode"], placed["path"]) == ("pictures", 1, mode, path)
    notes = [event["reason"] for event in slipway.events(run) if event["kind"] == "data"]
    assert any("pictures:1 is" in note for note in notes), notes


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_dataset_of_one_file_is_that_file(slipway, pictures, mode):
    create(slipway, "one", "images:train/a.txt")
    run = slipway.submit("cat", "${inputs.one}", inputs={"one": {"dataset": "one", "mode": mode}})
    slipway.completed(run)
    assert slipway.log(run) == b"A"


def test_input_is_placed_where_the_job_wants_it(slipway, pictures):
    elsewhere = slipway.folder / "elsewhere"
    run = slipway.submit(
        f"cat data/train/a.txt {elsewhere}/train/deep/b.txt",
        inputs={
            "near": {"dataset": "pictures", "mode": "mount", "path": "data"},
            "far": {"dataset": "pictures", "mode": "download", "path": str(elsewhere)},
        },
    )
    slipway.completed(run)
    assert slipway.log(run) == b"ABB"


def test_mounted_data_cannot_be_written_and_nobody_else_sees_it(slipway, pictures):
    run = slipway.submit(
        "touch $pictures/new; rm $pictures/big.bin; echo $pictures; ls $pictures; sleep 1000",
        inputs={"pictures": {"dataset": "pictures", "mode": "mount"}},
    )
    slipway.wait_for(run, "Running")
    path = _first_line_with(slipway, run, "/inputs/pictures")
    with open("/proc/self/mountinfo") as mounts:
        assert path not in mounts.read()
    slipway.cli("run", "cancel", run)
    slipway.wait(run)
    assert slipway.log(run).count(b"Read-only file system") == 2


def test_direct_input_is_only_named(slipway, pictures):
    run = slipway.submit("echo", "${inputs.d}", inputs={"d": {"dataset": "pictures:1", "mode": "direct"}})
    slipway.completed(run)
    assert slipway.log(run) == b"pictures:1\n"


def test_where_mounting_is_not_possible_the_run_says_so_and_downloads(stopped):
    """In a view of the machine in which /dev/fuse is another device."""
    folder = stopped.folder / "images"
    folder.mkdir()
    (folder / "a.txt").write_text("A")
    program = stopped.folder / "slipway-without-fuse"
    program.write_text(
        '#!/bin/sh\nexec unshare -m sh -c \'mount --bind /dev/null /dev/fuse 2>/dev/null; exec "$0" "$@"\' '
        f'{stopped.binary} "$@"\n'
    )
    program.chmod(0o755)
    stopped.binary = program
    stopped.up()
    add_datastore(stopped, "images", folder)
    create(stopped, "pictures", "images:**")
    run = stopped.submit("cat $d", inputs={"d": {"dataset": "pictures", "mode": "mount"}})
    stopped.completed(run)
    assert stopped.log(run) == b"A"
    (placed,) = stopped.run(run)["inputs"]
    assert placed["mode"] == "download"
    assert "cannot be mounted here and is downloaded instead" in placed["note"]
    notes = [event["reason"] for event in stopped.events(run) if event["kind"] == "data"]
    assert any("downloaded instead" in note for note in notes), notes


def _first_line_with(slipway, run, text):
    return wait_until(
        lambda: next((line for line in slipway.log(run).decode().splitlines() if text in line), None), 15
    )


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_files_of_a_real_web_server_reach_the_job_in_ranges(slipway, tmp_path, mode):
    large = b"".join(b"%015d\n" % i for i in range(20 << 16))
    (tmp_path / "www").mkdir()
    with Nginx(tmp_path / "www") as nginx:
        nginx.put("large.bin", large)
        create(slipway, "web", f"{nginx.url}/moved/large.bin", nginx.put("small/a.txt", "A"))
        run = slipway.submit(
            "cat $(find $web -name large.bin) $(find $web -name a.txt) | sha256sum",
            inputs={"web": {"dataset": "web", "mode": mode}},
        )
        slipway.completed(run)
        asked = nginx.requests
    assert slipway.log(run).decode().split()[0] == hashlib.sha256(large + b"A").hexdigest()
    assert '"GET /large.bin HTTP/1.1" 206' in asked
    assert '"GET /moved/large.bin HTTP/1.1" 302' in asked, "redirects are followed anew for each range"
