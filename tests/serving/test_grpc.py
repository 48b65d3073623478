"""gRPC on the same port as everything else, asked by the real clients of TensorFlow Serving and of Triton."""

import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support import models
from support.certificates import certificate_for
from support.server import DEV, RELEASE

CLIENTS = Path(__file__).with_name("clients")


def ask(client, service, *more):
    """Runs a client of tests/serving/clients, in the frameworks' own environment."""
    address = service.url.partition("://")[2]
    done = subprocess.run(
        [models.PYTHON, CLIENTS / client, address, *map(str, more)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_tritons_client(double):
    ask("triton_grpc.py", double)
    assert double.metric("nv_inference_request_failure") > 0


def test_tensorflow_servings_client(tensorflow_models):
    with models.Service(tensorflow_models / "several") as service:
        ask("serving_grpc.py", service)


@pytest.mark.parametrize("binary", [RELEASE, DEV], ids=["release", "dev"])
def test_messages_may_be_compressed(onnx_models, binary):
    with models.Service(onnx_models / "double.onnx", "--max-body", "1M", binary=binary) as service:
        ask("grpc_compressed.py", service)


def test_keys_and_limits_hold_for_calls_too(onnx_models, tmp_path):
    (tmp_path / "keys").write_text("the-key\n")
    with models.Service(
        onnx_models / "double.onnx", "--key-file", tmp_path / "keys", "--max-body", "1M"
    ) as service:
        ask("grpc_keys.py", service)


def test_calls_over_tls(onnx_models, tmp_path):
    certificate, key = certificate_for("127.0.0.1", tmp_path)
    (tmp_path / "keys").write_text("the-key\n")
    options = [
        "--key-file",
        tmp_path / "keys",
        "--tls-cert",
        certificate,
        "--tls-key",
        key,
        "--max-body",
        "1M",
    ]
    with models.Service(onnx_models / "double.onnx", *options) as service:
        ask("grpc_keys.py", service, certificate)


def test_calls_that_are_given_up_disturb_nobody(sklearn_models):
    with models.Service(sklearn_models / "regressor.pkl") as service:
        ask("grpc_given_up.py", service)


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


@pytest.mark.parametrize(
    "content",
    [
        PREFACE[:10],
        PREFACE + b"\x00" * 5,
        PREFACE + frame(4, 0, 0, b"") + b"\xff" * 64,
        PREFACE + frame(4, 0, 0, b"") + frame(0, 1, 1, b"data for no stream"),
        PREFACE + frame(4, 0, 0, b"") + frame(1, 5, 1, b"\xff\xff\xff\xff\xff"),
        PREFACE + frame(4, 0, 0, b"") + frame(1, 1, 1, b"\x82") + frame(9, 0, 1, b"\x82" * 16000) * 40,
    ],
    ids=["half a preface", "half a frame", "noise", "data first", "bad headers", "endless headers"],
)
def test_what_is_no_http2_ends_its_connection_alone(double, content):
    parts = urlsplit(double.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
    assert double.request("GET", "/v2/health/ready").status == 200


def test_everything_else_is_there_over_http2_too(double):
    def curl(*args):
        return subprocess.run(
            ["curl", "-s", "--http2-prior-knowledge", "-w", " %{http_version} %{http_code}", *args],
            capture_output=True,
            text=True,
            timeout=30,
        ).stdout

    row = '{"instances": [{"a": [1, 2], "b": [3]}]}'
    answer = curl("-d", row, f"{double.url}/v1/models/double:predict")
    assert answer == '{"predictions":[{"a2":[2.0,4.0],"b2":[6]}]} 2 200'
    assert "nv_inference_count" in curl(f"{double.url}/metrics")
    assert curl(f"{double.url}/nothing").endswith(" 2 404")


def test_calls_under_address_sanitizer(onnx_models):
    with models.Service(onnx_models / "double.onnx", binary=DEV) as service:
        ask("triton_grpc.py", service)
