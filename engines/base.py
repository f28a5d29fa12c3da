"""What every engine is to the rest of the house: one small interface, and what it answers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType, TracebackType
from typing import Any, Literal, Self

from bothends.engines.estimate import Estimate
from bothends.engines.facts import EngineFacts, Execution
from bothends.engines.guard import Rejection, check_read_only

__all__ = ["Capability", "Engine", "Fingerprint", "Limits", "Outcome", "OutcomeStatus"]

OutcomeStatus = Literal["ok", "failed", "timeout", "rejected"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may take.

    Attributes:
        timeout_s: Seconds after which the query is stopped inside the engine.
        max_rows: Rows that are kept at most; the others are counted and dropped.
        max_cell_bytes: What one text or binary cell, or such a value within a nested cell, may
            hold at most; a longer one is cut.
        digest: Whether a result of which not everything was kept is digested in the engine. That
            is a second execution, outside the outcome's seconds.
        max_bytes: What the kept rows may hold at most, about, after cells are cut; the rows past
            it are counted and dropped like those past `max_rows`.
    """

    timeout_s: float = 300.0
    max_rows: int = 100_000
    max_cell_bytes: int = 2**20
    digest: bool = False
    max_bytes: int = 2**28


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one query.

    Attributes:
        status: `ok` (executed), `failed` (the engine refused it or broke), `timeout`, or
            `rejected` (by the read-only guard, or by a pre-flight limit, before it ran).
        columns: Column names by position; names may repeat.
        types: The engine's own type name of each column, lower case.
        rows: The first rows, as many as `Limits` allows, columns by position, as plain Python
            values (None, bool, int, float, Decimal, str, bytes, date, datetime, list, dict).
        row_count: The true number of rows, or None where the query did not execute.
        truncated: Whether `rows` holds fewer rows than `row_count`.
        cells_cut: Whether a kept cell was longer than `Limits.max_cell_bytes` and is cut.
        digest: The engine's digest of the whole result, where it was asked for and not everything
            was kept: on one engine, results with the same digest hold the same rows, in any order,
            with the same columns at the same places. None elsewhere.
        seconds: Wall time in the engine, from submission until the last row was received.
        error: The engine's message or the guard's reason, shortened; None where ok.
        execution: Where the engine tells what it took; None where it does not.
    """

    status: OutcomeStatus
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    row_count: int | None = None
    truncated: bool = False
    cells_cut: bool = False
    digest: str | None = None
    seconds: float = 0.0
    error: str | None = None
    execution: Execution | None = field(default=None, compare=False, repr=False)

    @property
    def whole(self) -> bool:
        """Whether `rows` is the whole result, so that it can be judged by itself."""
        return not self.truncated and not self.cells_cut

    def facts(self) -> EngineFacts | None:
        """Return what the engine tells of the execution, as `Execution.facts` does."""
        return None if self.execution is None else self.execution.facts()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a query ran on; two equal fingerprints mean comparable timings on equal hardware.

    Attributes:
        engine: The engine's name, such as `spark`.
        version: The engine's own version.
        catalog_digest: A short hash of the tables' names and DDL.
        data: Where the data lies or which server holds it, without secrets.
        scale_factor: The scale factor of the data, or None.
        settings: The engine's settings that bear on results or timings.
    """

    engine: str
    version: str
    catalog_digest: str
    data: str
    scale_factor: float | None
    settings: dict[str, str] = field(default_factory=dict)


class Capability(StrEnum):
    """What an engine may lack; `Engine.lacks` says what happens instead."""

    decimals = "exact decimals"
    dates = "types for dates and timestamps"
    booleans = "a boolean type"
    schemas = "schemas within a catalog"
    comments = "comments on tables and columns"
    facts = "telling what a query read, shuffled and spilled"
    large_results = "comparing results that are past the row cap, inside the engine"
    estimates = "estimates of what a query would read and return"


class Engine(ABC):
    """A SQL engine over one catalog, read-only.

    An engine is used by one thread at a time and closed after use (it is a context manager).
    Subclasses implement the abstract methods; `execute`, `explain` and `estimate` put the
    read-only guard before them, so that no statement reaches an engine unread.

    Attributes:
        name: The engine's registered name.
        dialect: The sqlglot dialect that it speaks.
        title: What a person calls it, as told to the model in the prompt, such as `Spark SQL`.
        lacks: What it cannot do, with what happens instead.
        queued_s: Seconds that calls have waited for others' to end; see `QueuedEngine`.
    """

    name: str
    dialect: str
    title: str
    lacks: Mapping[Capability, str] = MappingProxyType({})
    queued_s: float = 0.0

    @abstractmethod
    def list_tables(self) -> tuple[str, ...]:
        """Return the names of the catalog's tables and views, sorted."""

    @abstractmethod
    def ddl(self, table: str) -> str:
        """Return the engine's own DDL for a table.

        Raises:
            UnknownTableError: If the catalog does not hold it.
        """

    @abstractmethod
    def sample(self, table: str, rows: int) -> Outcome:
        """Return the first rows of a table, in no particular order.

        Raises:
            UnknownTableError: If the catalog does not hold it.
        """

    @abstractmethod
    def fingerprint(self) -> Fingerprint:
        """Return what queries run on here."""

    def clock_s(self) -> float:
        """Return the seconds of the clock by which what is done over this engine is timed."""
        return time.perf_counter()

    def prepare(self) -> None:  # noqa: B027 - most engines are always ready
        """Make the engine ready for its next query, so that no query is charged for it.

        Called before whatever is timed. Where nothing has to be done it costs nothing.

        Raises:
            EngineError: If the engine cannot be brought back.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Stop the query that runs now, if any; from any thread.

        Its outcome is `failed`, and says that it was cancelled.
        """

    @abstractmethod
    def close(self) -> None:
        """Free what the engine holds; idempotent."""

    @abstractmethod
    def _execute(self, sql: str, limits: Limits) -> Outcome:
        """Run an admitted statement to completion; never raises for a fault of the query."""

    @abstractmethod
    def _explain(self, sql: str) -> Outcome:
        """Return the plan of an admitted statement as one text cell; never runs it."""

    @abstractmethod
    def _digest(self, sql: str, result: Outcome, limits: Limits) -> str | None:
        """Digest the rows of an admitted statement in the engine; None where that fails.

        Args:
            sql: The statement.
            result: What it returned, for its columns and types.
            limits: The time that it may take.
        """

    def execute(self, sql: str, limits: Limits | None = None) -> Outcome:
        """Run one reading statement to completion.

        Args:
            sql: The statement, in the engine's dialect.
            limits: Time and rows that it may take.

        Returns:
            The outcome; a fault of the query is a status, never an exception.
        """
        rejection = check_read_only(sql, self.dialect)
        if rejection is not None:
            return _rejected(rejection)
        limits = limits or Limits()
        outcome = self._execute(sql, limits)
        if limits.digest and outcome.status == "ok" and not outcome.whole:
            return replace(outcome, digest=self._digest(sql, outcome, limits))
        return outcome

    def explain(self, sql: str) -> Outcome:
        """Plan one reading statement without running it.

        Args:
            sql: The statement, in the engine's dialect.

        Returns:
            `ok` with the plan as the only cell, or what is wrong with the statement.
        """
        rejection = check_read_only(sql, self.dialect)
        if rejection is not None:
            return _rejected(rejection)
        return self._explain(sql)

    def estimate(self, sql: str) -> Estimate:
        """Tell what one reading statement would do, from the engine's plan, without running it.

        Args:
            sql: The statement, in the engine's dialect.

        Returns:
            The estimate, or what is wrong with the statement; never an exception for that.
        """
        rejection = check_read_only(sql, self.dialect)
        if rejection is not None:
            return Estimate(error=rejection.reason)
        return self._estimate(sql)

    def _estimate(self, sql: str) -> Estimate:
        """Estimate an admitted statement; an engine that lacks estimates only plans it."""
        plan = self._explain(sql)
        return Estimate(error=plan.error, seconds=plan.seconds)

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the engine."""
        self.close()


def _rejected(rejection: Rejection) -> Outcome:
    return Outcome(status="rejected", error=rejection.reason)
