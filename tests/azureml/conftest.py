"""The companion as it lies in this tree, for programs and for the tests themselves."""

import sys
from pathlib import Path

PYTHON = Path(__file__).resolve().parent.parent.parent / "python"
sys.path.insert(0, str(PYTHON))
