"""Fixtures. `slipway` is a running server with the release program, `dev` one with sanitizers and failpoints."""

import os

import pytest
from support import frameworks, invariants
from support.server import DEV, RELEASE, Slipway


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    setattr(item, f"report_{report.when}", report)


def one_server(request, binary, start=True):
    """A server for one test, whose invariants are checked after it."""
    assert binary.exists(), f"{binary} is not built; run make test"
    server = Slipway(binary)
    try:
        if start:
            server.up()
        yield server
        if server.started and getattr(request.node, "report_call", None) and request.node.report_call.passed:
            invariants.check(server)
    finally:
        failed = not (getattr(request.node, "report_call", None) and request.node.report_call.passed)
        if failed:
            print(server.all_logs())
        server.stop_everything()
        if not (failed and os.environ.get("SLIPWAY_KEEP")):
            server.remove()


@pytest.fixture
def slipway(request):
    yield from one_server(request, RELEASE)


@pytest.fixture
def stopped(request):
    """A home whose server the test starts itself."""
    yield from one_server(request, RELEASE, start=False)


@pytest.fixture
def dev(request):
    """A home for the program with failpoints; the test starts it with the faults it wants."""
    yield from one_server(request, DEV, start=False)


@pytest.fixture(scope="session")
def framework(tmp_path_factory):
    """The interpreter of an environment with real packages: framework("tensorflow"), see support/frameworks.py."""

    def make(name):
        shared = tmp_path_factory.getbasetemp().parent / "frameworks" / name
        return frameworks.environment(shared, *frameworks.SETS[name])

    return make


@pytest.fixture(scope="session")
def seed():
    """Random faults come from one seed, printed with a failure, so that they can be had again."""
    value = int(os.environ.get("SLIPWAY_TEST_SEED", "1"))
    print(f"SLIPWAY_TEST_SEED={value}")
    return value
