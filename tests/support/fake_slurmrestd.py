"""A slurmrestd without a Slurm: as many nodes and jobs as one likes, and an account of what was asked.

Speaks what the engine uses of v0.0.38 over a Unix socket. Jobs that are submitted stay pending; the others are the
cluster's, made once and sent again and again.
"""

import json
import re
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

META = {"plugin": {"type": "openapi/v0.0.38"}, "Slurm": {"version": {"major": 22}, "release": "22.05.8"}}
# As large as the real one's.
FOREIGN = {
    "account": "physics", "accrue_time": 1794758297, "array_job_id": 0, "batch_host": "node1", "cluster": "lab",
    "command": "/home/somebody/very/long/path/to/a/script/that/simulates/something/run.sh", "comment": "",
    "current_working_directory": "/home/somebody/very/long/path/to/a/folder", "job_state": "RUNNING",
    "state_reason": "None", "state_description": "", "nodes": "node[1-2]", "exit_code": 0, "preempt_time": 0,
    "restart_cnt": 0, "partition": "all", "user_name": "somebody", "tres_req_str": "cpu=2,mem=200M,node=2,billing=2",
    "job_resources": {"nodes": "node[1-2]", "allocated_nodes": [{"sockets": {"1": {"cores": {"0": "allocated"}}}}] * 2},
    **{f"field_{number}": None if number % 3 else "some \"text\" with a \\ in it" for number in range(75)},
}  # fmt: skip


def document(field, items):
    return json.dumps({"meta": META, "errors": [], field: items}, indent=2).encode()


class FakeSlurmrestd:
    def __init__(self, path, nodes=10, jobs=0):
        self.path, self.asked, self.submitted = path, [], {}
        self.node_count, self.job_count = nodes, jobs
        self._lock = threading.Lock()
        one = {
            "state": "idle",
            "state_flags": [],
            "partitions": ["all"],
            "cpus": 64,
            "real_memory": 256000,
            "gres": "",
        }
        text = json.dumps({**one, **{f"field_{number}": "" for number in range(30)}}, indent=2)
        self._nodes = document("nodes", []).replace(
            b"[]\n}", ("[" + ",".join([text] * nodes) + "]}").encode()
        )
        self._foreign = ",\n".join(
            json.dumps({**FOREIGN, "job_id": number}, indent=4) for number in range(100)
        ).encode()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                fake.answer(self, "GET")

            def do_POST(self):
                fake.answer(self, "POST")

            def do_DELETE(self):
                fake.answer(self, "DELETE")

            def log_message(self, *_):
                pass

            def address_string(self):
                return "socket"

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        self.server = Server(str(path), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def endpoint(self):
        return f"unix:{self.path}"

    def count(self, what):
        return sum(1 for asked in self.asked if asked.startswith(what))

    def answer(self, handler, method):
        path = handler.path.removeprefix("/slurm/v0.0.38")
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        with self._lock:
            self.asked.append(f"{method} {path}")
        if path == "/jobs":
            return self._send_jobs(handler)
        if path == "/ping":
            return self._send(handler, document("pings", []))
        if path == "/nodes":
            return self._send(handler, self._nodes)
        if path == "/job/submit":
            return self._send(handler, self._submit(json.loads(body)))
        number = int(re.fullmatch(r"/job/(\d+)", path).group(1))
        if method == "DELETE":
            self.submitted[number]["job_state"] = "CANCELLED"
        return self._send(handler, document("jobs", [self.submitted[number]]))

    def _submit(self, order):
        with self._lock:
            number = 1_000_000 + len(self.submitted)
            job = {"job_id": number, "comment": order["job"]["comment"], "job_state": "PENDING"}
            self.submitted[number] = {**FOREIGN, **job, "state_reason": "Priority", "nodes": ""}
        return json.dumps({"meta": META, "errors": [], "job_id": number}).encode()

    def _send(self, handler, body):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _send_jobs(self, handler):
        """In pieces of a hundred: all of it at once would be hundreds of megabytes here, too."""
        with self._lock:
            ours = [json.dumps(job, indent=4).encode() for job in self.submitted.values()]
        head, tail = document("jobs", ["*"]).split(b'"*"')
        pieces = [self._foreign] * (self.job_count // 100) + ours
        length = len(head) + len(tail) + sum(map(len, pieces)) + max(0, len(pieces) - 1)
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(head)
        for index, piece in enumerate(pieces):
            handler.wfile.write(b"," + piece if index else piece)
        handler.wfile.write(tail)
