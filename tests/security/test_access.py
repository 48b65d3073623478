"""Who may do what; what a token is worth; what never leaves the server (fault 51)."""

import json
import stat
import subprocess

import pytest
from support.http import request
from support.server import RELEASE, W


def token(slipway, role, workspace="default", **more):
    body = {
        "name": f"test-{role}",
        "role": role,
        **({"workspace": workspace} if role != "admin" else {}),
        **more,
    }
    return slipway.api("POST", "/api/v1/tokens", body)


ROUTES = (
    json.loads(subprocess.run([RELEASE, "routes", "--json"], capture_output=True, text=True).stdout or "[]")
    if RELEASE.exists()
    else []
)


def fill(pattern):
    import re

    values = {
        "workspace": "default",
        "run": "none-aaaaaaaa",
        "digest": "0" * 64,
        "snapshot": "0" * 64,
        "attempt": "1",
        "rank": "0",
    }
    return re.sub(r"\{(\w+)(\.\.\.)?\}", lambda m: values.get(m.group(1), "some"), pattern)


def routes():
    listed = ROUTES["items"] if isinstance(ROUTES, dict) else ROUTES
    return [(route["method"], route["pattern"], route["access"]) for route in listed]


def test_no_route_but_the_public_ones_answers_without_a_token(slipway):
    assert len(routes()) > 30
    for method, pattern, access in routes():
        answer = slipway.http(method, fill(pattern), token=None, body=b"" if method != "GET" else None)
        if access == "public":
            assert answer.status in {200, 503}, (method, pattern, answer)
        else:
            assert answer.status == 401, (method, pattern, answer)
            assert "bearer" in answer.headers.get("www-authenticate", "bearer").lower()


def test_public_routes_are_only_the_two_that_tell_nothing(slipway):
    assert {pattern for _, pattern, access in routes() if access == "public"} <= {"/health", "/api/v1/server"}


def test_reader_can_change_nothing(slipway):
    reader = token(slipway, "reader")["token"]
    for method, pattern, access in routes():
        if access in {"public", "reader"} or (method == "GET" and access in {"run"}):
            continue
        answer = slipway.http(method, fill(pattern), token=reader, body=b"{}" if method != "GET" else None)
        assert answer.status in {403, 404}, (method, pattern, access, answer)


def test_workspace_of_others_looks_as_if_it_were_not_there(slipway):
    slipway.api("POST", "/api/v1/workspaces", {"name": "theirs"})
    mine = token(slipway, "owner", "default")["token"]
    for method, path in [
        ("GET", "/api/v1/workspaces/theirs"),
        ("GET", "/api/v1/workspaces/theirs/runs"),
        ("POST", "/api/v1/workspaces/theirs/runs"),
        ("GET", "/api/v1/workspaces/nonexistent/runs"),
    ]:
        answer = slipway.http(method, path, {} if method == "POST" else None, token=mine)
        assert answer.status == 404, (method, path, answer)
    listed = slipway.http("GET", "/api/v1/workspaces", token=mine).json()["items"]
    assert [item["name"] for item in listed] == ["default"]


def test_run_of_another_workspace_is_not_found_through_ones_own(slipway):
    slipway.api("POST", "/api/v1/workspaces", {"name": "theirs"})
    run = slipway.api("POST", "/api/v1/workspaces/theirs/runs", {"command": ["true"]})["id"]
    mine = token(slipway, "owner", "default")["token"]
    for suffix in ["", "/logs", "/events", "/files", "/metrics"]:
        assert slipway.http("GET", f"{W}/runs/{run}{suffix}", token=mine).status == 404


def test_contributor_submits_and_owner_changes_compute(slipway):
    contributor, owner = token(slipway, "contributor")["token"], token(slipway, "owner")["token"]
    cluster = {"name": "c", "min_nodes": 0, "max_nodes": 1, "cpus": 1}
    assert slipway.http("POST", f"{W}/compute", cluster, token=contributor).status == 403
    assert slipway.http("POST", f"{W}/compute", cluster, token=owner).status == 201
    assert slipway.http("POST", f"{W}/runs", {"command": ["true"]}, token=contributor).status == 201
    assert slipway.http("POST", "/api/v1/tokens", {"name": "x", "role": "admin"}, token=owner).status == 403


def test_revoked_token_is_refused_at_once(slipway):
    made = token(slipway, "reader")
    assert slipway.http("GET", f"{W}/runs", token=made["token"]).status == 200
    slipway.api("DELETE", f"/api/v1/tokens/{made['id']}")
    assert slipway.http("GET", f"{W}/runs", token=made["token"]).status == 401


@pytest.mark.parametrize(
    "bad",
    ["", "x", "slw_", "slw_a_b", "slw_" + "a" * 4000, "slw_%00_x", "slw_' OR 1=1 --_x", "slw_../../token_x"],
)
def test_made_up_tokens_are_refused(slipway, bad):
    assert slipway.http("GET", f"{W}/runs", token=bad).status in {400, 401}


def test_half_right_token_is_refused(slipway):
    good = slipway.token
    assert slipway.http("GET", f"{W}/runs", token=good[:-1]).status == 401
    assert slipway.http("GET", f"{W}/runs", token=good[:-1] + ("a" if good[-1] != "a" else "b")).status == 401


def test_token_in_the_query_string_is_worth_nothing(slipway):
    answer = slipway.http("GET", f"{W}/runs?token={slipway.token}&access_token={slipway.token}", token=None)
    assert answer.status == 401


def test_only_hashes_are_stored_and_no_secret_is_logged(slipway):
    made = token(slipway, "reader")
    run = slipway.submit(
        "echo $SLIPWAY_TOKEN > outputs/t || true; sleep 0.1", variables={"API_KEY": "hunter2-secret"}
    )
    slipway.http("GET", f"{W}/runs", token=made["token"] + "x")
    slipway.http("GET", f"{W}/runs?token={made['token']}", token=None)
    slipway.completed(run)
    secrets = [slipway.token, made["token"]]
    for name in ["slipway.db", "slipway.db-wal", "server.log"]:
        path = slipway.home / name
        content = path.read_bytes() if path.exists() else b""
        for secret in secrets:
            assert secret.rpartition("_")[2].encode() not in content, f"{name} holds a token"
    for path in slipway.log_files():
        assert "hunter2-secret" not in path.read_text(errors="replace"), path
        for secret in secrets:
            assert secret.rpartition("_")[2] not in path.read_text(errors="replace"), path


def test_a_token_is_shown_once(slipway):
    made = token(slipway, "reader")
    listed = json.dumps(slipway.items("/api/v1/tokens"))
    assert made["id"] in listed and made["token"] not in listed
    assert made["token"].rpartition("_")[2] not in listed
    assert len(made["token"].rpartition("_")[2]) >= 43, "256 bits"


def test_files_of_the_home_are_for_the_user_alone(slipway):
    run = slipway.submit("sleep 60")
    slipway.wait_for(run, "Running")
    assert stat.S_IMODE(slipway.home.stat().st_mode) == 0o700
    for path in [
        slipway.home / "token",
        slipway.home / "slipway.db",
        *slipway.home.glob("nodes/*/token"),
        *slipway.home.glob("nodes/*/attempts/*/spec.json"),
    ]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_another_address_than_loopback_is_refused_without_tls(stopped, address):
    result = stopped.up(listen=address, check=False)
    assert result.returncode != 0
    assert "tls" in result.stderr.lower(), result.stderr
    assert not (stopped.home / "server.json").exists()


def test_auth_none_is_for_loopback_and_is_said(stopped):
    result = stopped.up("--auth", "none")
    assert "auth" in (result.stdout + result.stderr).lower()
    assert request(stopped.url, "GET", f"{W}/runs").status == 200
    assert request(stopped.url, "GET", "/api/v1/server").json()["auth"] == "none"


def test_another_host_name_is_refused_without_authentication(stopped):
    """DNS rebinding: a page that has its own name point here must get nothing."""
    stopped.up("--auth", "none")
    answer = request(stopped.url, "GET", f"{W}/runs", headers={"Host": "evil.example"})
    assert answer.status in {400, 403, 421}
    cross = request(
        stopped.url, "POST", f"{W}/runs", {"command": ["true"]}, headers={"Origin": "http://evil.example"}
    )
    assert cross.status in {400, 403}


TRAVERSALS = [
    "../token",
    "..%2ftoken",
    "%2e%2e%2ftoken",
    "%252e%252e%252ftoken",
    "outputs/../../../../../../etc/passwd",
    "/etc/passwd",
    "outputs/..\\..\\token",
    "outputs/%00",
    "file:///etc/passwd",
    "....//....//etc/passwd",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out_of_a_runs_files_or_logs(slipway, path):
    run = slipway.submit("mkdir -p outputs; echo x > outputs/x; echo log")
    slipway.completed(run)
    for target in (f"{W}/runs/{run}/files/content?path={path}", f"{W}/runs/{run}/logs/content?name={path}"):
        answer = slipway.http("GET", target)
        assert answer.status in {400, 404}, (target, answer)
        assert b"root:" not in answer.body
    assert slipway.http("GET", f"{W}/runs/{path}").status in {400, 404}
    assert slipway.http("DELETE", f"{W}/runs/{path}").status in {400, 404, 405}


def test_errors_tell_nothing_of_the_inside(slipway):
    for path in ["/nowhere", f"{W}/runs/none-aaaaaaaa", f"{W}/runs?cursor=garbage", f"{W}/runs?limit=-1"]:
        answer = slipway.http("GET", path)
        assert 400 <= answer.status < 500, path
        text = answer.body.decode()
        assert str(slipway.home) not in text and "sqlite" not in text.lower() and ".cc" not in text


def test_job_runs_without_new_privileges_and_with_closed_descriptors(slipway):
    run = slipway.submit(
        "grep NoNewPrivs /proc/self/status; ls -l /proc/self/fd | grep -v '/proc/' | tail -n +2 | wc -l; umask"
    )
    slipway.completed(run)
    lines = slipway.log(run).decode().splitlines()
    assert lines[0].split() == ["NoNewPrivs:", "1"]
    assert int(lines[1]) <= 3


def test_names_are_data_everywhere(slipway):
    name = "<script>alert(1)</script>'; DROP TABLE runs; --"
    run = slipway.submit("true", display_name=name, tags={"k": name})
    slipway.completed(run)
    shown = slipway.run(run)
    assert shown["display_name"] == name and shown["tags"]["k"] == name
    assert slipway.items(f"{W}/runs", tag=f"k={name}")[0]["id"] == run
    escape = slipway.http("POST", f"{W}/runs", {"command": ["true"], "display_name": "\x1b]0;owned\x07"})
    assert escape.status == 400
    slipway.completed(slipway.submit("true", tags={"k": "\x1b[31m"}))
    assert "\x1b" not in slipway.cli("run", "list").stdout + slipway.cli("run", "show", run).stdout
