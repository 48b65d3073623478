"""api/openapi.yaml is the contract: it and the program say the same."""

import json
import subprocess

import pytest
import yaml
from support.server import RELEASE, ROOT

DESCRIPTION = ROOT / "api" / "openapi.yaml"


@pytest.fixture(scope="module")
def described():
    paths = yaml.safe_load(DESCRIPTION.read_text())["paths"]
    verbs = {"get", "put", "post", "patch", "delete", "head"}
    return {
        (verb.upper(), path): operation
        for path, operations in paths.items()
        for verb, operation in operations.items()
        if verb in verbs
    }


@pytest.fixture(scope="module")
def served():
    listed = json.loads(
        subprocess.run([RELEASE, "routes", "--json"], capture_output=True, text=True, check=True).stdout
    )
    listed = listed["items"] if isinstance(listed, dict) else listed
    return {(route["method"], route["pattern"].replace("...}", "}")): route["access"] for route in listed}


def test_every_route_is_described_and_every_description_has_a_route(described, served):
    assert set(described) - set(served) == set(), "described, and not served"
    assert set(served) - set(described) == set(), "served, and not described"


def test_every_description_says_who_may_call(described, served):
    wrong = {
        route: (described[route].get("x-slipway-access"), access)
        for route, access in served.items()
        if described.get(route, {}).get("x-slipway-access") != access
    }
    assert wrong == {}


def test_every_operation_has_an_id_of_its_own_and_a_summary(described):
    ids = [operation.get("operationId") for operation in described.values()]
    assert None not in ids and len(ids) == len(set(ids))
    assert all(operation.get("summary") for operation in described.values())


def test_parameters_in_paths_are_declared(described):
    document = yaml.safe_load(DESCRIPTION.read_text())

    def resolve(parameter):
        reference = parameter.get("$ref")
        return document["components"]["parameters"][reference.rpartition("/")[2]] if reference else parameter

    for (verb, path), operation in described.items():
        shared = document["paths"][path].get("parameters", [])
        names = {
            p["name"] for p in map(resolve, [*shared, *operation.get("parameters", [])]) if p["in"] == "path"
        }
        wanted = {part.split("}")[0] for part in path.split("{")[1:]}
        assert names == wanted, (verb, path)


@pytest.mark.timeout(300)
def test_requests_made_from_the_description_find_no_fault(slipway, tmp_path):
    """Schemathesis, bounded: no 5xx, no answer the description does not know, and no way past the policy."""
    result = subprocess.run(
        [
            ROOT / ".venv" / "bin" / "schemathesis",
            "run",
            DESCRIPTION,
            f"--url={slipway.url}",
            f"--header=Authorization: Bearer {slipway.token}",
            "--checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
            # Without creating clusters: one of a thousand warm nodes is a thousand real processes here.
            r"--exclude-path-regex=(stream|orders|shutdown|tokens/\{token\}|compute)$",
            "--phases=examples,coverage,fuzzing",
            "--max-examples=8",
            "--seed=1",
            # One: Python 3.11's parser, which Hypothesis shows functions with, fails in two threads at once.
            "--workers=1",
            "--max-time=90",
            "--warnings=off",
            "--request-timeout=60",
            "--generation-deterministic",
            "--no-color",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=280,
    )
    assert result.returncode == 0, (result.stdout + result.stderr)[-12000:]
