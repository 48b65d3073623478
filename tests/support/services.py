"""Deployed models, used and mistreated as their clients would."""

import collections
import http.client
import json
import threading
from pathlib import Path
from urllib.parse import urlsplit

from . import http as wire
from . import models, processes
from .server import W


class Shop:
    """A server that has models to deploy."""

    def __init__(self, slipway, files):
        self.slipway = slipway
        self.files = files
        self.folder = slipway.folder
        slipway.cli("env", "create", "frameworks", "--interpreter", models.PYTHON)
        for factor in (2, 3):
            self.register("times", files / f"times{factor}.onnx")

    def register(self, name, path, framework="onnx"):
        return self.slipway.cli(
            *("model", "register", name, "--local", path, "--framework", framework, "--no-trial")
        )

    def register_broken(self):
        path = self.folder / "broken.onnx"
        path.write_bytes(b"this is no model")
        self.register("broken", path)

    def deploy(self, name, *args, model="times:1", check=True, timeout=60):
        return self.slipway.cli(
            *("deploy", name, *(["--model", model] if model else []), "--env", "frameworks", *args),
            check=check,
            timeout=timeout,
        )

    def service(self, name):
        return Service(self.slipway, name)

    def deployed(self, name, *args, **kwargs):
        self.deploy(name, *args, **kwargs)
        return self.service(name)


class Service:
    def __init__(self, slipway, name):
        self.slipway = slipway
        self.name = name
        self.path = f"{W}/services/{name}"

    @property
    def record(self):
        return self.slipway.api("GET", self.path)

    @property
    def state(self):
        return self.record["state"]

    @property
    def events(self):
        return self.slipway.items(f"{self.path}/events")

    @property
    def kinds(self):
        return [event["kind"] for event in self.events]

    @property
    def key(self):
        return self.slipway.api("GET", f"{self.path}/keys")["primary"]

    @property
    def own_url(self):
        return f"http://127.0.0.1:{self.record['port']}"

    def post(self, path, body, key="", url=None, **kwargs):
        """On the server's own port; with `url` on another."""
        prefix = f"/services/{self.name}" if url is None else ""
        token = self.key if key == "" else key
        return wire.request(url or self.slipway.url, "POST", prefix + path, body, token=token, **kwargs)

    def score(self, number=5.0, **kwargs):
        return self.post("/score", {"instances": [[number]]}, **kwargs)

    def factor(self, **kwargs):
        """What the version that serves multiplies with."""
        answer = self.score(1.0, **kwargs)
        assert answer.status == 200, answer
        return answer.json()["predictions"][0][0]

    def patch(self, **body):
        return self.slipway.api("PATCH", self.path, body)

    def replicas(self, *states):
        found = self.record["replica_list"]
        return [replica for replica in found if not states or replica["state"] in states]

    def wait_for(self, condition, what, timeout=30):
        """Until `condition(record)` is true; gives the record."""

        def look():
            record = self.record
            return record if condition(record) else None

        try:
            return processes.wait_until(look, timeout, what)
        except AssertionError as error:
            raise AssertionError(f"{error}: {json.dumps(self.record, indent=1)} {self.events}") from None

    def wait_for_state(self, state, timeout=30):
        return self.wait_for(lambda record: record["state"] == state, f"{self.name} is not {state}", timeout)

    def replica_pid(self, replica):
        """The model server's own process."""
        supervisor = self.slipway.supervisor_pid(replica["run"])

        def child():
            for task in Path(f"/proc/{supervisor}/task").iterdir():
                for pid in (task / "children").read_text().split():
                    if "serve" in processes.command_line(pid):
                        return int(pid)
            return None

        return processes.wait_until(child, 10, f"no model server below {supervisor}")


class Load:
    """Clients that post to a service until they are told to stop, each on one kept connection."""

    def __init__(self, service, clients=4, url=None, patient=False):
        parts = urlsplit(url or service.slipway.url)
        self.address = (parts.hostname, parts.port)
        self.path = "/score" if url else f"/services/{service.name}/score"
        self.headers = {"Authorization": f"Bearer {service.key}", "Content-Type": "application/json"}
        self.patient = patient  # a connection that is refused or cut is made anew, and not counted
        self.statuses = collections.Counter()
        self.answers = collections.Counter()
        self.bodies = []
        self.cut = 0
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(clients)]

    def work(self):
        body = json.dumps({"instances": [[1.0]]})
        connection = None
        while not self.ending.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection(*self.address, timeout=30)
                connection.request("POST", self.path, body, self.headers)
                response = connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                connection = None
                with self.lock:
                    self.cut += 1
                self.ending.wait(0.01)
                continue
            with self.lock:
                self.statuses[response.status] += 1
                if response.status == 200:
                    self.answers[json.loads(text)["predictions"][0][0]] += 1
                else:
                    self.bodies.append(text)

    def count(self):
        with self.lock:
            return sum(self.statuses.values())

    def wait_for(self, more, timeout=30):
        """Until this many more requests have been answered."""
        goal = self.count() + more
        processes.wait_until(lambda: self.count() >= goal, timeout, "the clients get no answers")

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join(60)
        if not self.patient:
            assert self.cut == 0, f"{self.cut} connections were cut"
