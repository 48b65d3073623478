"""The metrics of a run, and logging to one from outside."""

import time
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence

from ._feed import Feed
from ._http import Json
from ._metrics import Metrics, Series, number_for_json, number_from_json
from ._run_files import RunFiles
from .errors import NotFoundError
from .recording import Recording, Value

if TYPE_CHECKING:
    from ._workspace import Workspace

POINTS_AT_ONCE = 10000


class RunMetrics(RunFiles, Recording):
    def __init__(self, workspace: "Workspace", document: Json) -> None:
        super().__init__(workspace, document)
        self._feed: Optional[Feed] = None

    def metrics(self, name: Optional[str] = None) -> Any:
        """The last value of every metric, as a dict; with a name, that metric's whole `Series`.

        `run.metrics()` gives `{"loss": 0.12}`, `run.metrics("loss").values` gives `[0.9, 0.4, 0.12]`.
        """
        self.flush()
        if name is None:
            items = self.transport.items(self.path("/metrics"))
            return Metrics((i["name"], number_from_json(i["last"]["value"])) for i in items if i["last"])
        query = {"name": name, "limit": POINTS_AT_ONCE}
        points = self.transport.items(self.path("/metrics/points"), query)
        if not points:
            raise NotFoundError(f"run {self.id} has no metric {name!r}", next="run.metrics() lists them")
        return Series.from_json(name, points)

    def values(self, name: Optional[str] = None) -> List[Value]:
        """What was logged besides numbers, in the order it came: texts, rows, tables, pictures, charts."""
        self.flush()
        return [Value(item) for item in self.transport.items(self.path("/metrics/values"), {"name": name})]

    def log(
        self, metrics: Optional[Mapping[str, Any]] = None, step: Optional[int] = None, **more: Any
    ) -> None:
        """Logs metrics of this run from outside it: `run.log(loss=0.1, step=3)`. Sent in batches behind the scenes;
        `flush`, `complete` and the end of the program wait until they are stored. A job uses `slipway.log`."""
        now = int(time.time() * 1000000)
        self.send_entries(
            [
                {"name": name, "value": number_for_json(value), "step": int(step or 0), "time": now}
                for name, value in {**(metrics or {}), **more}.items()
            ]
        )

    def _log_entries(self, entries: Sequence[Json]) -> None:
        self.send_entries(entries)

    def send_entries(self, entries: Sequence[Json]) -> None:
        """Entries as docs/history.md describes them, over HTTP, in order."""
        if self._feed is None:
            self._feed = Feed(self)
        self._feed.add(entries)

    def _keep_picture(self, content: bytes, path: str) -> None:
        self.upload_content({path: content}, overwrite=True)

    def flush(self, timeout: Optional[float] = None) -> bool:
        """Waits until everything that was logged so far is stored; False: not within `timeout` seconds."""
        return self._feed is None or self._feed.flush(timeout)
