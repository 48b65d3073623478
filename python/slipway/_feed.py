"""What a program logs to a run from outside, gathered and sent in batches by a thread of its own.

1. An entry costs its caller an append; the network is never waited for, but in `flush`.
2. Batches of one feed go one after the other, numbered: one that is sent again after a lost answer is stored once.
3. A server that is away is waited for; meanwhile up to MOST entries are kept, then callers wait.
4. What cannot be stored (the run is gone, the token is refused) is raised by the next `flush`, `complete` or log.
"""

import atexit
import os
import threading
import time
from typing import TYPE_CHECKING, List, Optional, Sequence

from ._http import Json, new_key
from .errors import TRANSIENT, SlipwayError

if TYPE_CHECKING:
    from ._record import RunRecord

BATCH = 5000
MOST = 200000
GATHER_SECONDS = 0.05
EXIT_SECONDS = 30.0


class Feed:
    def __init__(self, run: "RunRecord") -> None:
        self._run = run
        self._begin()
        atexit.register(self._at_exit)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._source = new_key()
        self._sequence = 0
        self._changed = threading.Condition()
        self._entries: List[Json] = []
        self._sending = 0
        self._thread: Optional[threading.Thread] = None
        self._error: Optional[SlipwayError] = None

    def add(self, entries: Sequence[Json]) -> None:
        if self._pid != os.getpid():
            self._begin()  # after fork: what the parent gathered is the parent's to send
        with self._changed:
            self._raise_error()
            while len(self._entries) > MOST and self._error is None:
                self._changed.wait(1.0)
            self._entries.extend(entries)
            if self._thread is None:
                self._thread = threading.Thread(target=self._send_all, name="slipway-feed", daemon=True)
                self._thread.start()

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _send_all(self) -> None:
        while True:
            # Those that come close together travel together.
            time.sleep(GATHER_SECONDS)
            with self._changed:
                if not self._entries:
                    self._thread = None
                    self._changed.notify_all()
                    return
                batch, self._entries = self._entries[:BATCH], self._entries[BATCH:]
                self._sending = len(batch)
                self._sequence += 1
            error = self._send(batch)
            with self._changed:
                self._sending = 0
                if error is not None:
                    self._error = error
                    self._sequence -= 1
                self._changed.notify_all()

    def _send(self, batch: List[Json]) -> Optional[SlipwayError]:
        body = {"points": batch, "source": self._source, "sequence": self._sequence}
        while True:
            try:
                self._run.transport.call("POST", self._run.path("/metrics"), body)
                return None
            except TRANSIENT as error:
                if not self._run.transport.was_there:
                    return error
                time.sleep(0.5)
            except SlipwayError as error:
                return error

    def flush(self, timeout: Optional[float] = None) -> bool:
        """Until everything added so far is stored; False: the time is over. Raises what kept it from being stored."""
        if self._pid != os.getpid():
            return True
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while (self._entries or self._sending) and self._error is None:
                if end is not None and time.monotonic() >= end:
                    return False
                self._changed.wait(0.1)
            self._raise_error()
        return True

    def _at_exit(self) -> None:
        try:
            done = self.flush(EXIT_SECONDS)
        except SlipwayError:
            done = False
        if not done:
            import sys

            sys.stderr.write(f"slipway: not everything logged to run {self._run.id} could be stored\n")
