"""The package as a whole: what imports what, on which Pythons, and the table of its documentation."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYENV = Path.home() / ".pyenv" / "versions"

EVERYTHING = """
import importlib, pkgutil, sys
import azureml
for module in pkgutil.walk_packages(azureml.__path__, "azureml."):
    loaded = importlib.import_module(module.name)
    for name in getattr(loaded, "__all__", []):
        getattr(loaded, name)
from azureml.core import VERSION, Run
run = Run.get_context()
run.log("version", ".".join(map(str, sys.version_info[:2])))
"""


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_the_oldest_and_the_newest_python_import_everything(version):
    interpreters = sorted(PYENV.glob(f"{version}.*/bin/python"))
    assert interpreters, f"no Python {version} below {PYENV}"
    done = subprocess.run(
        [
            interpreters[-1],
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r})\n" + EVERYTHING,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert version in done.stdout


def test_importing_run_loads_nothing_that_a_job_does_not_need():
    code = "import sys; from azureml.core import Run; print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "python")}
    )
    for heavy in (
        "azureml.core.environment",
        "azureml.data",
        "http.client",
        "ssl",
        "inspect",
        "yaml",
        "numpy",
    ):
        assert f"'{heavy}'" not in done.stdout


def test_the_table_in_the_documentation_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "azureml-table", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
