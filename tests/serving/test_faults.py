"""Bad input and faults on the real server: a client sees a status with a sentence, and the others notice nothing."""

import concurrent.futures
import json
import os
import resource
import shutil
import signal
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
from support import models, processes
from support.server import DEV

ROW = {"instances": [[0.5] * 784]}


def raw(service):
    parts = urlsplit(service.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def test_a_hundred_megabytes_of_json_are_refused_before_they_are_read(digits):
    with raw(digits) as connection:
        connection.sendall(
            b"POST /v1/models/digits:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n{"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
    assert digits.predict(ROW).status == 200


def test_a_large_body_within_the_limit_is_answered_while_others_are(digits):
    body = json.dumps({"instances": [[0.123456] * 784] * 2000}).encode()
    assert len(body) > 12 << 20
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        large = pool.submit(digits.post, "/v1/models/digits:predict", body, timeout=120)
        while not large.done():
            assert digits.predict(ROW).status == 200
        assert len(large.result().json()["predictions"]) == 2000


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"inputs":[', b"[{"])
def test_depth_bombs_are_refused(digits, opening):
    for path in ("/v1/models/digits:predict", "/v2/models/digits/infer", "/score", "/invocations"):
        answer = digits.post(path, b'{"instances":' + opening * 200_000)
        assert answer.status == 400, (path, answer)
    memory = processes.resident_bytes(digits.pid)
    assert memory < 400 << 20, memory


def test_slow_and_half_requests_hold_up_nobody(digits):
    connections = [raw(digits) for _ in range(50)]
    try:
        for index, connection in enumerate(connections):
            connection.sendall(b"POST /v1/models/digits:predict HTTP/1.1\r\nHost: localhost\r\n")
            if index % 2:
                connection.sendall(b"Content-Length: 5000\r\n\r\n{")
        for _ in range(20):
            assert digits.predict(ROW).status == 200
    finally:
        for connection in connections:
            connection.close()
    assert digits.predict(ROW).status == 200


def test_clients_that_do_not_read_hold_up_nobody(digits):
    body = json.dumps({"instances": [[0.5] * 784] * 500}).encode()
    request = (
        b"POST /v1/models/digits:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
        % len(body)
    )
    connections = []
    try:
        for _ in range(8):
            connection = raw(digits)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request + body)
            connections.append(connection)
        for _ in range(20):
            assert digits.predict(ROW).status == 200
    finally:
        for connection in connections:
            connection.close()


def test_ten_thousand_idle_connections_cost_little(digits):
    limit = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12_000), hard))
    before = processes.resident_bytes(digits.pid)
    connections = []
    try:
        for _ in range(limit):
            connections.append(raw(digits))
        assert digits.predict(ROW).status == 200
        grown = processes.resident_bytes(digits.pid) - before
        assert grown < limit * 8192, grown
    finally:
        for connection in connections:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_client_that_goes_away_is_no_matter(digits):
    body = json.dumps(ROW).encode()
    for _ in range(50):
        connection = raw(digits)
        connection.sendall(
            b"POST /v1/models/digits:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
            % len(body)
            + body
        )
        connection.close()
    assert digits.predict(ROW).status == 200


def test_requests_in_progress_end_before_the_server_does(sklearn_models, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(
        "import pathlib, time\n"
        "def run(data):\n"
        "    pathlib.Path('started').touch()\n"
        "    time.sleep(2)\n"
        "    return 'done'\n"
    )
    service = models.Service(script)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        slow = pool.submit(service.post, "/score", b"x")
        models.wait_for((tmp_path / "started").exists)
        assert service.stop(signal.SIGTERM) == 0
        answer = slow.result()
    assert answer.status == 200 and answer.json() == "done"
    with pytest.raises(ConnectionRefusedError):
        service.request("GET", "/")
    assert "serving.draining" in service.log()
    service.folder.cleanup()


def test_a_batch_is_computed_as_its_rows_are(digits):
    rows = [[(i * 31 + j) % 97 / 97 for j in range(784)] for i in range(24)]
    alone = [digits.predict({"instances": [row]}).json()["predictions"][0] for row in rows]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        together = list(
            pool.map(lambda row: digits.predict({"instances": [row]}).json()["predictions"][0], rows)
        )
    for one, other in zip(alone, together, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_full_queue_gives_429_and_a_late_request_504(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(
        "import pathlib, time\n"
        "def run(data):\n"
        "    while not pathlib.Path('go').exists():\n"
        "        time.sleep(0.02)\n"
        "    return 1\n"
    )
    with models.Service(script, "--queue", 2, "--timeout", "3s") as service:
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda _: service.post("/score", b"x"), range(12)))
        statuses = [answer.status for answer in answers]
        assert set(statuses) == {429, 504}, statuses
        refused = next(answer for answer in answers if answer.status == 429)
        assert refused.headers["retry-after"] == "1" and "queue" in refused.json()["message"]
        (tmp_path / "go").touch()
        models.wait_for(lambda: service.post("/score", b"x").status == 200)


# -- models ------------------------------------------------------------------------------------------------------


def test_damaged_missing_and_foreign_models_are_refused_with_a_sentence(onnx_models, tmp_path):
    whole = (onnx_models / "digits.onnx").read_bytes()
    cases = {
        "cut.onnx": whole[: len(whole) // 2],
        "empty.onnx": b"",
        "noise.onnx": os.urandom(4096),
        "text.onnx": b"this is no model",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(models.NotServed) as refused:
            models.Service(tmp_path / name)
        assert refused.value.code in {2, 9}, refused.value
        assert name in refused.value.error["message"], refused.value
    for name, says in {"net.pt": "torch.onnx.export", "notes.txt": ".onnx"}.items():
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(models.NotServed) as refused:
            models.Service(tmp_path / name)
        assert refused.value.code == 9 and says in refused.value.error["next"], refused.value
    with pytest.raises(models.NotServed) as refused:
        models.Service(tmp_path / "absent.onnx")
    assert refused.value.code == 5
    with pytest.raises(models.NotServed) as refused:
        models.Service(tmp_path)
    assert "models, among them" in refused.value.error["message"]
    (tmp_path / "nothing").mkdir()
    with pytest.raises(models.NotServed) as refused:
        models.Service(tmp_path / "nothing")
    assert "no model" in refused.value.error["message"]


def test_tensors_beside_the_model_are_read_and_those_outside_are_not(onnx_models, tmp_path):
    with models.Service(onnx_models / "external") as service:
        assert service.predict({"instances": [[1] * 2000]}).json()["predictions"][0][0] == 3.0
    with pytest.raises(models.NotServed) as refused:
        models.Service(onnx_models / "escaping")
    assert "outside of its folder" in refused.value.error["message"], refused.value
    linked = tmp_path / "linked"
    shutil.copytree(onnx_models / "external", linked)
    (linked / "weights.bin").rename(tmp_path / "weights.bin")
    (linked / "weights.bin").symlink_to(tmp_path / "weights.bin")
    with pytest.raises(models.NotServed) as refused:
        models.Service(linked)
    assert "is a link" in refused.value.error["message"], refused.value


def test_damaged_saved_models_are_refused(tensorflow_models, tmp_path):
    for name, change in {
        "cut": lambda text: text[: len(text) // 2],
        "empty": lambda _: b"",
        "noise": lambda _: os.urandom(4096),
    }.items():
        folder = tmp_path / name
        shutil.copytree(tensorflow_models / "several", folder)
        (folder / "saved_model.pb").write_bytes(change((folder / "saved_model.pb").read_bytes()))
        with pytest.raises(models.NotServed) as refused:
            models.Service(folder)
        assert refused.value.code == 2 and refused.value.error["message"], refused.value


def test_a_framework_that_is_not_there_is_named(onnx_models):
    with pytest.raises(models.NotServed) as refused:
        models.Service(onnx_models / "digits.onnx", python="/usr/bin/python3")
    assert refused.value.code == 10 and "pip install onnxruntime" in refused.value.error["next"]
    with pytest.raises(models.NotServed) as refused:
        models.Service(onnx_models / "digits.onnx", "--runtime-folder", onnx_models)
    assert refused.value.code == 10


def test_the_program_with_sanitizers_takes_all_of_this(onnx_models):
    """Every protocol, good and bad, under AddressSanitizer."""
    with models.Service(onnx_models / "digits.onnx", binary=DEV) as service:
        good = json.dumps(ROW).encode()

        def ask(_):
            for path in ("/v1/models/digits:predict", "/score", "/invocations"):
                assert service.post(path, good).status == 200
            for cut in range(1, len(good), 397):
                assert service.post("/v1/models/digits:predict", good[:cut]).status == 400
            assert service.post("/v2/models/digits/infer", good).status == 400

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(4)))


def test_threads_are_few(digits):
    stop = threading.Event()

    def load():
        while not stop.is_set():
            digits.predict(ROW)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(load)
        time.sleep(0.5)
        threads = len(os.listdir(f"/proc/{digits.pid}/task"))
        stop.set()
    assert threads < 16, threads
