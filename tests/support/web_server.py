"""A small web server with ranges and entity tags that misbehaves on demand, for what nginx cannot be made to do."""

import contextlib
import http.server
import re
import threading
import time
import urllib.parse
from dataclasses import dataclass, field


@dataclass
class Content:
    body: bytes
    tag: str = '"1"'
    ranges: bool = True
    fail: int = 0  # answers of 500 before the first good one
    cut: int = 0  # answers that end in the middle
    length: int | None = None  # a wrong total length to tell
    rate: int = 0  # bytes a second; 0: as fast as it goes
    needs: str = ""  # the Authorization header it wants
    redirect: str = ""
    requests: list = field(default_factory=list)  # the Range of each GET, "" without one
    served: int = 0


class WebServer:
    """Up while the `with` block lasts. `server["name"]` is the content of that name."""

    def __init__(self):
        self.contents = {}
        self.lock = threading.Lock()
        handler = type("Handler", (Handler,), {"site": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def put(self, name, body, **how):
        self.contents[name] = Content(body, **how)
        return f"{self.url}/{name}"

    def __getitem__(self, name):
        return self.contents[name]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: WebServer

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        content = self.site.contents.get(urllib.parse.unquote(self.path.partition("?")[0][1:]))
        if content is None:
            self.plain(404)
            return
        wanted = self.headers.get("Range", "")
        with self.site.lock:
            if with_body:
                content.requests.append(wanted)
            failing = with_body and content.fail > 0
            content.fail -= failing
            cutting = with_body and not failing and content.cut > 0
            content.cut -= cutting
        if failing:
            self.plain(500)
            return
        if content.needs and self.headers.get("Authorization") != content.needs:
            self.plain(403)
            return
        if content.redirect:
            self.plain(302, Location=content.redirect)
            return
        self.send(content, wanted, with_body, cutting)

    def plain(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send(self, content, wanted, with_body, cutting):
        body, total = content.body, content.length or len(content.body)
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted) if content.ranges else None
        if part:
            first = int(part[1])
            last = min(int(part[2] or total - 1), total - 1)
            if first >= total:
                self.plain(416, **{"Content-Range": f"bytes */{total}"})
                return
            body = body[first : last + 1]
        self.send_response(206 if part else 200)
        self.send_header("ETag", content.tag)
        if content.ranges:
            self.send_header("Accept-Ranges", "bytes")
        if part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        self.send_header("Content-Length", str(last - first + 1 if part else total))
        self.end_headers()
        if not with_body:
            return
        if cutting:
            body = body[: len(body) // 2]
        self.close_connection = cutting or len(body) < (last - first + 1 if part else total)
        with contextlib.suppress(ConnectionError):
            self.write(content, body)

    def write(self, content, body):
        step = 64 << 10
        for at in range(0, len(body), step):
            piece = body[at : at + step]
            self.wfile.write(piece)
            with self.site.lock:
                content.served += len(piece)
            if content.rate:
                time.sleep(len(piece) / content.rate)
