"""Slipway reports nothing to anyone."""

__all__ = ["set_diagnostics_collection"]


def set_diagnostics_collection(send_diagnostics=True, verbose=False):
    """Nothing is collected, whatever is asked for."""
