"""Slots: a few engines that many trials share, and the time that each waits for its turn."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterator, Sequence

from bothends.engines.base import Engine, Fingerprint, Limits, Outcome
from bothends.engines.estimate import Estimate

__all__ = ["EngineSlots", "QueuedEngine"]


class EngineSlots:
    """Engines over the same data, each of which serves one caller at a time.

    Args:
        engines: One for each slot; at least one.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = tuple(engines)
        # Those who wait are served in the order in which they came.
        self._free: queue.SimpleQueue[Engine] = queue.SimpleQueue()
        for engine in self.engines:
            self._free.put(engine)

    @contextlib.contextmanager
    def take(self) -> Iterator[Engine]:
        """Wait for an engine that is free, and have it to oneself, ready for its next query.

        Raises:
            EngineError: If it cannot be made ready.
        """
        engine = self._free.get()
        try:
            engine.prepare()
            yield engine
        finally:
            self._free.put(engine)


class QueuedEngine(Engine):
    """An engine that takes a slot for each call; for one thread.

    Its clock stands still while a call waits for its turn, so that what is timed by it is the same
    whether other trials run or not.

    Args:
        slots: The slots.
    """

    def __init__(self, slots: EngineSlots) -> None:
        self._slots = slots
        self.queued_s = 0.0
        first = slots.engines[0]
        self.name, self.dialect, self.title, self.lacks = (
            first.name,
            first.dialect,
            first.title,
            first.lacks,
        )

    def clock_s(self) -> float:
        """Return the seconds of a clock that stands still while a call waits for its turn."""
        return time.perf_counter() - self.queued_s

    @contextlib.contextmanager
    def _turn(self) -> Iterator[Engine]:
        asked_s = time.perf_counter()
        with self._slots.take() as engine:
            self.queued_s += time.perf_counter() - asked_s
            yield engine

    def list_tables(self) -> tuple[str, ...]:
        """Return the names of the catalog's tables and views, sorted."""
        with self._turn() as engine:
            return engine.list_tables()

    def ddl(self, table: str) -> str:
        """Return the engine's own DDL for a table.

        Raises:
            UnknownTableError: If the catalog does not hold it.
        """
        with self._turn() as engine:
            return engine.ddl(table)

    def sample(self, table: str, rows: int) -> Outcome:
        """Return the first rows of a table, in no particular order.

        Raises:
            UnknownTableError: If the catalog does not hold it.
        """
        with self._turn() as engine:
            return engine.sample(table, rows)

    def fingerprint(self) -> Fingerprint:
        """Return what queries run on here."""
        with self._turn() as engine:
            return engine.fingerprint()

    def execute(self, sql: str, limits: Limits | None = None) -> Outcome:
        """Run one reading statement to completion, as `Engine.execute` does."""
        with self._turn() as engine:
            return engine.execute(sql, limits)

    def explain(self, sql: str) -> Outcome:
        """Plan one reading statement without running it, as `Engine.explain` does."""
        with self._turn() as engine:
            return engine.explain(sql)

    def estimate(self, sql: str) -> Estimate:
        """Tell what one reading statement would do, as `Engine.estimate` does."""
        with self._turn() as engine:
            return engine.estimate(sql)

    def cancel(self) -> None:
        """Do nothing: which of the engines runs this caller's query is not known here."""

    def close(self) -> None:
        """Do nothing: the engines belong to the slots."""

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        with self._turn() as engine:
            return engine._execute(sql, limits)

    def _explain(self, sql: str) -> Outcome:
        with self._turn() as engine:
            return engine._explain(sql)

    def _digest(self, sql: str, result: Outcome, limits: Limits) -> str | None:
        with self._turn() as engine:
            return engine._digest(sql, result, limits)
