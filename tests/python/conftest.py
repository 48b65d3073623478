import pytest
import slipway as package
from support.interpreters import NEWEST, OLDEST, PACKAGES, interpreter


@pytest.fixture
def ws(slipway):
    """The default workspace of a running server, as a user's program has it."""
    return package.workspace(home=str(slipway.home), folder=str(slipway.folder))


@pytest.fixture(params=[OLDEST, NEWEST])
def python(request):
    """The oldest and the newest interpreter that a job may bring."""
    return interpreter(request.param)


@pytest.fixture
def job(slipway, ws, python):
    """Runs a script in a job under that interpreter until it has ended."""

    def run(script, wait=True, **more):
        variables = {"PYTHONPATH": str(PACKAGES), **more.pop("variables", {})}
        submitted = ws.submit(command=[python, "-c", script], source=None, variables=variables, **more)
        if not wait:
            return submitted
        submitted.wait(timeout=60, raise_on_failure=False)
        assert submitted.state == "Completed", (submitted.reason, submitted.logs())
        return submitted

    return run
