"""Runs as jobs of a real Slurm: submitted, described, watched, ended, and nothing left of them."""

import json
import sqlite3

from support.hpc import Hpc
from support.processes import marked_with, wait_until
from support.server import W


def test_run_is_one_named_job_and_nothing_of_it_is_left(hpc):
    run = hpc.submit("echo from $SLIPWAY_NODE_RANK; mkdir -p outputs; echo kept > outputs/o")
    ended = hpc.slipway.completed(run)
    assert hpc.slipway.log(run) == b"from 0\n"
    assert hpc.slipway.file(run, "outputs/o") == b"kept\n"
    job = hpc.job(run)
    assert job["name"] == f"{run}.1" and f"run={run} attempt=1 " in job["comment"], job
    assert job["partition"] == "high" and job["requeue"] is False
    assert len(hpc.slurm.jobs_of(run)) == 1
    assert ended["nodes"][0].startswith("hpc-")
    wait_until(lambda: hpc.job(run)["job_state"] == "COMPLETED", 15, "the job did not end by itself")
    hpc.all_given_back()
    wait_until(lambda: not marked_with(hpc.scratch), 10, "something lives on")
    assert not list((hpc.scratch / "nodes").iterdir())


def test_job_asks_for_what_the_run_asks_for(hpc):
    run = hpc.submit(
        "echo $CUDA_VISIBLE_DEVICES; env | grep -c SLURM",
        resources={"cpus": 2, "memory_bytes": 300 << 20, "gpus": 1},
        timeout_seconds=600,
    )
    job = hpc.job(run)
    assert "gpu:1" in job["tres_per_node"] and job["memory_per_node"] == 300, job
    assert job["time_limit"] == 25 and job["cpus"] == 2 and job["node_count"] == 1, job
    assert (
        hpc.slipway.wait(run)["state"] == "Failed"
    )  # grep found nothing: Slurm's variables are not the job's
    assert hpc.slipway.log(run).decode().split() == ["0", "0"]


def test_run_without_resources_has_whole_nodes(hpc):
    run = hpc.submit("true", resources={})
    assert hpc.job(run)["shared"] == "none"
    hpc.slipway.completed(run)


def test_nodes_of_one_run_start_together_and_know_each_other(hpc):
    script = "echo $SLIPWAY_NODE_RANK/$SLIPWAY_NODE_COUNT $SLIPWAY_NODES"
    run = hpc.submit(script, nodes=2, resources={})
    assert len(set(hpc.slipway.completed(run)["nodes"])) == 2
    for rank in (0, 1):
        line = hpc.slipway.log(run, rank=rank).decode()
        assert line.startswith(f"{rank}/2 ") and line.count(",") == 1
    assert hpc.job(run)["node_count"] == 2 and len(hpc.slurm.jobs_of(run)) == 1


def test_script_that_fails_is_a_failed_run_with_its_code(hpc):
    run = hpc.submit("echo no; exit 3")
    ended = hpc.slipway.wait(run)
    assert (ended["state"], ended["exit_code"], ended["attempt"]) == ("Failed", 3, 1)
    wait_until(lambda: hpc.job(run)["job_state"] == "COMPLETED", 15)


def test_canceled_run_ends_its_job(hpc):
    run = hpc.submit("trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.1; done")
    hpc.slipway.wait_for(run, "Running")
    wait_until(lambda: hpc.slipway.log(run), 10)
    hpc.slipway.api("POST", f"{W}/runs/{run}/cancel")
    assert hpc.slipway.wait(run)["state"] == "Canceled"
    said = hpc.slipway.log(run).decode().splitlines()
    assert said[0] == "up" and "told" in said, said  # the shell may say of its sleep that it was terminated
    wait_until(lambda: hpc.job(run)["job_state"] == "COMPLETED", 15)


def test_waiting_run_says_what_slurm_says_and_can_be_canceled(hpc):
    blockers = [hpc.slurm.sbatch("sleep 60", "/dev/null", "--exclusive", "--nodes=3")]
    run = hpc.submit("true", resources={})
    hpc.waits_because(run, "nodes to become free (Resources)")
    assert hpc.slipway.run(run)["state"] == "Queued"
    assert f"Slurm job {hpc.job(run)['job_id']}" in hpc.why(run)
    hpc.slipway.api("POST", f"{W}/runs/{run}/cancel")
    assert hpc.slipway.wait(run)["state"] == "Canceled"
    wait_until(lambda: hpc.job(run)["job_state"] == "CANCELLED", 10)
    hpc.slurm.run("scancel", *blockers)


def test_no_more_nodes_are_asked_for_than_the_limit(hpc):
    hpc.slipway.cli("compute", "update", "hpc", "--max", "1")
    first = hpc.submit("sleep 30")
    hpc.slipway.wait_for(first, "Running")
    second = hpc.submit("true")
    hpc.waits_because(second, "1 of 1 nodes in use")
    assert hpc.slurm.jobs_of(second) == []
    hpc.slipway.api("POST", f"{W}/runs/{first}/cancel")
    hpc.slipway.completed(second)


def test_what_no_node_has_is_refused_at_once_or_by_slurm(hpc):
    wait_until(lambda: hpc.slipway.api("GET", f"{W}/compute/hpc")["engine_status"]["nodes"], 10)
    body = {"command": ["/bin/true"], "compute": "hpc", "resources": {"cpus": 64}}
    answer = hpc.slipway.http("POST", f"{W}/runs", body)
    assert answer.status == 400 and "64" in answer.error["message"] and "largest" in answer.error["next"]
    # Fits each node by itself; Slurm knows better about both together.
    run = hpc.submit("true", resources={"cpus": 1, "memory_bytes": 3999 << 20, "gpus": 2}, nodes=3)
    hpc.slipway.completed(run)


def test_nodes_that_sleep_are_started_by_slurm(hpc):
    hpc.attach("--partition", "cloud", name="cloud")
    run = hpc.submit("echo awake", compute="cloud")
    hpc.waits_because(run, "Slurm is starting the nodes of job")
    assert hpc.slipway.run(run)["phase"] == "scaling"
    hpc.slipway.completed(run)
    assert hpc.slipway.log(run) == b"awake\n"


def test_slurmrestd_over_tcp_with_a_token_that_nobody_sees(slipway, slurm):
    hpc = Hpc(slipway, slurm)
    token = slurm.token()
    (slipway.folder / "jwt").write_text(f"SLURM_JWT={token}\n")
    hpc.attach("--token-file", slipway.folder / "jwt", "--user", "root", endpoint=slurm.tcp_endpoint)
    run = hpc.submit("echo over tcp")
    slipway.completed(run)
    shown = json.dumps(slipway.api("GET", f"{W}/compute/hpc")) + slipway.cli("compute", "show", "hpc").stdout
    assert "with a token" in shown and token not in shown
    secret = token.split(".")[2]
    assert secret not in slipway.server_log()
    with sqlite3.connect(f"file:{slipway.home / 'slipway.db'}?mode=ro", uri=True) as store:
        assert secret not in "\n".join(store.iterdump())
    # A bad one is told as what it is, and a good one mends it.
    (slipway.folder / "jwt").write_text("abc.def.ghi\n")
    slipway.cli("compute", "update", "hpc", "--token-file", slipway.folder / "jwt")
    wait_until(lambda: slipway.api("GET", f"{W}/compute/hpc")["engine_status"]["problem"], 15)
    assert "warning  cluster hpc" in slipway.cli("doctor", check=False).stdout
    (slipway.folder / "jwt").write_text(token)
    slipway.cli("compute", "update", "hpc", "--token-file", slipway.folder / "jwt")
    slipway.completed(hpc.submit("true"))


def test_sbatch_and_squeue_where_slurmrestd_is_missing(stopped, slurm):
    stopped.env["SLURM_CONF"] = str(slurm.base / "slurm.conf")
    stopped.up()
    hpc = Hpc(stopped, slurm)
    hpc.attach("--partition", "high", endpoint="commands")
    run = hpc.submit("echo by sbatch", resources={"cpus": 1, "memory_bytes": 100 << 20, "gpus": 1})
    stopped.completed(run)
    assert hpc.job(run)["requeue"] is False and "gpu:1" in hpc.job(run)["tres_per_node"]
    canceled = hpc.submit("sleep 60")
    stopped.wait_for(canceled, "Running")
    slurm.run("scancel", str(hpc.job(canceled)["job_id"]))
    assert stopped.wait(canceled)["state"] == "Canceled"
    assert "Slurm 22.05" in stopped.cli("compute", "show", "hpc").stdout
    assert "ok       cluster hpc" in stopped.cli("doctor", check=False).stdout
    hpc.all_given_back()


def test_shared_folder_holds_the_program_and_what_nodes_keep(hpc):
    shared = hpc.slipway.folder / "shared"
    hpc.attach("--shared", shared, "--partition", "high", name="together")
    folder = hpc.slipway.folder / "source"
    folder.mkdir()
    (folder / "hello.sh").write_text("echo from the source\n")
    submitted = hpc.slipway.cli_json(
        "submit", "--source", folder, "--compute", "together", "--cpus", "1", "--", "sh", "hello.sh"
    )
    hpc.slipway.completed(submitted["id"])
    assert hpc.slipway.log(submitted["id"]) == b"from the source\n"
    programs = list((shared / "programs").iterdir())
    assert len(programs) == 1 and programs[0].stat().st_mode & 0o111
    assert any((shared / "cache").glob("??/*")) and not (hpc.scratch / "cache").exists()


def test_settings_that_cannot_be_are_refused(slipway):
    def attach(**fields):
        body = {"name": "x", "engine": "slurm", "max_nodes": 4, **fields}
        return slipway.http("POST", f"{W}/compute", body)

    for settings in [
        {"endpoint": "ftp://head"},
        {"endpoint": "unix:relative"},
        {"endpoint": "unix:/" + "x" * 200},
        {"endpoint": "commands", "partition": "a b"},
        {"endpoint": "commands", "partition": "--help"},
        {"endpoint": "commands", "account": "a;rm -rf /"},
        {"endpoint": "commands", "shared": "not/absolute"},
        {"endpoint": "commands", "scratch": "/a\nb"},
        {"endpoint": "commands", "server_url": "unix:/run/slipway"},
        {"endpoint": "commands", "unknown": 1},
    ]:
        assert attach(slurm=settings).status == 400, settings
    assert attach(token="a b").status == 400
    assert slipway.http("POST", f"{W}/compute", {"name": "y", "engine": "kubernetes"}).status == 400
    assert (
        slipway.http("POST", f"{W}/compute", {"name": "y", "slurm": {"endpoint": "commands"}}).status == 400
    )
    assert slipway.http("PATCH", f"{W}/compute/local", {"engine": "slurm"}).status == 400
