"""Slipway for Python: submit and watch runs, and log from inside a job. Standard library only."""

from ._version import __version__ as __version__
