"""What every group of rows is made of."""

import contextlib

from support.server import RELEASE, Slipway


class Row:
    """One line of the table. `better` says which way the bar points; the peer's figure has the same unit."""

    def __init__(self, what, bar, value, unit, better="less", peer=None, note=""):
        self.what, self.bar, self.value, self.unit, self.better = what, bar, value, unit, better
        self.peer, self.note = peer, note

    @property
    def good(self):
        return self.value < self.bar if self.better == "less" else self.value >= self.bar

    @property
    def ratio(self):
        if not self.peer:
            return None
        return self.peer / self.value if self.better == "less" else self.value / self.peer


@contextlib.contextmanager
def server(*args):
    slipway = Slipway(RELEASE)
    try:
        slipway.up(*args)
        yield slipway
        slipway.down("--cancel")
    finally:
        slipway.stop_everything()
        slipway.remove()
