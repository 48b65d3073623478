"""What services are measured with: the front door beside its replica, a deployment, a switch under full load."""

import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from row import server  # noqa: E402
from support import models, processes  # noqa: E402
from support.server import W  # noqa: E402
from support.services import Service  # noqa: E402

import serving  # noqa: E402

DEPLOYMENTS = 7


def deploy(slipway, name, **body):
    """Seconds from the request until the service is Healthy."""
    begun = time.monotonic()
    slipway.api("POST", f"{W}/services", {"name": name, **body})
    service = Service(slipway, name)
    while service.state != "Healthy":
        time.sleep(0.005)
    return time.monotonic() - begun, service


def through_the_door(service, url, seconds):
    headers = {**serving.JSON, "Authorization": f"Bearer {service.key}"}
    return serving.wrk(url, serving.one_row(), headers, service.slipway.server_pid, seconds)


def switch_under_load(service, url):
    """The load before, and the load while the version is switched again and again."""
    steady = through_the_door(service, url, serving.SECONDS)
    done = threading.Event()

    def keep_switching():
        version = 1
        while not done.wait(0.5):
            version = 3 - version
            service.patch(models=[f"digits:{version}"])
            number = service.record["newest_version"]
            service.wait_for(lambda record, new=number: record["version"] == new, "it is not switched", 60)

    switching = threading.Thread(target=keep_switching)
    switching.start()
    try:
        moving = through_the_door(service, url, serving.SECONDS)
    finally:
        done.set()
        switching.join()
    return steady, moving, service.kinds.count("switched") - 1


def measure(row):
    """Yields the rows of the table; `row` makes one."""
    with tempfile.TemporaryDirectory(prefix="slw-bench-") as folder, server() as slipway:
        made = models.make(folder, "onnx_digits")
        slipway.cli("env", "create", "frameworks", "--interpreter", models.PYTHON)
        for number in (1, 2):  # the same network under two versions
            copy = Path(folder) / str(number) / "digits.onnx"
            copy.parent.mkdir()
            copy.write_bytes((made / "digits.onnx").read_bytes())
            slipway.cli(
                *("model", "register", "digits", "--local", copy, "--framework", "onnx", "--no-trial")
            )
        spec = {"models": ["digits:1"], "environment": "frameworks", "memory_bytes": 256 << 20}
        times = []
        for number in range(DEPLOYMENTS):
            seconds, service = deploy(slipway, f"svc-{number}", **spec)
            times.append(seconds)
            slipway.api("DELETE", service.path)
        processes.wait_until(lambda: not processes.playing("serve", slipway.home), 60, "replicas stay")
        yield row(
            *(
                "deploy of a registered ONNX model to Healthy, p50",
                1000,
                sorted(times)[len(times) // 2] * 1e3,
                "ms",
            ),
            note=f"slowest of {DEPLOYMENTS}: {max(times) * 1e3:.0f} ms",
        )
        _, service = deploy(slipway, "digits-svc", **spec)
        url = f"{service.own_url}/v1/models/digits:predict"
        with models.Service(made / "digits.onnx") as alone:
            direct = serving.wrk(
                f"{alone.url}/v1/models/digits:predict", serving.one_row(), serving.JSON, alone.pid
            )
        steady, moving, switches = switch_under_load(service, url)
        yield row(
            *(
                "front door, ONNX, JSON one row, wrk -c16",
                15_000,
                steady.per_second,
                "/s",
                "more",
                direct.per_second,
            ),
            note=f"p99 {steady.p99_ms:.1f} ms, {steady.cpu_us:.0f} us CPU a request; peer: the model server alone",
        )
        # wrk fails the row when any answer is not 200.
        yield row(
            *(
                "switch of versions under full load: p99 against the steady one",
                2,
                moving.p99_ms / steady.p99_ms,
                "times",
            ),
            note=f"{switches} switches, 0 failed requests, {moving.p99_ms:.1f} ms against {steady.p99_ms:.1f} ms",
        )
