"""Environments: what a present one adds to a run, building one again and from nothing. uv alone and venv with pip,
given the same pinned packages in the same run, are the peers."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from row import Row, server

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".venv" / "bin" / "uv"
PYTHON = "/usr/bin/python3"
PACKAGES = ["numpy", "scipy", "scikit-learn", "pandas"]
LARGE = "tensorflow-cpu==2.21.0"


def run(*command, **variables):
    """Seconds that a command takes."""
    environment = {**os.environ, **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.monotonic()
    subprocess.run(list(map(str, command)), env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def prepared(slipway, name):
    """One run in that environment; gives its record of it."""
    run_id = slipway.submit("true", environment=name)
    slipway.completed(run_id, 1200)
    return slipway.run(run_id)["environment"]


def ready_seconds(slipway, name):
    """From the start of the preparation until the environment was ready, as the node saw it."""
    return prepared(slipway, name)["seconds"]


def disk(folder):
    """Bytes on disk, files with several names counted once."""
    out = subprocess.run(["du", "-s", "--block-size=1", folder], capture_output=True, text=True, check=True)
    return int(out.stdout.split()[0])


def define(slipway, name, packages):
    arguments = [word for package in packages for word in ("--pip", package)]
    slipway.cli("env", "create", name, "--python", "3.11", *arguments)


def uv_alone(folder, lock, cache, *options):
    shutil.rmtree(folder / "uv", ignore_errors=True)
    variables = {"UV_CACHE_DIR": str(cache)}
    install = ["pip", "install", "--quiet", "--no-deps", "--require-hashes", "--requirements", lock]
    return run(UV, "venv", "--quiet", "--python", PYTHON, folder / "uv", **variables) + run(
        UV, *install, "--python", folder / "uv/bin/python", *options, **variables
    )


def venv_and_pip(folder, lock, cache):
    shutil.rmtree(folder / "pip", ignore_errors=True)
    pip = [folder / "pip/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--cache-dir", cache]
    return run(PYTHON, "-m", "venv", folder / "pip") + run(
        *pip, "--no-deps", "--require-hashes", "--requirement", lock
    )


def presence(slipway):
    """Milliseconds from submission to the end, with and without the environment, in turn."""
    times = {"system": [], "four": []}
    for _ in range(15):
        for name, taken in times.items():
            begin = time.monotonic()
            slipway.completed(slipway.submit("true", environment=name))
            taken.append((time.monotonic() - begin) * 1e3)
    return statistics.median(times["four"]) - statistics.median(times["system"])


def environments(_):
    folder = Path(tempfile.mkdtemp(prefix="slw-bench-"))
    try:
        with server() as slipway:
            slipway.env["PATH"] = f"{UV.parent}:{os.environ['PATH']}"
            slipway.down("--cancel")
            slipway.up()
            yield from small_rows(slipway, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def small_rows(slipway, folder):
    home = slipway.home / "environments"
    define(slipway, "four", PACKAGES)
    prepared(slipway, "four")
    first = disk(home)
    yield Row("environment present: time added to a run, p50", 20, presence(slipway), "ms")

    lock = folder / "lock.txt"
    lock.write_text(slipway.cli("env", "lock", "four").stdout)
    ours, plain, compiled = [], [], []
    for _ in range(3):
        shutil.rmtree(home / "builds")
        ours.append(ready_seconds(slipway, "four"))
        plain.append(uv_alone(folder, lock, home / "cache" / "uv"))
        compiled.append(uv_alone(folder, lock, home / "cache" / "uv", "--compile-bytecode"))
    venv_and_pip(folder, lock, folder / "pip-cache")  # its wheels are cached from here on
    pip = min(venv_and_pip(folder, lock, folder / "pip-cache") for _ in range(2))
    yield Row(
        "rebuild with cached wheels (numpy, scipy, scikit-learn, pandas), with bytecode",
        1.3 * min(plain),
        min(ours),
        "s",
        peer=min(plain),
        note=f"peer: uv alone, no bytecode; uv --compile-bytecode {min(compiled):.1f} s",
    )
    yield Row(
        "the same beside venv + pip", 10, pip / min(ours), "times", "more", note=f"venv + pip {pip:.1f} s"
    )

    define(slipway, "five", [*PACKAGES, "six"])
    prepared(slipway, "five")
    added = disk(home) - first
    yield Row("disk of a second environment that shares its packages", 20, 100 * added / first, "%")


def large(_):
    folder = Path(tempfile.mkdtemp(prefix="slw-bench-"))
    try:
        with server() as slipway:
            slipway.env["PATH"] = f"{UV.parent}:{os.environ['PATH']}"
            slipway.down("--cancel")
            slipway.up()
            define(slipway, "large", [LARGE])
            ours = ready_seconds(slipway, "large")
        variables = {"UV_CACHE_DIR": str(folder / "cache")}
        install = ["pip", "install", "--quiet", "--python", folder / "uv/bin/python", LARGE]
        seconds = {}
        for options in ([], ["--compile-bytecode"]):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            made = run(UV, "venv", "--quiet", "--python", PYTHON, folder / "uv", **variables)
            seconds[bool(options)] = made + run(UV, *install, *options, **variables)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    yield Row(
        "tensorflow-cpu from a cold cache, with bytecode",
        1.2 * seconds[True],
        ours,
        "s",
        peer=seconds[True],
        note=f"peer: uv alone with --compile-bytecode; without it {seconds[False]:.1f} s",
    )


ENVIRONMENT_ROWS = {"environments": environments, "environments-cold": large}
