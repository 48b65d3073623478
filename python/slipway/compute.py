"""Clusters: nodes of one size with limits on their number, which come when runs wait and go when they are idle."""

import time
from typing import Any, Dict, List, Optional
from urllib.parse import quote

from . import _html
from ._connection import check_name
from ._http import Json
from ._job import memory_bytes
from ._named import Collection, Named
from ._snapshot import size_text
from .errors import TimedOutError

POLL_SECONDS = 0.5


class Cluster(Named):
    """An elastic cluster; from `ws.compute`."""

    def _path(self, below: str = "") -> str:
        return self._workspace.path("/compute/" + quote(self.name, safe="") + below)

    def refresh(self) -> "Cluster":
        self._document = self._workspace.transport.get(self._path())
        return self

    @property
    def min_nodes(self) -> int:
        return int(self._document["min_nodes"])

    @property
    def max_nodes(self) -> int:
        return int(self._document["max_nodes"])

    def nodes(self) -> List[Json]:
        """The nodes there are now: {"id", "state", "cpus", "memory_bytes", "gpus", "runs", ...}."""
        return self._workspace.transport.items(self._path("/nodes"))

    def update(
        self,
        min_nodes: Optional[int] = None,
        max_nodes: Optional[int] = None,
        idle_seconds: Optional[float] = None,
        priority: Optional[str] = None,
    ) -> "Cluster":
        """Changes what is given."""
        changes = _given(
            min_nodes=min_nodes, max_nodes=max_nodes, idle_seconds=idle_seconds, priority=priority
        )
        self._document = self._workspace.transport.call("PATCH", self._path(), changes)
        return self

    def delete(self) -> None:
        """A cluster without work."""
        self._workspace.transport.remove(self._path())

    def wait(self, nodes: Optional[int] = None, timeout: float = 300) -> "Cluster":
        """Until as many nodes are ready as are asked for; without a number, the cluster's minimum."""
        end = time.monotonic() + timeout
        while True:
            wanted = self.refresh().min_nodes if nodes is None else nodes
            ready = sum(1 for node in self.nodes() if node["state"] in ("idle", "busy"))
            if ready >= wanted:
                return self
            if time.monotonic() >= end:
                raise TimedOutError(
                    f"cluster {self.name} has {ready} of {wanted} nodes after {timeout:g} s",
                    next=f"look at what is missing: slipway compute show {self.name}",
                )
            time.sleep(POLL_SECONDS)

    def __repr__(self) -> str:
        return f"Cluster({self.name!r}, {self.min_nodes} to {self.max_nodes} nodes)"

    def _repr_html_(self) -> str:
        return cluster_table([self])


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def cluster_table(clusters: List[Cluster]) -> str:
    rows = []
    for cluster in clusters:
        about = cluster.document
        states = ", ".join(f"{count} {state}" for state, count in about.get("nodes", {}).items() if count)
        size = f"{about.get('cpus', 0):g} CPUs, {size_text(about.get('memory_bytes', 0))}"
        rows.append(
            (
                cluster.name,
                f"{cluster.min_nodes} to {cluster.max_nodes}",
                size,
                states,
                about.get("queued_runs"),
            )
        )
    return _html.table(("Cluster", "Nodes", "Size", "Now", "Waiting runs"), rows)


class Clusters(Collection[Cluster]):
    """The clusters of a workspace: `ws.compute["cpu"]`, `ws.compute.create("cpu", max_nodes=4)`, `list(ws.compute)`."""

    _kind = Cluster
    _folder = "/compute"

    def create(
        self,
        name: str,
        min_nodes: int = 0,
        max_nodes: int = 1,
        idle_seconds: Optional[float] = None,
        cpus: Optional[float] = None,
        memory: Any = None,
        gpus: Optional[int] = None,
        priority: Optional[str] = None,
    ) -> Cluster:
        """`cpus`, `memory` (GiB, or "4G") and `gpus` are the size of each node; left out, a share of the machine."""
        check_name(name, "a cluster")
        wanted: Dict[str, Any] = {"name": name, "min_nodes": min_nodes, "max_nodes": max_nodes}
        wanted.update(_given(idle_seconds=idle_seconds, cpus=cpus, gpus=gpus, priority=priority))
        if memory is not None:
            wanted["memory_bytes"] = memory_bytes(memory)
        return Cluster(self._workspace, self._workspace.transport.create(self._path(), wanted))

    def __repr__(self) -> str:
        return f"Clusters({[cluster.name for cluster in self.list()]})"

    def _repr_html_(self) -> str:
        return cluster_table(self.list())
