"""A TCP proxy that does to a connection what networks do: cuts it, stalls it, loses the answer, says things twice."""

import contextlib
import socket
import threading


class FaultProxy:
    """Forwards to `target` until told otherwise. Modes apply to connections made after they are set:

    pass            forwards both ways
    lose-answers    the request gets through; the connection is cut when the first byte of the answer comes
    stall           accepts and forwards nothing: a half-open peer
    freeze          forwards nothing more in either direction on connections old and new, without closing them
    refuse          closes at once
    """

    def __init__(self, target):
        host, _, port = target.removeprefix("http://").rpartition(":")
        self.target = (host, int(port))
        self.mode = "pass"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lost = 0  # answers thrown away so far
        self._open = set()
        self._frozen = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, mode):
        self.mode = mode
        self._frozen.set() if mode == "freeze" else self._frozen.clear()

    def cut(self):
        """Cuts every connection that is open now."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._frozen.clear()
        self.listener.close()
        self.cut()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        mode = self.mode
        with self._lock:
            self._open.add(client)
        try:
            if mode == "refuse":
                return
            if mode in {"stall", "freeze"}:
                client.recv(1, socket.MSG_PEEK)
                threading.Event().wait(120)
                return
            with socket.create_connection(self.target) as server:
                with self._lock:
                    self._open.add(server)
                back = threading.Thread(target=self._copy, args=(server, client, mode), daemon=True)
                back.start()
                self._copy(client, server, "pass")
                back.join()
                with self._lock:
                    self._open.discard(server)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(client)
            client.close()

    def _copy(self, source, sink, mode):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if mode == "lose-answers":
                    self.lost += 1
                    source.shutdown(socket.SHUT_RDWR)
                    sink.shutdown(socket.SHUT_RDWR)
                    return
                while self._frozen.is_set():
                    threading.Event().wait(0.05)
                sink.sendall(piece)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
