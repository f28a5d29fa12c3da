"""Stops an engine's query from a second thread: when its time is up, or when it is cancelled."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from bothends.engines.base import Outcome

__all__ = ["Run", "Stopper"]

_AGAIN_S: Final = 0.05


@dataclass(slots=True)
class Run:
    """One query while it runs.

    Attributes:
        timeout_s: Seconds that it may take.
        stopped: Why it was stopped, set before it is; None where it was not.
    """

    timeout_s: float
    stopped: Literal["timeout", "cancelled"] | None = None

    def outcome(self, seconds: float) -> Outcome | None:
        """Return what became of a query that was stopped; None where it was not.

        Args:
            seconds: The time that it took.
        """
        if self.stopped == "timeout":
            message = f"stopped after the time limit of {self.timeout_s:g} s"
            return Outcome(status="timeout", seconds=seconds, error=message)
        if self.stopped == "cancelled":
            return Outcome(status="failed", seconds=seconds, error="cancelled")
        return None


class Stopper:
    """Stops the one query that an engine runs at a time."""

    def __init__(self) -> None:
        """Begin without a query."""
        self._changed = threading.Condition()
        self._run: Run | None = None

    @contextlib.contextmanager
    def watch(self, stop: Callable[[], object], timeout_s: float) -> Iterator[Run]:
        """Watch a query: call `stop` from another thread when it has to end.

        It is called again every 50 ms until the block ends, and never after: a stop that comes
        just before the query starts would otherwise be lost.

        Args:
            stop: What makes the query inside the block fail; callable from any thread.
            timeout_s: Seconds that the block may take.

        Yields:
            The run, which tells whether and why the query was stopped.
        """
        run = Run(timeout_s)
        with self._changed:
            self._run = run
        watcher = threading.Thread(
            target=self._watch, args=(run, stop), name="time-limit", daemon=True
        )
        watcher.start()
        try:
            yield run
        finally:
            with self._changed:
                self._run = None
                self._changed.notify_all()
            watcher.join()

    def cancel(self) -> None:
        """Have the query that is watched now stopped, if any; from any thread, without waiting."""
        with self._changed:
            if self._run is not None and self._run.stopped is None:
                self._run.stopped = "cancelled"
                self._changed.notify_all()

    def _watch(self, run: Run, stop: Callable[[], object]) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._run is not run or run.stopped is not None,
                min(run.timeout_s, threading.TIMEOUT_MAX),
            )
            if self._run is run and run.stopped is None:
                run.stopped = "timeout"
        while self._run is run:
            stop()
            with self._changed:
                self._changed.wait_for(lambda: self._run is not run, _AGAIN_S)
