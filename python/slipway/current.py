"""The run that this process belongs to."""

import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional

from . import _injob
from ._connection import Connection
from ._http import Json
from ._workspace import Workspace
from .errors import NotFoundError
from .run import Run


class JobRun(Run):
    """A run as its own job sees it: what it logs goes to the supervisor on this machine, never over the network.

    The rest of `Run` (its record, its files so far) asks the server with a token that is good for this run alone.
    """

    def __init__(self) -> None:
        environment = os.environ
        connection = Connection(
            environment.get("SLIPWAY_URL", ""),
            environment.get("SLIPWAY_TOKEN", ""),
            environment.get("SLIPWAY_WORKSPACE", "default"),
            environment.get("SLIPWAY_CA_FILE", ""),
        )
        attempt = int(environment.get("SLIPWAY_ATTEMPT", "1"))
        document: Json = {
            "id": environment["SLIPWAY_RUN_ID"],
            "experiment": environment.get("SLIPWAY_EXPERIMENT", "default"),
            "state": "Running",
            "attempt": attempt,
        }
        super().__init__(Workspace(connection), document)

    @property
    def attempt(self) -> int:
        return int(self._document["attempt"])

    @property
    def rank(self) -> int:
        """Which of the run's nodes this is, from 0."""
        return int(os.environ.get("SLIPWAY_NODE_RANK", "0"))

    @property
    def node_count(self) -> int:
        return int(os.environ.get("SLIPWAY_NODE_COUNT", "1"))

    def log(
        self, metrics: Optional[Mapping[str, Any]] = None, step: Optional[int] = None, **more: Any
    ) -> None:
        _injob.log(metrics or {}, step=step, **more)

    def tag(self, tags: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        _injob.tag(tags or {}, **more)


_current: Optional[JobRun] = None


def current_run() -> Optional[JobRun]:
    """The run this process belongs to; None outside a job."""
    global _current
    if _current is None and "SLIPWAY_RUN_ID" in os.environ:
        _current = JobRun()
    return _current


class Places(Mapping[str, str]):
    """Name -> path of the job's inputs, or of its outputs."""

    def __init__(self, variable: str, what: str) -> None:
        self._variable = variable
        self._what = what

    def _known(self) -> Dict[str, str]:
        text = os.environ.get(self._variable, "")
        document = json.loads(text) if text else {}
        return {str(name): str(path) for name, path in document.items()}

    def __getitem__(self, name: str) -> str:
        known = self._known()
        if name in known:
            return known[name]
        names: List[str] = sorted(known)
        raise NotFoundError(
            f"this job has no {self._what} {name!r}",
            next=f"it has {', '.join(names)}"
            if names
            else f"name it when submitting: {self._what}s={{{name!r}: ...}}",
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __repr__(self) -> str:
        return repr(self._known())


inputs = Places("SLIPWAY_INPUTS", "input")
outputs = Places("SLIPWAY_DATA_OUTPUTS", "output")
