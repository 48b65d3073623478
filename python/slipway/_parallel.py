"""A few threads for transfers: most of their time is spent waiting for the network or hashing outside the GIL."""

import threading
from typing import Callable, List, Sequence, TypeVar

T = TypeVar("T")
CONNECTIONS = 4


def for_each(items: Sequence[T], work: Callable[[T], None], threads: int = CONNECTIONS) -> None:
    """Calls `work` for every item, several at once. The first error ends it and is raised."""
    if len(items) <= 1 or threads <= 1:
        for item in items:
            work(item)
        return
    waiting = list(reversed(items))
    errors: List[BaseException] = []
    lock = threading.Lock()

    def worker() -> None:
        while True:
            with lock:
                if errors or not waiting:
                    return
                item = waiting.pop()
            try:
                work(item)
            except BaseException as error:
                with lock:
                    errors.append(error)
                return

    started = [threading.Thread(target=worker, daemon=True) for _ in range(min(threads, len(items)))]
    for thread in started:
        thread.start()
    try:
        for thread in started:
            thread.join()
    except BaseException:
        with lock:
            waiting.clear()  # Ctrl-C: nothing new is begun
        raise
    if errors:
        raise errors[0]
