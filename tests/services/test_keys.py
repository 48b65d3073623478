"""Who may call a service."""

from support import http as wire


def test_only_the_services_own_keys_open_it(shop):
    service = shop.deployed("times-svc")
    keys = shop.slipway.api("GET", f"{service.path}/keys")
    for key in (keys["primary"], keys["secondary"]):
        for url in (None, service.own_url):
            assert service.score(key=key, url=url).status == 200
    for key in (None, "wrong", keys["primary"][:-1], keys["primary"] + "x", shop.slipway.token):
        for url in (None, service.own_url):
            answer = service.score(key=key, url=url)
            assert answer.status == 401, key
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "Bearer" in answer.json()["message"] or "service keys" in answer.json()["message"]
    basic = wire.request(
        *(shop.slipway.url, "POST", "/services/times-svc/score", {"instances": [[1.0]]}),
        headers={"Authorization": f"Basic {keys['primary']}"},
    )
    assert basic.status == 401


def test_a_key_in_the_address_is_refused_and_appears_nowhere(shop):
    service = shop.deployed("times-svc")
    key = service.key
    for path in (f"/score?key={key}", f"/score?code={key}", f"/score?x={key}"):
        for header in (None, key):
            answer = service.post(path, {"instances": [[1.0]]}, key=header)
            assert answer.status == 400, path
            assert key.encode() not in answer.body
            assert b"Authorization: Bearer" in answer.body
    guess = service.post("/score?access_token=guess", {"instances": [[1.0]]}, key=None)
    assert guess.status == 401
    assert b"not taken from the address" in guess.body
    assert key not in shop.slipway.all_logs()
    assert key not in shop.slipway.cli("service", "logs", "times-svc").stdout
    assert key.encode() not in (shop.slipway.home / "slipway.db").read_bytes(), "keys are stored sealed"


def test_a_key_made_anew_takes_the_place_of_the_old_one_at_once(shop):
    service = shop.deployed("times-svc")
    old = shop.slipway.api("GET", f"{service.path}/keys")
    new = shop.slipway.cli_json("service", "regen-key", "times-svc")
    assert new["primary"] != old["primary"]
    assert new["secondary"] == old["secondary"]
    service.wait_for(lambda _: service.score(key=new["primary"]).status == 200, "the new key is not known")
    assert service.score(key=old["primary"]).status == 401
    assert service.score(key=old["secondary"]).status == 200
    shop.slipway.cli("service", "regen-key", "times-svc", "--key", "secondary")
    service.wait_for(lambda _: service.score(key=old["secondary"]).status == 401, "the old key is good still")


def test_tokens_and_no_auth(shop):
    service = shop.deployed("times-svc", "--auth", "token")
    key = service.key
    assert service.score(key=key).status == 401
    token = shop.slipway.cli("service", "token", "times-svc", "--expires", "1h").stdout.strip()
    assert service.score(key=token).status == 200
    assert (
        '"predictions"'
        in shop.slipway.cli("service", "test", "times-svc", "--data", '{"instances": [[1.0]]}').stdout
    )
    shop.slipway.cli("service", "update", "times-svc", "--auth", "none")
    service.wait_for(lambda _: service.score(key=None).status == 200, "it asks for a key still")
    assert service.record["version"] == 1, "no replica had to be started anew"
    refused = shop.slipway.cli("service", "token", "times-svc", check=False)
    assert refused.returncode == 6


def test_a_reader_sees_the_service_and_not_its_keys(shop):
    service = shop.deployed("times-svc")
    token = shop.slipway.cli_json(
        *("token", "create", "looker", "--role", "reader", "--workspace", "default")
    )["token"]
    ask = shop.slipway.http
    assert ask("GET", service.path, token=token).status == 200
    assert ask("GET", f"{service.path}/keys", token=token).status == 403
    assert ask("POST", f"{service.path}/keys/primary", token=token).status == 403
    assert ask("DELETE", service.path, token=token).status == 403
    assert service.key not in ask("GET", service.path, token=token).body.decode()


def test_replicas_answer_nobody_but_the_front_door(shop):
    service = shop.deployed("times-svc")
    endpoint = service.replicas("ready")[0]["endpoint"]
    for key in (None, service.key):
        answer = wire.request(f"http://{endpoint}", "POST", "/score", {"instances": [[1.0]]}, token=key)
        assert answer.status == 401
