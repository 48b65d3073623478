"""What a job can say to Slipway from inside, and what happens to odd values (faults 36 to 38)."""

import json

from support.jobs import IN_JOB, WITH_TOKEN
from support.processes import wait_until


def python(slipway, body, **job):
    return slipway.submit("python3", "-c", IN_JOB + body, **job)


def test_metrics_of_any_language_arrive_in_order(slipway):
    run = python(
        slipway, "for i in range(500): send({'metrics': {'loss': 1/(i+1), 'acc': i/500}, 'step': i})"
    )
    slipway.completed(run)
    metrics = slipway.metrics(run)
    assert metrics["loss"]["count"] == 500 and metrics["loss"]["last"]["step"] == 499
    assert metrics["acc"]["min"] == 0 and metrics["acc"]["max"] == 499 / 500
    points = slipway.points(run, "loss")
    assert [(point["step"], point["value"]) for point in points] == [(i, 1 / (i + 1)) for i in range(500)]
    positions = [point["position"] for point in points]
    assert positions == sorted(set(positions))


def test_shell_command_logs_metrics_and_tags(slipway):
    run = slipway.submit(
        f"{slipway.binary} log loss=0.12 acc=0.9 --step 7 && {slipway.binary} log --tag phase=warm"
    )
    slipway.completed(run)
    point = slipway.points(run, "loss")[0]
    assert (point["step"], point["value"]) == (7, 0.12)
    assert slipway.run(run)["tags"] == {"phase": "warm"}


def test_special_values_are_kept(slipway):
    values = ["NaN", "Infinity", "-Infinity", -0.0, 5e-324, 1.7976931348623157e308]
    run = python(slipway, f"for i, v in enumerate({values!r}): send({{'metrics': {{'v': v}}, 'step': i}})")
    slipway.completed(run)
    found = [point["value"] for point in slipway.points(run, "v")]
    assert [str(value) for value in found] == [str(value) for value in values]
    assert slipway.metrics(run)["v"]["count"] == len(values)


def test_number_beyond_a_double_and_broken_messages_hurt_nothing(slipway):
    body = """
send(b'{"metrics": {"big": 1e400}, "step": 1}')
for bad in (b'', b'{', b'[1]', b'{"metrics": 3}', b'{"metrics": {"x": "text"}}', b'\\xff\\xfe', b'9' * 60000):
    send(bad)
send(b'{"metrics": {"": 1}}')
send({'metrics': {'good': 1}, 'step': 2})
"""
    run = python(slipway, body)
    slipway.completed(run)
    metrics = slipway.metrics(run)
    assert metrics["good"]["count"] == 1
    assert set(metrics) <= {"good", "big"}
    if "big" in metrics:
        assert metrics["big"]["last"]["value"] == "Infinity"


def test_odd_names_are_kept_or_refused_and_never_become_paths(slipway):
    names = ["loss/träin", "a.b-c_d", "with blank", "../../etc/passwd", "😀", "x" * 250]
    run = python(
        slipway,
        f"for n in {names!r}: send({{'metrics': {{n: 1}}, 'step': 0}})\nsend({{'metrics': {{'n' * 10240: 1}}}})",
    )
    slipway.completed(run)
    found = set(slipway.metrics(run))
    assert {"loss/träin", "a.b-c_d"} <= found
    assert "n" * 10240 not in found
    for name in found:
        assert len(slipway.points(run, name)) == 1
    assert not list(slipway.home.glob("**/passwd"))


def test_a_file_can_be_kept_before_the_end(slipway):
    run = python(
        slipway,
        "import time\nopen('outputs/now.txt','w').write('now')\nsend({'file': 'outputs/now.txt'})\ntime.sleep(60)",
    )
    wait_until(
        lambda: "outputs/now.txt" in slipway.files(run), 15, "the file did not arrive while the job ran"
    )
    assert slipway.file(run, "outputs/now.txt") == b"now"


def test_logging_outlives_a_missing_server_and_loses_nothing(slipway):
    run = python(
        slipway,
        "import time\nfor i in range(300): send({'metrics': {'m': i}, 'step': i}); time.sleep(0.005)",
    )
    slipway.wait_for(run, "Running")
    slipway.kill_server()
    slipway.again()
    slipway.completed(run)
    assert [point["step"] for point in slipway.points(run, "m")] == list(range(300))


def test_a_job_can_use_its_token_for_its_own_run_alone(slipway):
    other = slipway.submit("true")
    slipway.completed(other)
    script = f"""
point = {{"name": "direct", "step": 1, "value": 2.5}}
print(json.dumps([
    call("PATCH", "/runs/" + me, {{"tags": {{"own": "yes"}}}}),
    call("POST", "/runs/" + me + "/metrics", {{"points": [point]}}),
    call("PATCH", "/runs/{other}", {{"tags": {{"x": "y"}}}}),
    call("DELETE", "/runs/{other}"),
    call("POST", "/runs", {{"command": ["true"]}}),
    call("GET", "/compute"),
]))
"""
    run = slipway.submit("python3", "-c", WITH_TOKEN + script)
    slipway.completed(run)
    own_tags, own_metrics, *foreign = json.loads(slipway.log(run))
    assert own_tags == 200 and own_metrics in {200, 201, 204}
    assert set(foreign) <= {401, 403, 404}
    assert slipway.run(run)["tags"] == {"own": "yes"}
    assert slipway.points(run, "direct")[0]["value"] == 2.5


def test_the_token_of_a_run_dies_with_it(slipway):
    run = slipway.submit("echo $SLIPWAY_TOKEN")
    slipway.completed(run)
    token = slipway.log(run).decode().strip()
    assert slipway.http("GET", f"/api/v1/workspaces/default/runs/{run}", token=token).status == 401
