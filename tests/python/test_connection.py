"""How the package finds its server and token, and what it says when it does not."""

import json
import socket

import pytest
import slipway as package
from slipway import errors
from support.certificates import certificate_for


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch, tmp_path):
    for name in ("SLIPWAY_URL", "SLIPWAY_TOKEN", "SLIPWAY_HOME", "SLIPWAY_WORKSPACE", "SLIPWAY_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_local_server_is_found_from_the_home(slipway, monkeypatch):
    monkeypatch.setenv("SLIPWAY_HOME", str(slipway.home))
    assert package.workspace().url == slipway.url
    assert [w["name"] for w in package.workspaces()] == ["default"]


def test_server_is_found_from_the_environment(slipway, monkeypatch):
    monkeypatch.setenv("SLIPWAY_URL", slipway.url + "/")
    monkeypatch.setenv("SLIPWAY_TOKEN", slipway.token)
    assert package.workspace().name == "default"


def test_server_is_found_from_a_config_file_above_the_folder(slipway, tmp_path, monkeypatch):
    ws = package.create_workspace("vision", home=str(slipway.home))
    assert package.create_workspace("vision", home=str(slipway.home), exist_ok=True).name == "vision"
    with pytest.raises(errors.ConflictError):
        package.create_workspace("vision", home=str(slipway.home))
    ws.write_config(str(tmp_path))
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    found = package.workspace(token=slipway.token)
    assert (found.name, found.url) == ("vision", slipway.url)
    config = json.loads((tmp_path / ".slipway" / "config.json").read_text())
    assert set(config) == {"url", "workspace"}
    (tmp_path / ".slipway" / "t").write_text(slipway.token + "\n")
    (tmp_path / ".slipway" / "config.json").write_text(json.dumps({**config, "token_file": "t"}))
    assert package.workspace().name == "vision"
    (tmp_path / ".slipway" / "config.json").write_text(json.dumps({**config, "token_file": "../t"}))
    with pytest.raises(errors.InvalidArgumentError, match="below that folder"):
        package.workspace()


def test_token_of_the_home_goes_to_no_other_server(slipway, tmp_path, monkeypatch):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    port = listener.getsockname()[1]
    (tmp_path / "config.json").write_text(json.dumps({"url": f"http://127.0.0.1:{port}"}))
    monkeypatch.setenv("SLIPWAY_HOME", str(slipway.home))
    monkeypatch.setenv("SLIPWAY_TOKEN", slipway.token)
    from slipway._connection import find_connection

    assert find_connection().token == ""
    assert slipway.token not in repr(find_connection(url=slipway.url))
    listener.close()


def test_nothing_that_answers_is_said_at_once(tmp_path):
    with pytest.raises(errors.UnreachableError, match="no Slipway server runs for"):
        package.workspace()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(errors.UnreachableError, match="no Slipway server answers at") as failure:
        package.workspace(url=f"http://127.0.0.1:{port}")
    assert "slipway up" in failure.value.next and isinstance(failure.value, ConnectionError)


@pytest.mark.parametrize("url", ["nonsense", "ftp://host", "http://", "http://host:port"])
def test_bad_address_is_refused(url):
    with pytest.raises(errors.InvalidArgumentError, match="not the address of a server"):
        package.workspace(url=url)


def test_wrong_token_missing_token_and_missing_workspace_say_what_to_do(slipway):
    with pytest.raises(errors.UnauthenticatedError, match="token"):
        package.workspace(url=slipway.url, token="slw_wrong")
    with pytest.raises(errors.UnauthenticatedError) as failure:
        package.workspace(url=slipway.url)
    assert "SLIPWAY_TOKEN" in failure.value.next
    with pytest.raises(errors.NotFoundError, match="no workspace 'nope'") as failure:
        package.workspace("nope", home=str(slipway.home))
    assert "slipway workspace create nope" in failure.value.next
    with pytest.raises(errors.InvalidArgumentError, match="not a name"):
        package.workspace("no/pe", home=str(slipway.home))


def test_reader_may_look_and_not_submit(slipway):
    made = slipway.cli_json("token", "create", "eve", "--role", "reader", "--workspace", "default")
    ws = package.workspace(url=slipway.url, token=made["token"])
    assert ws.runs() == []
    with pytest.raises(errors.PermissionDeniedError, match="role contributor"):
        ws.submit(command=["true"], source=None)


def test_another_program_behind_the_address_is_recognised(tmp_path):
    import http.server
    import threading

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if "default" in self.path else 500)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with pytest.raises(errors.InternalError, match="not one of a Slipway server"):
        package.workspace(url=url)
    with pytest.raises(errors.InternalError, match="the server answered 500"):
        package.workspace("other", url=url)
    server.shutdown()
    server.server_close()


def test_server_with_tls_is_trusted_by_its_certificate_and_not_without(stopped, tmp_path):
    certificate, key = certificate_for("127.0.0.1", tmp_path)
    stopped.up("--tls-cert", certificate, "--tls-key", key)
    url = stopped.about["public_url"]
    assert url.startswith("https://")
    with pytest.raises(errors.UnreachableError, match="cannot be trusted") as failure:
        package.workspace(url=url, token=stopped.token)
    assert "SLIPWAY_CA_FILE" in failure.value.next
    ws = package.workspace(url=url, token=stopped.token, ca_file=str(certificate))
    assert ws.submit(command="echo safe", source=None).wait(timeout=60).logs() == "safe\n"
