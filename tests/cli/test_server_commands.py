"""Starting and stopping a server from the command line."""

import json


def test_up_says_where_it_is_and_down_stops_it(stopped):
    said = stopped.up().stdout
    assert stopped.url in said and str(stopped.home / "token") in said
    assert (stopped.home / "token").stat().st_mode & 0o777 == 0o600
    stopped.down()
    assert not (stopped.home / "server.json").exists()
    again = stopped.cli("down")
    assert "no server is running" in again.stderr


def test_up_speaks_json(stopped):
    said = json.loads(stopped.up("--json").stdout)
    assert said["url"] == stopped.url and said["auth"] == "token"


def test_second_server_is_refused_with_pid_and_address(slipway):
    result = slipway.up(check=False)
    assert result.returncode == 6
    assert str(slipway.server_pid) in result.stderr and slipway.url in result.stderr


def test_other_machines_need_tls(stopped):
    result = stopped.cli("up", "--listen", "0.0.0.0:0", check=False)
    assert result.returncode == 2 and "--tls-cert" in result.stderr
    result = stopped.cli("up", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", check=False)
    assert result.returncode == 2 and "--tls-key" in result.stderr
    assert not (stopped.home / "slipway.db").exists()


def test_a_port_that_is_taken_is_said_with_the_log(slipway, tmp_path):
    port = slipway.url.rpartition(":")[2]
    result = slipway.cli("up", "--home", tmp_path / "other", "--listen", port, "--detach", check=False)
    assert result.returncode != 0
    assert "did not start" in result.stderr and port in result.stderr


def test_down_leaves_or_cancels_what_runs(slipway):
    run = slipway.submit("sleep 60")
    slipway.wait_for(run, "Running")
    refused = slipway.cli("down", check=False)
    assert refused.returncode == 6
    assert "--cancel" in refused.stderr and "--leave" in refused.stderr
    slipway.down("--leave")
    slipway.again()
    assert slipway.wait_for(run, "Running")["attempt"] == 1
    slipway.down("--cancel")
    slipway.again()
    assert slipway.wait(run)["state"] == "Canceled"


def test_submit_leaves_slipways_own_home_alone(slipway):
    result = slipway.cli("submit", "--source", slipway.folder, "--", "true", check=False)
    assert result.returncode == 2 and str(slipway.home) in result.stderr


def test_a_script_that_is_ignored_is_said_before_the_run_is_made(slipway, tmp_path):
    (tmp_path / "train.py").write_text("print(1)")
    (tmp_path / ".slipwayignore").write_text("*.py\n")
    result = slipway.cli("submit", "--source", tmp_path, "--", "python3", "train.py", check=False)
    assert result.returncode == 5
    assert "train.py" in result.stderr and ".slipwayignore" in result.stderr
    assert slipway.cli_json("run", "list")["items"] == []
