"""Machines in network namespaces: `machines` is shared by a module's tests, `fresh` is one test's own."""

import pytest
from support import invariants
from support.namespaces import Nodes
from support.server import RELEASE, Slipway


def started(count, env=None):
    slipway = Slipway(RELEASE)
    try:
        return Nodes(slipway, count, env)
    except BaseException:
        print(slipway.all_logs())
        slipway.stop_everything()
        slipway.remove()
        raise


def ended(nodes, check):
    try:
        if check:
            nodes.wait_until_quiet()
        else:
            print(nodes.logs(), nodes.slipway.all_logs())
        nodes.close()
        if check:
            invariants.check(nodes.slipway)
    finally:
        nodes.close()
        nodes.slipway.stop_everything()
        nodes.slipway.remove()


@pytest.fixture(scope="module")
def machines():
    nodes = started(2)
    yield nodes
    ended(nodes, True)


@pytest.fixture
def fresh(request):
    """Gives machines for one test: fresh(2), fresh(2, env={...})."""
    made = []

    def make(count, env=None):
        made.append(started(count, env))
        return made[-1]

    yield make
    passed = getattr(request.node, "report_call", None) and request.node.report_call.passed
    for nodes in made:
        ended(nodes, passed)
