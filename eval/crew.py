"""Several threads that work through one list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["work_through"]

T = TypeVar("T")


def work_through(
    items: Sequence[T], workers: int, begin: Callable[[], Callable[[T], bool]]
) -> None:
    """Work through items, begun in their order, so many at a time.

    With one worker all is done in the caller's own thread. What is under way is finished where
    another one fails or ends the work; an interrupt waits for nothing.

    Args:
        items: What is to be done.
        workers: Threads at most.
        begin: Called once in each thread; returns what does one item, which returns whether the
            work goes on.

    Raises:
        BaseException: The first that a worker raised.
    """
    if workers == 1 or len(items) < 2:
        work = begin()
        for item in items:
            if not work(item):
                return
        return
    pending = iter(items)
    lock = threading.Lock()
    ended = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work = begin()
            while not ended.is_set():
                with lock:
                    item = next(pending, None)
                if item is None:
                    return
                if not work(item):
                    ended.set()
        except BaseException as error:  # raised again in the caller's thread
            errors.append(error)
            ended.set()

    # Daemons: a model may take minutes to answer, and an interrupted run does not wait for it.
    threads = [
        threading.Thread(target=run, name=f"worker-{number}", daemon=True)
        for number in range(min(workers, len(items)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        ended.set()
    if errors:
        raise errors[0]
