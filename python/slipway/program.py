"""The program `slipway` itself, for those who drive it from Python."""

import os
import shutil
import sys
import sysconfig

from .errors import NotFoundError


def find_program() -> str:
    """The path of the program that came with this package, else of the one on the PATH."""
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    user = os.path.join(os.path.expanduser("~"), ".local", "bin")
    for folder in [*folders, user]:
        path = os.path.join(folder, "slipway") if folder else ""
        if path and os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    found = shutil.which("slipway")
    if found is None:
        raise NotFoundError(
            "the program slipway is not on this machine",
            next="install the wheel that brings it along (make wheel), or put it on the PATH",
        )
    return found
