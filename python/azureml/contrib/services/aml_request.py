"""Marks an entry script's `run` as one that takes the whole request."""


class AMLRequest:
    """A request as the entry script gets it."""

    def __init__(self, method="POST", args=None, data=b"", headers=None):
        self.method = method
        self.args = args or {}
        self.data = data
        self.headers = headers or {}

    def get_data(self, as_text=False):
        return self.data.decode("utf-8") if as_text else self.data


def rawhttp(function):
    function.slipway_raw_http = True
    return function
