"""A package index of a few small wheels, served over real HTTP, that a test can slow down, count and stop."""

import base64
import hashlib
import http.server
import io
import threading
import time
import zipfile


def wheel(name, version, files=None, requires=()):
    """A pure wheel with one module of the package's name that knows its version."""
    module = name.replace("-", "_")
    content = {f"{module}/__init__.py": f'__version__ = "{version}"\nVALUE = 1\n', **(files or {})}
    info = f"{module}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {line}" for line in requires]
    content[f"{info}/METADATA"] = "\n".join(metadata) + "\n"
    content[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = []
    for path, text in content.items():
        data = text if isinstance(text, bytes) else text.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}")
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in content.items():
            archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), text)
    return f"{module}-{version}-py3-none-any.whl", buffer.getvalue()


class Index:
    def __init__(self):
        self.packages = {}  # name -> {file name: bytes}
        self.asked = []  # every path asked for
        self.delay = 0.0  # before each wheel
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                self.answer(with_body=False)

            def do_GET(self):
                index.asked.append(self.path)
                self.answer(with_body=True)

            def answer(self, with_body):
                body, kind = index.answer(self.path, wait=with_body)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                if with_body:
                    self.wfile.write(body or b"")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def add(self, name, version, **kwargs):
        file, data = wheel(name, version, **kwargs)
        self.packages.setdefault(name, {})[file] = data

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/simple/"

    def answer(self, path, wait=True):
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2 and parts[1] in self.packages:
            links = [
                f'<a href="/files/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a>'
                for file, data in self.packages[parts[1]].items()
            ]
            return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), "text/html"
        if parts[0] == "files":
            time.sleep(self.delay if wait else 0)
            for files in self.packages.values():
                if parts[-1] in files:
                    return files[parts[-1]], "application/octet-stream"
        return None, "text/plain"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
