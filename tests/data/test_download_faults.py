"""What can go wrong while a run's data is fetched: each time on the real program, against a server that does it."""

import hashlib
import json
from pathlib import Path

import pytest
from support.data import add_datastore, create
from support.folders import content_of, paths_below
from support.processes import kill, wait_until

MB = 1 << 20
LARGE = b"".join(b"%015d\n" % i for i in range(25 * MB // 16)) + b"end"
HASH = "sha256sum < $d | cut -d' ' -f1"


def submit(slipway, command=HASH, dataset="d", mode="download", job=None, **more):
    return slipway.submit(
        command, inputs={"d": {"dataset": dataset, "mode": mode, **more}}, max_attempts=1, **(job or {})
    )


def assert_hash(slipway, run, content, timeout=60):
    slipway.completed(run, timeout)
    assert slipway.log(run).decode().strip() == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("mode", ["download", "mount"])
@pytest.mark.parametrize("size", [1000, len(LARGE)], ids=["small", "large"])
def test_server_that_is_ill_for_a_moment_is_asked_again(slipway, web, mode, size):
    url = web.put("data.bin", LARGE[:size])
    create(slipway, "d", url)
    web["data.bin"].fail = 3
    assert_hash(slipway, submit(slipway, mode=mode), LARGE[:size])
    assert web["data.bin"].fail == 0


@pytest.mark.parametrize("mode", ["download", "mount"])
@pytest.mark.parametrize("size", [1000, len(LARGE)], ids=["small", "large"])
def test_transfer_that_breaks_in_the_middle_goes_on_from_there(slipway, web, mode, size):
    url = web.put("data.bin", LARGE[:size])
    create(slipway, "d", url)
    web["data.bin"].cut = 3
    assert_hash(slipway, submit(slipway, mode=mode), LARGE[:size])
    assert web["data.bin"].served < size * 1.5 + 4 * MB, "what had come was fetched again"


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_server_that_ignores_ranges_is_read_in_one_go(slipway, web, mode):
    url = web.put("data.bin", LARGE, ranges=False)
    create(slipway, "d", url)
    web["data.bin"].requests.clear()
    web["data.bin"].served = 0
    assert_hash(slipway, submit(slipway, mode=mode), LARGE)
    assert web["data.bin"].served < 3 * len(LARGE)


@pytest.mark.parametrize("mode", ["download", "mount"])
@pytest.mark.parametrize("size", [1000, len(LARGE)], ids=["small", "large"])
def test_changed_entity_tag_fails_the_run_with_that_sentence(slipway, web, mode, size):
    url = web.put("data.bin", LARGE[:size])
    create(slipway, "d", url)
    web.put("data.bin", LARGE[:size][::-1], tag='"2"')
    run = submit(slipway, mode=mode)
    ended = slipway.wait(run)
    assert ended["state"] == "Failed"
    assert "the content of 'data.bin' no longer matches its version, d:1" in ended["reason"], ended


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_wrong_length_fails_the_run_with_that_sentence(slipway, web, mode):
    url = web.put("data.bin", LARGE[:1000])
    create(slipway, "d", url)
    web.put("data.bin", LARGE[:900])
    ended = slipway.wait(submit(slipway, mode=mode))
    assert ended["state"] == "Failed"
    assert "no longer matches its version" in ended["reason"], ended


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_run_that_allows_it_takes_changed_content_and_says_so(slipway, web, mode):
    url = web.put("data.bin", LARGE[:1000])
    create(slipway, "d", url)
    web.put("data.bin", LARGE[:2000], tag='"2"')
    run = submit(slipway, mode=mode, verify=False)
    assert_hash(slipway, run, LARGE[:2000])
    (placed,) = slipway.run(run)["inputs"]
    assert placed["verify"] is False
    if mode == "download":
        assert "not those of the version any more" in placed["note"]


def test_two_runs_at_once_fetch_a_file_once(slipway, web):
    url = web.put("data.bin", LARGE, rate=20 * MB)
    create(slipway, "d", url)
    web["data.bin"].served = 0
    runs = [
        submit(slipway, mode=mode, job={"resources": {"cpus": 0.5}})
        for mode in ("download", "mount", "download")
    ]
    for run in runs:
        assert_hash(slipway, run, LARGE)
    assert web["data.bin"].served == len(LARGE)


def test_agent_killed_in_the_middle_goes_on_from_there(slipway, web):
    url = web.put("data.bin", LARGE, rate=6 * MB)
    create(slipway, "d", url)
    web["data.bin"].served = 0
    run = submit(slipway)
    node = wait_until(lambda: slipway.run(run)["nodes"], 15)[0]
    wait_until(lambda: web["data.bin"].served > 8 * MB, 20, "the download does not get on")
    slipway.kill_agent(node)
    web["data.bin"].rate = 0
    assert_hash(slipway, run, LARGE)
    # Chunks that were under way at the kill come twice, the rest does not.
    assert web["data.bin"].served < len(LARGE) + 9 * MB, web["data.bin"].served


def test_source_that_is_gone_is_said_with_its_address(slipway, web):
    url = web.put("data.bin", b"content")
    create(slipway, "d", url)
    del web.contents["data.bin"]
    ended = slipway.wait(submit(slipway))
    assert ended["state"] == "Failed"
    assert "data.bin" in ended["reason"] and "404" in ended["reason"], ended


@pytest.mark.parametrize("mode", ["download", "mount"])
def test_credentials_reach_the_server_and_nothing_else(slipway, web, mode):
    secret = "Bearer tops3cret-value"
    web.put("private/data.bin", LARGE[:5000], needs=secret)
    add_datastore(slipway, "private", url=f"{web.url}/private/", credentials="bearer tops3cret-value")
    create(slipway, "d", "private:data.bin")
    good = submit(slipway, mode=mode)
    assert_hash(slipway, good, LARGE[:5000])
    web["private/data.bin"].needs = "Bearer another"
    web["private/data.bin"].body = LARGE[:6000]
    again = submit(slipway, mode=mode, verify=False)
    slipway.wait(again)
    told = json.dumps([slipway.run(good), slipway.run(again), slipway.events(good), slipway.events(again)])
    told += slipway.log(good, "system_logs/data.txt").decode() + slipway.all_logs()
    assert "tops3cret" not in told
    for path in paths_below(slipway.home):
        if path.name not in {"slipway.db", "slipway.db-wal"}:
            assert b"tops3cret" not in content_of(path), path


def test_killed_agent_and_supervisor_leave_no_mount_and_no_process(slipway, web):
    url = web.put("data.bin", LARGE)
    create(slipway, "d", url)
    run = submit(
        slipway, "head -c 1000 $d > /dev/null; echo $d; readlink /proc/self/ns/mnt; sleep 1000", mode="mount"
    )
    node = slipway.wait_for(run, "Running")["nodes"][0]
    view = wait_until(lambda: [x for x in slipway.log(run).decode().split() if x.startswith("mnt:")], 15)[0]
    assert len(seeing(view)) >= 3, "supervisor, server of the mount and job"
    supervisor = slipway.supervisor_pid(run)
    slipway.kill_agent(node)
    kill(supervisor)
    wait_until(lambda: not seeing(view), 30, "something still sees the mount")
    assert slipway.wait(run)["state"] == "Failed"


def seeing(view):
    """The processes with that view of the machine's mounts."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "ns/mnt").readlink()) == view:
                    found.append(int(entry.name))
            except OSError:
                pass
    return found
