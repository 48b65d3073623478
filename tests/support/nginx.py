"""A real web server with ranges and entity tags: nginx, serving one folder while a `with` block lasts."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

CONFIGURATION = """
daemon off;
worker_processes 2;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 512; }}
http {{
    access_log {folder}/access.log;
    default_type application/octet-stream;
    sendfile on;
    keepalive_requests 100000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
        location /forbidden/ {{ return 403; }}
        location /broken/ {{ return 500; }}
        location /private/ {{
            if ($http_authorization != "{authorization}") {{ return 401; }}
            alias {root}/;
        }}
        location = /to-file {{ return 302 file:///etc/passwd; }}
        location = /to-ftp {{ return 302 ftp://127.0.0.1/x; }}
        location = /to-loop {{ return 302 /to-loop; }}
        location = /to-metadata {{ return 302 http://169.254.169.254/latest; }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
        {extra}
    }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    """`root` is the folder it serves; `authorization` is what /private/ wants; `extra` goes into its server block."""

    def __init__(self, root, authorization="Bearer open-sesame", extra=""):
        self.root = Path(root)
        self.authorization = authorization
        self.extra = extra
        self.folder = Path(tempfile.mkdtemp(prefix="slw-nginx-"))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def __enter__(self):
        configuration = self.folder / "nginx.conf"
        configuration.write_text(
            CONFIGURATION.format(
                folder=self.folder,
                port=self.port,
                root=self.root,
                authorization=self.authorization,
                extra=self.extra,
                user="user root;" if Path("/root").owner() == Path("/proc/self").owner() else "",
            )
        )
        self.process = subprocess.Popen(["nginx", "-c", str(configuration), "-p", str(self.folder)])
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self
            assert self.process.poll() is None, (self.folder / "error.log").read_text()
            time.sleep(0.02)
        raise AssertionError("nginx did not begin to listen")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def put(self, path, content):
        """Writes a file below the root and gives its address."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return f"{self.url}/{path}"

    @property
    def requests(self):
        return (self.folder / "access.log").read_text()
