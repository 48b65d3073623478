"""Services: registered models behind an address."""

import json
import time
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)
from urllib.parse import quote, urlsplit, urlunsplit

from . import _html
from ._events import Stream
from ._http import Json
from ._job import memory_bytes, texts
from ._named import Collection, Named
from .errors import ConflictError, InvalidArgumentError, TimedOutError

if TYPE_CHECKING:
    from ._workspace import Workspace
    from .models import Model

LOOK_PAUSE = 0.1


class Keys(NamedTuple):
    """What clients of a service send as Bearer; either of them."""

    primary: str
    secondary: str


class Service(Named):
    """A deployed model; from `ws.deploy` and `ws.services`."""

    def _path(self, below: str = "") -> str:
        return self._workspace.path("/services/" + quote(self.name, safe="") + below)

    def refresh(self) -> "Service":
        """Asks the server for the record; gives the service itself."""
        self._document = self._workspace.transport.get(self._path())
        return self

    @property
    def state(self) -> str:
        """Transitioning, Healthy, Unhealthy or Failed, now."""
        return str(self.refresh()._document["state"])

    @property
    def reason(self) -> str:
        """Why it is in the state last seen."""
        return str(self._document.get("reason", ""))

    @property
    def tags(self) -> Dict[str, str]:
        return dict(self._document.get("tags", {}))

    @property
    def models(self) -> List[str]:
        """What serves now, or is about to: NAME:VERSION."""
        versions = self._document.get("versions", [])
        chosen = self._document.get("serving") or (versions[-1] if versions else {})
        return list(chosen.get("models", []))

    @property
    def url(self) -> str:
        """Its address on the server's port."""
        return self._workspace.url.rstrip("/") + str(self._document["path"])

    @property
    def own_url(self) -> str:
        """Its address on the port of its own; empty before it has one."""
        port = self._document.get("port")
        parts = urlsplit(self._workspace.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return urlunsplit((parts.scheme, f"{host}:{port}", "", "", "")) if port else ""

    @property
    def scoring_url(self) -> str:
        return self._workspace.url.rstrip("/") + str(self._document["scoring_path"])

    def wait(self, timeout: float = 600, on_change: Optional[Callable[[str], None]] = None) -> "Service":
        """Waits until what was asked last serves. Raises ConflictError when it does not, with the reason: it
        failed, or an update was given up and the earlier version goes on. `on_change` is told each new state."""
        end = time.monotonic() + timeout
        shown = ""
        while True:
            state = self.state
            if state != shown and on_change is not None:
                on_change(state)
            shown = state
            update = self._document.get("update") or {}
            if state == "Failed":
                raise ConflictError(f"the service '{self.name}' failed: {self.reason}", next=self._look())
            if update.get("state") == "failed":
                raise ConflictError(
                    f"the update of '{self.name}' failed: {update.get('reason', '')}", next=self._look()
                )
            if state == "Healthy" and not update:
                return self
            if time.monotonic() > end:
                raise TimedOutError(
                    f"the service '{self.name}' is {state} after {timeout:g} s", next=self._look()
                )
            time.sleep(LOOK_PAUSE)

    def _look(self) -> str:
        return f"its log says more: slipway service logs {self.name}"

    # -- use ------------------------------------------------------------------------------------------------

    def keys(self) -> Keys:
        found = self._workspace.transport.get(self._path("/keys"))
        return Keys(found["primary"], found["secondary"])

    def regenerate_key(self, which: str = "primary") -> Keys:
        """Makes a key anew; the old one is refused at once."""
        if which not in ("primary", "secondary"):
            raise InvalidArgumentError(
                f"a service has no key {which!r}", next='there are "primary" and "secondary"'
            )
        found = self._workspace.transport.call("POST", self._path("/keys/" + which))
        return Keys(found["primary"], found["secondary"])

    def token(self, seconds: int = 3600) -> Json:
        """{"token", "expires_at"}, for a service whose auth is "token"."""
        return self._workspace.transport.call("POST", self._path("/token"), {"expires_seconds": seconds})

    def credentials(self) -> Dict[str, str]:
        """The header that its clients send; empty where it asks for none."""
        auth = self._document.get("auth", "key")
        if auth == "none":
            return {}
        secret = self.keys().primary if auth == "key" else self.token()["token"]
        return {"Authorization": "Bearer " + secret}

    def request(
        self, body: Any, path: Optional[str] = None, headers: Optional[Mapping[str, str]] = None
    ) -> bytes:
        """Posts a body (bytes, a text, or what becomes JSON) below its address; gives the answer's body."""
        content = body if isinstance(body, bytes) else body if isinstance(body, str) else json.dumps(body)
        sent = content.encode() if isinstance(content, str) else content
        target = str(self._document["scoring_path"] if path is None else self._document["path"] + path)
        given = {"Content-Type": "application/json", **self.credentials(), **(headers or {})}
        # Never sent twice: a script may do something at each request.
        return self._workspace.transport.exchange("POST", target, sent, given).body

    def predict(self, data: Any, path: Optional[str] = None) -> Any:
        """What the service answers to data, read from JSON.

        service.predict({"instances": [[0.1, 0.2]]})
        """
        return json.loads(self.request(data, path).decode("utf-8"))

    # -- look at it -----------------------------------------------------------------------------------------

    def logs(self, bytes: int = 1 << 20) -> str:
        """What its replicas printed, each under a line that names it; of each the last so many bytes."""
        target = self._path(f"/logs?bytes={int(bytes)}")
        return self._workspace.transport.send("GET", target).body.decode("utf-8", "replace")

    def follow_logs(self) -> Iterator[Json]:
        """The same as it comes, until the service is deleted: {"replica", "run", "version", "text"}."""
        for event in Stream(self._workspace.transport, self._path("/logs/stream")):
            if event.name == "log":
                yield event.json()

    def events(self) -> List[Json]:
        """What happened to it, oldest first."""
        return self._workspace.transport.items(self._path("/events"))

    # -- changes --------------------------------------------------------------------------------------------

    def update(self, model: Any = None, wait: bool = True, **changes: Any) -> "Service":
        """Serves another version, or the same one otherwise; takes what `Workspace.deploy` takes. The new one is loaded
        beside the old one, and no request is lost."""
        body = service_document(self._workspace, model=model, **changes)
        if not body:
            raise InvalidArgumentError("nothing to change was given", next='for example model="digits:4"')
        self._document = self._workspace.transport.call("PATCH", self._path(), body)
        return self.wait() if wait else self

    def scale(self, replicas: Any) -> "Service":
        """To a number of replicas, or between two: `service.scale((1, 4))`."""
        return self.update(replicas=replicas, wait=False)

    def delete(self) -> None:
        """Its replicas end when their requests have."""
        self._workspace.transport.remove(self._path())

    def __repr__(self) -> str:
        return f"Service({self.name!r}, {self._document.get('state')})"

    def _repr_html_(self) -> str:
        return service_table([self])


def service_table(services: Sequence[Service]) -> str:
    rows = []
    for service in services:
        about = service.document
        replicas = f"{about['ready_replicas']} of {about['wanted_replicas']}"
        rows.append(
            (service.name, _html.state(str(about["state"])), ", ".join(service.models), replicas, service.url)
        )
    return _html.table(("Service", "State", "Models", "Replicas", "Address"), rows)


class Services(Collection[Service]):
    """The services of a workspace: ws.services["digits-svc"]; `ws.deploy` makes one."""

    _kind = Service
    _folder = "/services"

    def __call__(self, name: str) -> Service:
        return self[name]

    def create(self, document: Json) -> Service:
        """Deploys what a whole document describes (NewService in api/openapi.yaml)."""
        return Service(self._workspace, self._workspace.transport.create(self._path(), document))

    def __repr__(self) -> str:
        return f"Services({[service.name for service in self.list()]})"

    def _repr_html_(self) -> str:
        return service_table(self.list())


def service_document(
    workspace: "Workspace",
    model: "Union[str, Model, Sequence[Any], None]" = None,
    replicas: Any = None,
    auth: Optional[str] = None,
    entry: Optional[str] = None,
    source: Optional[str] = None,
    environment: Any = None,
    compute: Any = None,
    cpus: Optional[float] = None,
    memory: Any = None,
    gpus: Optional[int] = None,
    workers: Optional[int] = None,
    timeout: Optional[float] = None,
    max_concurrent: Optional[int] = None,
    target_utilization: Optional[int] = None,
    scale_down_after: Optional[float] = None,
    variables: Optional[Mapping[str, Any]] = None,
    tags: Optional[Mapping[str, Any]] = None,
    description: Optional[str] = None,
) -> Json:
    """What the server is told about a service; only what was given."""
    given = (
        []
        if model is None
        else [model]
        if isinstance(model, str) or hasattr(model, "reference")
        else list(model)
    )
    optional: Json = {
        "models": [str(getattr(one, "reference", one)) for one in given] or None,
        "replicas": None if replicas is None else bounds(replicas),
        "auth": auth,
        "entry": entry,
        "snapshot": workspace.send_folder(source or ".") if entry or source else None,
        "environment": getattr(environment, "reference", environment),
        "compute": getattr(compute, "name", compute),
        "cpus": cpus,
        "memory_bytes": None if memory is None else memory_bytes(memory),
        "gpus": gpus,
        "workers": workers,
        "timeout_seconds": timeout,
        "max_concurrent_requests": max_concurrent,
        "target_utilization": target_utilization,
        "scale_down_seconds": scale_down_after,
        "variables": texts(variables) if variables else None,
        "tags": texts(tags) if tags else None,
        "description": description,
    }
    return {key: value for key, value in optional.items() if value is not None}


def bounds(replicas: Any) -> Json:
    """
    >>> bounds(2), bounds((1, 4)), bounds("1..4")
    ({'min': 2, 'max': 2}, {'min': 1, 'max': 4}, {'min': 1, 'max': 4})
    """
    try:
        if isinstance(replicas, str):
            low, _, high = replicas.partition("..")
            return {"min": int(low), "max": int(high or low)}
        if isinstance(replicas, int):
            return {"min": replicas, "max": replicas}
        low, high = replicas
        return {"min": int(low), "max": int(high)}
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{replicas!r} is not a number of replicas", next="give a number, or two for a range: (1, 4)"
        ) from None
