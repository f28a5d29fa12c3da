"""Stops an engine's query from a second thread when its time is up."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

__all__ = ["time_limit"]


@contextlib.contextmanager
def time_limit(stop: Callable[[], object], timeout_s: float) -> Iterator[threading.Event]:
    """Call `stop` from another thread when the time is up and the block has not ended.

    It is called again every 50 ms until the block ends: a stop that comes just before the query
    starts would otherwise be lost.

    Args:
        stop: What makes the query inside the block fail; callable from any thread.
        timeout_s: Seconds that the block may take.

    Yields:
        The event that is set when the time is up, before the first call of `stop`.
    """
    done = threading.Event()
    expired = threading.Event()

    def watch() -> None:
        wait_s = min(timeout_s, threading.TIMEOUT_MAX)
        while not done.wait(wait_s):
            expired.set()
            stop()
            wait_s = 0.05

    watcher = threading.Thread(target=watch, name="time-limit", daemon=True)
    watcher.start()
    try:
        yield expired
    finally:
        done.set()
        watcher.join()
