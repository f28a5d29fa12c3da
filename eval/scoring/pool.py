"""Spreads tasks over processes, and ends these with the one that started them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from bothends.eval.scoring.task import Bench, Result, Task
from bothends.eval.scoring.worker import Worker
from bothends.infra.errors import BothendsError, EngineError

__all__ = ["results"]

_LOST = (
    "a process that executes queries was ended from outside, perhaps for want of memory: try fewer "
    "--workers or a lower --max-rows"
)


class _Counter(Protocol):
    """A number that processes share, with its lock."""

    value: int

    def get_lock(self) -> contextlib.AbstractContextManager[Any]: ...


@contextlib.contextmanager
def results(
    tasks: Sequence[Task], bench: Bench, workers: int, done: Callable[[], None]
) -> Iterator[Iterator[Result]]:
    """Do tasks, in processes of their own where more than one is asked for.

    Args:
        tasks: The tasks.
        bench: How they are done.
        workers: How many processes.
        done: Called after each task, in whatever order they end.

    Yields:
        The results, in the order of the tasks. Work begins at once, and goes on while the caller
        does something else.

    Raises:
        EngineError: If an engine cannot be opened, or a process ends before its work does.
    """
    if min(workers, len(tasks)) < 2:
        yield _here(tasks, bench, done)
        return
    # A forked process has all modules at once; only where no thread could be cut in two.
    forks = sys.platform == "linux" and threading.active_count() == 1
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    following: _Counter = context.Value("l", 0)
    processes = []
    readers: list[Connection] = []
    for _ in range(min(workers, len(tasks))):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(
            target=_serve, args=(tasks, bench, following, writer, os.getpid()), daemon=True
        )
        process.start()
        writer.close()
        processes.append(process)
        readers.append(reader)
    found: queue.SimpleQueue[tuple[int, Result | BothendsError]] = queue.SimpleQueue()
    threading.Thread(target=_collect, args=(readers, found), daemon=True).start()
    try:
        yield _in_order(len(tasks), found, done)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _here(tasks: Sequence[Task], bench: Bench, done: Callable[[], None]) -> Iterator[Result]:
    worker = Worker(bench)
    try:
        for task in tasks:
            result = worker.do(task)
            done()
            yield result
    finally:
        worker.close()


def _in_order(
    count: int,
    found: queue.SimpleQueue[tuple[int, Result | BothendsError]],
    done: Callable[[], None],
) -> Iterator[Result]:
    early: dict[int, Result] = {}
    for number in range(count):
        while number not in early:
            index, result = found.get()
            if isinstance(result, BothendsError):
                raise result
            early[index] = result
            done()
        yield early.pop(number)


def _collect(
    readers: list[Connection], found: queue.SimpleQueue[tuple[int, Result | BothendsError]]
) -> None:
    """Take what processes have to say, so that none waits for the caller."""
    while readers:
        for reader in wait(readers):
            assert isinstance(reader, Connection)  # noqa: S101 - what was given
            try:
                message = reader.recv()
            except (EOFError, OSError):
                message = (-1, EngineError(_LOST))
            if message is None:
                readers.remove(reader)
                continue
            found.put(message)
            if isinstance(message[1], BothendsError):
                return


def _serve(
    tasks: Sequence[Task], bench: Bench, following: _Counter, writer: Connection, parent: int
) -> None:
    """Do the next task that nobody has, until there is none."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    worker = Worker(bench)
    try:
        while True:
            with following.get_lock():
                index = following.value
                following.value += 1
            if index >= len(tasks):
                break
            writer.send((index, worker.do(tasks[index])))
        writer.send(None)
    except BothendsError as error:
        writer.send((-1, EngineError(str(error))))
    except Exception:
        writer.send((-1, EngineError(f"scoring broke down: {traceback.format_exc()}")))
    finally:
        worker.close()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
