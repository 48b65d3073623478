"""Names, order and defaults of every public call in the reference."""

import importlib
import inspect
from pathlib import Path

import pytest

ROWS = [
    line
    for line in (Path(__file__).parent / "signatures.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def found(dotted):
    """The object at a dotted name: the longest part that is a module, then attributes."""
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:size]))
        except ImportError:
            continue
        for name in parts[size:]:
            value = getattr(value, name)
        return value
    raise AssertionError(f"{dotted} is not there")


def signature(value):
    inspected = inspect.signature(value)
    kept = [
        p.replace(annotation=p.empty) for p in inspected.parameters.values() if not p.name.startswith("_")
    ]
    return str(inspected.replace(parameters=kept, return_annotation=inspected.empty))


@pytest.mark.parametrize("row", ROWS, ids=[row.partition("(")[0] for row in ROWS])
def test_a_call_has_the_parameters_of_the_sdk(row):
    dotted, _, parameters = row.partition("(")
    assert signature(found(dotted)) == "(" + parameters
