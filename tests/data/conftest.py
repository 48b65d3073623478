"""What the tests of data share."""

import pytest
from support.web_server import WebServer


@pytest.fixture
def web():
    with WebServer() as server:
        yield server
