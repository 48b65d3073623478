"""Metrics other than numbers, in the order of logging, without a gap or a duplicate (I5, faults 36 and 37)."""

import json

import pytest
from support.jobs import IN_JOB
from support.processes import wait_until
from support.server import W


def begin(slipway):
    return slipway.api("POST", f"{W}/interactive-runs", {})["id"]


def log(slipway, run, *points, **more):
    return slipway.api("POST", f"{W}/runs/{run}/metrics", {"points": list(points), **more})


def values(slipway, run, name=None):
    return slipway.items(f"{W}/runs/{run}/metrics/values", **({"name": name} if name else {}))


def entry(name, value, kind=None, **more):
    return {"name": name, "value": value, **({"kind": kind} if kind else {}), **more}


def merged(slipway, run, name):
    """Everything that was logged under a name, in order, as a client puts it together."""
    numbers = [point["value"] for point in slipway.points(run, name)]
    found, taken = [], 0
    for item in values(slipway, run, name):
        found += [*numbers[taken : item["points_before"]], item["value"]]
        taken = item["points_before"]
    return found + numbers[taken:]


DOCUMENTS = [
    entry("note", "NaN", "string", step=3, time=1763199000000000),
    entry(
        "epoch", {"loss": 0.125, "n": 12345678901234567, "who": "a", "ok": True, "none": None}, "row", step=1
    ),
    entry("epoch", {"loss": {"number": "NaN"}, "who": "NaN"}, "row"),
    entry("curve", {"x": [1, 2], "y": [{"number": "-Infinity"}, "b"]}, "table"),
    entry("samples", {"path": "outputs/samples.png"}, "image", step=7),
    entry(
        "matrix",
        {"schema_type": "confusion_matrix", "data": {"class_labels": ["a"], "matrix": [[1]]}},
        "confusion_matrix",
    ),
    entry("accuracy", {"schema_type": "accuracy_table", "data": {}}, "accuracy_table"),
    entry("residuals", {"schema_type": "residuals", "data": {}}, "residuals"),
    entry("predictions", {"schema_type": "predictions", "data": {}}, "predictions"),
]


def check_documents(slipway, run):
    found = values(slipway, run)
    assert [(item["name"], item["kind"], item["value"]) for item in found] == [
        (item["name"], item["kind"], item["value"]) for item in DOCUMENTS
    ]
    assert [item["step"] for item in found] == [item.get("step", 0) for item in DOCUMENTS]
    assert found[0]["time"].startswith("2025-11-15T")
    names = slipway.metrics(run)
    assert names["epoch"] == {
        "name": "epoch",
        "count": 0,
        "values": 2,
        "kind": "row",
        "last": None,
        "min": None,
        "max": None,
    }
    assert set(names) == {item["name"] for item in DOCUMENTS}


def test_every_kind_comes_back_as_it_was_logged(slipway):
    run = begin(slipway)
    assert log(slipway, run, *DOCUMENTS) == {"stored": True}
    check_documents(slipway, run)


def test_a_job_logs_every_kind_through_its_socket(slipway):
    run = slipway.submit(
        "python3",
        "-c",
        IN_JOB
        + f"import json\nfor item in json.loads({json.dumps(DOCUMENTS)!r}): send({{'values': [item]}})",
    )
    slipway.completed(run)
    check_documents(slipway, run)


def test_numbers_and_other_values_keep_their_order(slipway):
    wanted = [1, "a", 2, 3, "b", "c", 4]
    points = [entry("x", item, None if isinstance(item, int) else "string") for item in wanted]
    run = begin(slipway)
    log(slipway, run, *points[:3])
    log(slipway, run, entry("other", 9), *points[3:])
    assert merged(slipway, run, "x") == wanted
    inside = slipway.submit(
        "python3",
        "-c",
        IN_JOB
        + f"points = {points!r}\nsend({{'metrics': {{'x': 1}}}})\nsend({{'values': points[1:5]}})\n"
        + "send({'values': points[5:6]})\nsend({'metrics': {'x': 4}})",
    )
    slipway.completed(inside)
    assert merged(slipway, inside, "x") == wanted


def test_values_come_in_pages_and_points_of_all_names_at_once(slipway):
    run = begin(slipway)
    log(slipway, run, *[entry("t", str(i), "string") for i in range(250)])
    log(slipway, run, *[entry(f"n{i % 7}", i) for i in range(100)])
    first = slipway.api("GET", f"{W}/runs/{run}/metrics/values", query={"limit": 100})
    assert len(first["items"]) == 100 and first["next_cursor"]
    assert [item["value"] for item in values(slipway, run)] == [str(i) for i in range(250)]
    everything = slipway.items(f"{W}/runs/{run}/metrics/points", limit=30)
    assert [point["value"] for point in everything] == list(range(100))


def test_a_repeated_batch_is_stored_once(slipway):
    run = begin(slipway)
    batch = [entry("a", 1), entry("a", "x", "string")]
    assert log(slipway, run, *batch, source="nb", sequence=1) == {"stored": True}
    assert log(slipway, run, *batch, source="nb", sequence=1) == {"stored": False}
    slipway.kill_server()
    slipway.again()
    assert log(slipway, run, *batch, source="nb", sequence=1) == {"stored": False}
    assert log(slipway, run, *batch, source="other", sequence=1) == {"stored": True}
    assert log(slipway, run, *batch, source="nb", sequence=2) == {"stored": True}
    body = {"points": batch, "source": "nb", "sequence": 4}
    gap = slipway.http("POST", f"{W}/runs/{run}/metrics", body)
    assert gap.status == 409 and "up to 2" in gap.error["message"]
    assert merged(slipway, run, "a") == [1, "x"] * 3


@pytest.mark.parametrize(
    "body",
    [
        {"points": [entry("a", "text")]},
        {"points": [entry("a", [1])]},
        {"points": [entry("a", 1, "what")]},
        {"points": [entry("a", {"x": [1]}, "row")]},
        {"points": [entry("a", {"x": 1}, "table")]},
        {"points": [entry("a", {"path": "../../etc/passwd"}, "image")]},
        {"points": [entry("", "t", "string")]},
        {"points": [entry("good", 1), entry("a\nb", "t", "string")]},
        {"points": [entry("a", 1)], "source": "x"},
        {"points": [entry("a", 1)], "sequence": 1},
        {"points": [entry("a", 1)], "source": "../x", "sequence": 1},
        {"points": [entry("a", 1)], "source": "x", "sequence": -1},
        {"points": 3},
        {},
    ],
)
def test_a_batch_with_a_mistake_is_refused_as_a_whole(slipway, body):
    run = begin(slipway)
    answer = slipway.http("POST", f"{W}/runs/{run}/metrics", body)
    assert answer.status == 400 and answer.error["message"]
    assert slipway.metrics(run) == {}


def test_too_much_at_once_is_refused(slipway):
    run = begin(slipway)
    many = slipway.http("POST", f"{W}/runs/{run}/metrics", {"points": [entry("a", 1)] * 10001})
    assert many.status == 413
    large = slipway.http(
        "POST", f"{W}/runs/{run}/metrics", {"points": [entry("a", "x" * (3 << 20), "string")]}
    )
    assert large.status == 413
    assert slipway.metrics(run) == {}


def test_what_is_too_large_for_a_message_goes_by_a_file(slipway):
    run = slipway.submit(
        "python3",
        "-c",
        IN_JOB
        + """
big = [{"name": "curve", "kind": "table", "value": {"x": list(range(100000))}},
       {"name": "note", "kind": "string", "value": "\\u00e4" * 500000}, {"name": "n", "value": 7}]
json.dump(big, open("values-1.json", "w"))
send({"values_file": "values-1.json"})
for bad in ("missing.json", "../spec.json", "/etc/passwd", "outputs"): send({"values_file": bad})
while os.path.exists("values-1.json"): time.sleep(0.01)
""",
    )
    ended = slipway.completed(run)
    curve, note = values(slipway, run)
    assert curve["value"]["x"] == list(range(100000)) and note["value"] == "ä" * 500000
    assert slipway.points(run, "n")[0]["value"] == 7
    assert any("refused" in warning for warning in ended["warnings"])
    assert "values-1.json" not in slipway.files(run)


def test_an_image_of_a_job_is_kept_and_logged(slipway):
    run = slipway.submit(
        "python3",
        "-c",
        IN_JOB
        + "open('outputs/p.png','wb').write(b'png')\n"
        + "send({'image': {'name': 'samples', 'path': 'outputs/p.png', 'step': 3}})",
    )
    slipway.completed(run)
    (image,) = values(slipway, run)
    assert (image["name"], image["kind"], image["value"], image["step"]) == (
        "samples",
        "image",
        {"path": "outputs/p.png"},
        3,
    )
    assert slipway.file(run, "outputs/p.png") == b"png"


def test_values_outlive_a_missing_server_and_none_is_lost_or_doubled(slipway):
    run = slipway.submit(
        "python3",
        "-c",
        IN_JOB
        + """
for i in range(300):
    send({"values": [{"name": "t", "kind": "string", "value": str(i)}, {"name": "t", "value": i}]})
    time.sleep(0.005)
""",
    )
    slipway.wait_for(run, "Running")
    wait_until(lambda: values(slipway, run), 15, "no value arrived")
    slipway.kill_server()
    slipway.again()
    slipway.completed(run)
    assert merged(slipway, run, "t") == [item for i in range(300) for item in (str(i), i)]


def test_the_shell_logs_texts_rows_and_properties_and_shows_them(slipway):
    run = slipway.submit(
        f"{slipway.binary} log --string note=warm --row epoch=loss:0.5,phase:train,bad:nan "
        f"--property data=mnist:2 --step 4 && {slipway.binary} log --property data=mnist:3"
    )
    ended = slipway.completed(run)
    row, note = sorted(values(slipway, run), key=lambda item: item["name"])
    assert row["value"] == {"loss": 0.5, "phase": "train", "bad": {"number": "NaN"}} and row["step"] == 4
    assert note["value"] == "warm"
    assert ended["properties"] == {"data": "mnist:2"}
    assert any("'data'" in warning and "cannot be changed" in warning for warning in ended["warnings"])
    wrong = slipway.submit(f"{slipway.binary} log --row epoch=loss")
    assert slipway.wait(wrong)["exit_code"] != 0
    assert b"is not a row" in slipway.log(wrong)
