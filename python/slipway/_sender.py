"""Hands datagrams to the run's supervisor on this machine. What every `slipway.log` in a job goes through.

1. A message that was taken is never dropped while the process lives and the supervisor does, but beyond the bound of 4.
2. A call waits at most STALL_SECONDS for a supervisor that is behind. Then its message, and all that follow, go to a
   backlog in memory, which a thread empties in order: training goes on at full speed.
3. At the end of the process the backlog is given DRAIN_SECONDS to empty; a supervisor that is gone gets GONE_SECONDS.
4. The backlog holds BACKLOG_BYTES. What comes beyond that is counted, dropped and said on stderr at the end.
5. After fork the child begins with an empty backlog: what waits in the parent is the parent's to send.

The kernel queues only a handful of datagrams for a receiver; a sender that is quicker sleeps in send(), which costs far
less than a lock and a thread would. Hence the backlog is the exception and the system call the rule.
"""

import _socket
import atexit
import errno
import os
import struct
import sys
import time
from _weakref import ref
from typing import Any, Callable, List, Optional

STALL_SECONDS = 0.05
DRAIN_SECONDS = 30.0
GONE_SECONDS = 1.0
BACKLOG_BYTES = 64 << 20
MAX_MESSAGE = 64 << 10
# Nobody listens there (any more): the supervisor has died, or is about to bind its socket.
_GONE = (errno.ECONNREFUSED, errno.ECONNRESET, errno.ENOENT, errno.ENOTCONN, errno.EPIPE)
_FULL = (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.EINTR)


def _weak_call(sender: "Sender") -> Callable[[], None]:
    """Calls after fork are held until nothing else of the interpreter is left, and a socket that is closed so late
    crashes Python 3.7 to 3.9."""
    weak = ref(sender)

    def after_fork() -> None:
        found = weak()
        if found is not None:
            found._after_fork()

    return after_fork


class Sender:
    """Safe from any thread, and after fork."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pid = os.getpid()
        self._socket: Any = None
        self._exit_hooks = False
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_weak_call(self))
        else:  # Python 3.6: looked at before each message
            self.send = self._send_checking_fork  # type: ignore[method-assign]

    def __del__(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _reset(self) -> None:
        import threading

        self._lock = threading.Condition()
        self._backlog: List[bytes] = []
        self._backlog_bytes = 0
        self._behind = False  # the backlog's thread runs: messages must queue up behind it
        self._gone = False
        self.dropped = 0

    def _after_fork(self) -> None:
        self._pid = os.getpid()
        self._reset()
        # A child of multiprocessing runs these finalizers and no atexit.
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, self.drain, exitpriority=-100)

    def _send_checking_fork(self, message: bytes) -> None:
        if self._pid != os.getpid():
            self._after_fork()
        Sender.send(self, message)

    def send(self, message: bytes) -> None:
        """Never raises for what the supervisor does or does not do."""
        if self._behind:
            self._queue(message)
            return
        try:
            self._socket.send(message)
        except (OSError, AttributeError) as error:
            self._retry(message, error)

    def _connect(self) -> None:
        made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
        # A blocking socket with a time limit of the kernel's: one system call for a message, even when it has to wait.
        whole, part = divmod(STALL_SECONDS, 1)
        made.setsockopt(
            _socket.SOL_SOCKET, _socket.SO_SNDTIMEO, struct.pack("@ll", int(whole), int(part * 1000000))
        )
        made.settimeout(None)
        made.connect(self._path)
        self._socket = made

    def _retry(self, message: bytes, error: BaseException) -> None:
        """The quick way did not work: the first message, a supervisor that is behind, or one that is gone."""
        if isinstance(error, OSError) and error.errno not in _GONE and error.errno not in _FULL:
            self._drop(1, str(error))  # EMSGSIZE: it never fits
            return
        if not isinstance(error, OSError) or error.errno in _GONE:
            try:
                self._connect()
                self._socket.send(message)
                return
            except OSError:
                pass
        self._queue(message)

    # -- the backlog ----------------------------------------------------------------------------------------

    def _queue(self, message: bytes) -> None:
        with self._lock:
            if self._backlog_bytes + len(message) > BACKLOG_BYTES:
                self.dropped += 1
                return
            self._backlog.append(message)
            self._backlog_bytes += len(message)
            if self._behind:
                return
            self._behind = True
            if not self._exit_hooks:
                self._exit_hooks = True
                atexit.register(self.drain)
        import threading

        try:
            threading.Thread(target=self._empty_backlog, name="slipway-log", daemon=True).start()
        except RuntimeError:  # the interpreter is ending and starts no threads any more
            self._behind = False

    def _empty_backlog(self) -> None:
        pause = 0.001
        while True:
            with self._lock:
                if not self._backlog:
                    self._behind = False
                    self._lock.notify_all()
                    return
                waiting = self._backlog[:256]
            sent = 0
            try:
                for message in waiting:
                    self._socket.send(message)
                    sent += 1
                self._gone = False
                pause = 0.001
            except (OSError, AttributeError) as error:
                self._gone = not isinstance(error, OSError) or error.errno in _GONE
                if isinstance(error, OSError) and not self._gone and error.errno not in _FULL:
                    self._drop(1, str(error))
                    sent += 1
            with self._lock:
                self._backlog_bytes -= sum(map(len, self._backlog[:sent]))
                del self._backlog[:sent]
            if self._gone:
                time.sleep(pause)
                pause = min(pause * 2, 0.2)
                try:
                    self._connect()
                except OSError:
                    continue

    def _drop(self, count: int, why: str) -> None:
        with self._lock:
            self.dropped += count
        sys.stderr.write(f"slipway: a message could not be logged: {why}\n")

    def drain(self, timeout: Optional[float] = None) -> bool:
        """Waits until all is handed over; False: the time is over. Called at the end of the process."""
        begin = time.monotonic()
        with self._lock:
            while self._behind:
                limit = timeout if timeout is not None else GONE_SECONDS if self._gone else DRAIN_SECONDS
                if time.monotonic() - begin > limit:
                    break
                self._lock.wait(0.05)
            lost = self.dropped + len(self._backlog)
        if lost and timeout is None:
            sys.stderr.write(
                f"slipway: {lost} messages were not taken by the run's supervisor, which is gone or far behind\n"
            )
        return lost == 0
