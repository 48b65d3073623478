"""What is kept from ./outputs, and what is not (fault 43)."""

import hashlib
import random

from support.server import W


def test_links_pipes_and_devices_are_skipped_and_listed(slipway, tmp_path):
    (tmp_path / "secret").write_text("of the host")
    script = (
        f"mkdir -p outputs/d; echo real > outputs/real; ln -s {tmp_path}/secret outputs/link; ln -s / outputs/root;"
        "mkfifo outputs/pipe; ln -s ../d outputs/d/loop; "
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('outputs/sock')\""
    )
    run = slipway.submit(script)
    slipway.completed(run)
    assert set(slipway.files(run)) == {"outputs/real"}
    skipped = str(slipway.run(run)["skipped"])
    for name in ("outputs/link", "outputs/root", "outputs/pipe", "outputs/sock"):
        assert name in skipped


def test_a_folder_that_is_a_link_is_not_followed(slipway, tmp_path):
    (tmp_path / "secret").write_text("of the host")
    run = slipway.submit(f"rm -rf outputs; ln -s {tmp_path} outputs")
    slipway.wait(run)
    assert "secret" not in str(slipway.files(run))


def test_odd_names_are_kept(slipway):
    code = """
import os
os.makedirs("outputs/ä ö", exist_ok=True)
for name in ("ä ö/ü.txt", "with blank", "100%", "a+b&c=d", "-rf", "'quote'", "x" * 200, "new\\nline"):
    open("outputs/" + name, "w").write(name)
"""
    run = slipway.submit("python3", "-c", code)
    slipway.completed(run)
    files = slipway.files(run)
    for name in ("ä ö/ü.txt", "with blank", "100%", "a+b&c=d", "-rf", "'quote'", "x" * 200):
        assert f"outputs/{name}" in files
        assert slipway.file(run, f"outputs/{name}").decode() == name


def test_names_that_are_no_utf8_do_not_stop_the_others(slipway):
    run = slipway.submit(
        "python3",
        "-c",
        "import os\nos.makedirs('outputs',exist_ok=True)\nopen(b'outputs/\\xff','w')\nopen('outputs/ok','w')",
    )
    slipway.completed(run)
    assert "outputs/ok" in slipway.files(run)


def test_download_is_an_attachment_nobody_sniffs_and_ranges_work(slipway):
    run = slipway.submit("mkdir -p outputs; printf '<script>alert(1)</script>' > outputs/page.html")
    slipway.completed(run)
    answer = slipway.http("GET", f"{W}/runs/{run}/files/content", query={"path": "outputs/page.html"})
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("attachment")
    part = slipway.http(
        "GET",
        f"{W}/runs/{run}/files/content",
        query={"path": "outputs/page.html"},
        headers={"Range": "bytes=1-6"},
    )
    assert (part.status, part.body) == (206, b"script")


def test_large_file_is_kept_whole(slipway):
    run = slipway.submit(
        "python3",
        "-c",
        "import random\nopen('outputs/b', 'wb').write(random.Random(1).randbytes(64 << 20))",
    )
    slipway.completed(run)
    expected = hashlib.sha256(random.Random(1).randbytes(64 << 20)).hexdigest()
    assert slipway.files(run)["outputs/b"]["digest"] == expected


def test_thousands_of_small_files_are_kept(slipway):
    run = slipway.submit("mkdir -p outputs; cd outputs; for i in $(seq 1 2000); do echo $i > $i; done")
    slipway.completed(run)
    assert len(slipway.files(run)) == 2000


def test_prefix_selects_a_folder(slipway):
    run = slipway.submit("mkdir -p outputs/a outputs/b; touch outputs/a/1 outputs/a/2 outputs/b/3")
    slipway.completed(run)
    found = slipway.items(f"{W}/runs/{run}/files", prefix="outputs/a/")
    assert {item["path"] for item in found} == {"outputs/a/1", "outputs/a/2"}
