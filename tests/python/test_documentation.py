"""The examples of docs/python.md, run as they stand."""

import re
import subprocess
import sys

import pytest
from support.interpreters import PACKAGES
from support.server import ROOT

TRAIN = """
import slipway
for step in range(4):
    slipway.log(loss=1 / (step + 1), accuracy=0.6 + step / 10, step=step)
open("outputs/model.txt", "w").write("weights")
"""


def blocks():
    text = (ROOT / "docs" / "python.md").read_text()
    return re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```python\n(.*?)```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("section", "code"), blocks(), ids=lambda value: value if "\n" not in value else "")
def test_example_does_what_it_says(slipway, section, code):
    code_folder = slipway.folder / "code"
    code_folder.mkdir()
    (code_folder / "train.py").write_text(TRAIN)
    if section in ("In the job", "With no line in the training code"):
        run = slipway.submit(sys.executable, "-c", code, variables={"PYTHONPATH": str(PACKAGES)})
        ended = slipway.completed(run)
        assert ended["warnings"] == []
        if section == "In the job":
            assert slipway.metrics(run)["loss"]["last"]["value"] == 0.25
            assert ended["properties"] == {"data": "mnist:2"}
        return
    environment = {**slipway.env, "SLIPWAY_HOME": str(slipway.home), "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=slipway.folder,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if section == "Submit and watch":
        assert "'loss': 0.25" in done.stdout and (slipway.folder / "results/outputs/model.txt").exists()


def test_every_section_with_code_is_tried():
    assert [section for section, _ in blocks()] == [
        "Submit and watch",
        "In the job",
        "With no line in the training code",
        "Runs of your own",
        "Compute, environments and data",
    ]
