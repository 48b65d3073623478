"""The workspace: the top-level place that holds experiments, runs, compute, environments and data."""

import os
import threading
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from . import _html
from ._connection import Connection, check_name, default_home, find_connection
from ._git import git_state
from ._http import Json, Transport
from ._job import Places, check_script, command_of, resources_of, texts
from ._transfer import send_source
from .compute import Clusters
from .data import Datasets
from .datastores import Datastores
from .environments import Environments
from .errors import InvalidArgumentError, NotFoundError
from .experiment import Experiment, Experiments
from .models import Models
from .run import Run, Runs
from .services import Service, Services, service_document


class Workspace:
    """A workspace on a server. `slipway.workspace()` finds it; several threads may share one."""

    def __init__(self, connection: Connection) -> None:
        self.transport = Transport(connection)

    @property
    def name(self) -> str:
        return self.transport.connection.workspace

    @property
    def url(self) -> str:
        """Of the server."""
        return self.transport.connection.url

    def path(self, below: str = "") -> str:
        """Of the workspace in the HTTP API."""
        return self.transport.connection.in_workspace(below)

    @property
    def document(self) -> Json:
        """{"name", "description", "created_at", "runs"} as the server has it now."""
        return self.transport.get(self.path())

    def write_config(self, folder: str = ".") -> str:
        """Writes .slipway/config.json there, so that `slipway.workspace()` and the command line find this workspace
        from that folder and those below it. Holds no token. Gives its path."""
        import json

        target = os.path.join(folder, ".slipway", "config.json")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            json.dump({"url": self.url, "workspace": self.name}, file, indent=2)
            file.write("\n")
        return target

    def __repr__(self) -> str:
        return f"Workspace({self.name!r}, {self.url})"

    def _repr_html_(self) -> str:
        about = self.document
        return _html.table(
            ("Workspace", "Server", "Runs", "Description"),
            [(self.name, self.url, about["runs"], about["description"])],
        )

    # -- runs -----------------------------------------------------------------------------------------------

    def submit(
        self,
        script: Optional[str] = None,
        source: Optional[str] = ".",
        args: Sequence[Any] = (),
        command: Union[str, Sequence[Any], None] = None,
        compute: Any = None,
        environment: Any = None,
        experiment: str = "default",
        name: str = "",
        inputs: Optional[Mapping[str, Any]] = None,
        outputs: Optional[Mapping[str, Any]] = None,
        tags: Optional[Mapping[str, Any]] = None,
        variables: Optional[Mapping[str, Any]] = None,
        nodes: int = 1,
        processes: int = 1,
        launcher: str = "",
        cpus: Optional[float] = None,
        memory: Any = None,
        gpus: Optional[int] = None,
        timeout: Optional[float] = None,
        grace: Optional[float] = None,
        attempts: Optional[int] = None,
        priority: Optional[str] = None,
        parent: Optional[Run] = None,
    ) -> Run:
        """Sends the folder `source` and runs a script, or a command, in a copy of it. Gives the run at once.

        `script` is a Python file below `source`, run with `args`. `command` instead is a list of words, or one line
        for the shell. `source=None` sends no folder. `timeout` and `grace` are seconds, `memory` GiB or a text such as
        "512MiB"; `variables` are environment variables; `priority` is "low", "normal" or "high". `processes` on each
        of the `nodes` are started by `launcher`: "mpi", "pytorch" or "tensorflow", which may say more
        ("tensorflow:workers=2,ps=1"). An input or output among the arguments stands for its path.

            run = ws.submit("train.py", args=["--epochs", 3], environment="curated/tensorflow")
            run.follow()
        """
        places = Places(inputs, outputs)
        words = command_of(script, args, command, places)
        job: Json = {"command": words, "experiment": experiment, "nodes": nodes}
        check_name(experiment, "an experiment")
        if script is not None and source is not None:
            check_script(source, script)
        optional: Dict[str, Any] = {
            "compute": getattr(compute, "name", compute),
            "environment": getattr(environment, "reference", environment),
            "display_name": name or None,
            "launcher": launcher or None,
            "processes": processes if processes != 1 else None,
            "timeout_seconds": timeout,
            "grace_seconds": grace,
            "max_attempts": attempts,
            "priority": priority,
            "tags": texts(tags) if tags else None,
            "variables": texts(variables) if variables else None,
            "inputs": places.inputs or None,
            "outputs": places.outputs or None,
            "resources": resources_of(cpus, memory, gpus),
        }
        job.update((key, value) for key, value in optional.items() if value is not None)
        if source is not None:
            self._add_source(job, source)
        return self.submit_job(job, parent=parent)

    def _add_source(self, job: Json, source: str) -> None:
        folder = os.path.realpath(os.path.expanduser(source))
        home = os.path.realpath(self.transport.connection.home or default_home())
        if os.path.exists(home) and (home + "/").startswith(folder.rstrip("/") + "/"):
            raise InvalidArgumentError(
                f"{folder} holds Slipway's own files ({home})", next="choose a smaller folder with source=..."
            )
        git: Json = {}
        # git looks at the folder while it is hashed.
        reader = threading.Thread(target=lambda: git.update(git_state(folder)), daemon=True)
        reader.start()
        job["snapshot"] = send_source(self.transport, folder)[0]
        reader.join()
        if git:
            job["git"] = git

    def submit_job(self, job: Json, key: Optional[str] = None, parent: Optional[Run] = None) -> Run:
        """Submits a job as api/openapi.yaml describes it. The same `key` and job submit it once, however often."""
        target = self.path("/runs") if parent is None else parent.path("/children/jobs")
        return Run(self, self.transport.create(target, job, key))

    def start_run(
        self,
        experiment: str = "default",
        name: str = "",
        tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None,
        source: Optional[str] = None,
    ) -> Run:
        """Begins an interactive run, which this program keeps itself: it logs, and ends it with `complete` or `fail`,
        or with a block. `source` is a folder to record with it.

            with ws.start_run("digits") as run:
                run.log(loss=0.5, step=1)
        """
        check_name(experiment, "an experiment")
        wanted: Json = {
            "experiment": experiment,
            "tags": texts(tags or {}),
            "properties": texts(properties or {}),
        }
        if name:
            wanted["display_name"] = name
        if source is not None:
            self._add_source(wanted, source)
        return Run(self, self.transport.create(self.path("/interactive-runs"), wanted))

    def send_folder(self, folder: str) -> str:
        """Makes a source folder known to the server; gives the snapshot's id for a job."""
        return send_source(self.transport, folder)[0]

    def run(self, id: str) -> Run:
        """A run by its id, a unique beginning of it, or "latest"."""
        from urllib.parse import quote

        if not id:
            raise NotFoundError("a run has an id; this one is empty")
        return Run(self, self.transport.get(self.path("/runs/" + quote(id, safe=""))))

    def runs(
        self,
        experiment: Optional[str] = None,
        state: Optional[str] = None,
        tag: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Runs:
        """Newest first; `tag` is written key=value."""
        query = {"experiment": experiment, "state": state, "tag": tag}
        return self.runs_of(self.transport.items(self.path("/runs"), query, limit))

    def runs_of(self, documents: Iterable[Json]) -> Runs:
        """Runs from their records."""
        return Runs(Run(self, document) for document in documents)

    def experiment(self, name: str) -> Experiment:
        check_name(name, "an experiment")
        return Experiment(self, name)

    def experiments(self) -> Experiments:
        items = self.transport.items(self.path("/experiments"))
        return Experiments(Experiment(self, item["name"], item) for item in items)

    # -- the rest -------------------------------------------------------------------------------------------

    @property
    def compute(self) -> Clusters:
        return Clusters(self)

    @property
    def environments(self) -> Environments:
        return Environments(self)

    @property
    def data(self) -> Datasets:
        return Datasets(self)

    @property
    def datastores(self) -> Datastores:
        return Datastores(self)

    @property
    def models(self) -> Models:
        return Models(self)

    @property
    def services(self) -> Services:
        return Services(self)

    def deploy(
        self, name: str, model: Any = None, overwrite: bool = False, wait: bool = True, **settings: Any
    ) -> Service:
        """Turns a registered model into a web service, and waits until it answers.

        The framework of the model decides what it is served with; `entry`, a script with `init()` and `run(data)` in
        the folder `source`, and `environment` serve anything. More: `replicas` (a number, or two to scale between),
        `auth` ("key", "token", "none"), `compute`, `cpus`, `memory`, `gpus`, `workers`, `timeout`, `max_concurrent`,
        `target_utilization`, `scale_down_after`, `variables`, `tags`, `description`.

            service = ws.deploy("digits-svc", "digits:3", replicas=(1, 4))
            service.predict({"instances": [[0.1, 0.2]]})
        """
        document = service_document(self, model=model, **settings)
        made = self.services.create({"name": name, "overwrite": overwrite, **document})
        return made.wait() if wait else made


def workspace(
    name: Optional[str] = None,
    url: Optional[str] = None,
    token: Optional[str] = None,
    token_file: Optional[str] = None,
    ca_file: Optional[str] = None,
    home: Optional[str] = None,
    folder: Optional[str] = None,
) -> Workspace:
    """The workspace that is meant here, once it is known that the server answers and has it.

    Without arguments the server comes from SLIPWAY_URL, from a config.json in the working folder or one above it, or is
    the one that `slipway up` started on this machine; tokens are found the same way.

        ws = slipway.workspace()
        ws = slipway.workspace("vision", url="https://slipway.example:7070", token_file="~/.slipway-token")
    """
    found = Workspace(find_connection(name, url, token, token_file, ca_file, home, folder))
    try:
        found.transport.get(found.path())
    except NotFoundError as error:
        error.next = (
            f"create it: slipway workspace create {found.name}, or slipway.create_workspace({found.name!r})"
        )
        raise
    return found


def create_workspace(
    name: str, description: str = "", exist_ok: bool = False, **connection: Any
) -> Workspace:
    """Creates a workspace; takes the keyword arguments of `workspace` that say where the server is."""
    check_name(name, "a workspace")
    made = Workspace(find_connection(name, **connection))
    if exist_ok:
        try:
            made.transport.get(made.path())
            return made
        except NotFoundError:
            pass
    made.transport.create("/api/v1/workspaces", {"name": name, "description": description})
    return made


class WorkspaceList(List[Json]):
    """The workspaces a token may see; shows itself as a table in notebooks."""

    def _repr_html_(self) -> str:
        return _html.table(
            ("Workspace", "Runs", "Description"), ((w["name"], w["runs"], w["description"]) for w in self)
        )


def workspaces(**connection: Any) -> WorkspaceList:
    """All workspaces that the caller may see: {"name", "description", "created_at", "runs"}."""
    transport = Transport(find_connection(**connection))
    return WorkspaceList(transport.items("/api/v1/workspaces"))
