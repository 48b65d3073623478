"""Looking through folders that the program changes meanwhile."""

import os
from pathlib import Path


def paths_below(folder):
    """Every file and folder below; one that goes away while this looks may be there or not."""
    for above, folders, files in os.walk(folder):
        yield from (Path(above) / name for name in (*folders, *files))


def content_of(path):
    """The bytes of a file; none where it is no file, or none any more."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return b""
