"""Whether a gold query's answer is left to chance: SQL does not say which rows it returns.

A LIMIT that cuts through rows with equal sort keys, or that has no order, returns whichever of
them the engine comes across first; so does a bare column of a group with several values. Such a
query has several right answers, and which of them it gives on another engine says nothing.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sqlglot import exp

from bothends.engines.time_limit import Stopper
from bothends.eval.gold.probes import (
    number,
    scattered,
    tied,
    tied_extreme,
    undetermined,
    without_limit,
)
from bothends.eval.gold.sorting import hidden_keys
from bothends.eval.gold.translate import Reading

__all__ = ["Prober"]

_Rows = list[tuple[Any, ...]]
_FIRST: Final = 1_000_000
# Window functions to which it matters which of two tied rows comes first.
_PLACED: Final = (
    *(exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead),
    *(exp.FirstValue, exp.LastValue, exp.NthValue),
)


class Prober:
    """Asks a SQLite database whether queries are left to chance. A context manager.

    Args:
        path: The database; it is only read.
        timeout_s: Seconds that one question to it may take; what is not answered by then is taken
            for no chance.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the database."""
        self._connection.close()

    def chance(self, reading: Reading) -> str | None:
        """Say what in a query is left to chance, or None.

        Each query in it with a LIMIT is run without it, with its sort keys. A tie at the cut whose
        rows are all the same is none, nor is a bare column that has one value in each group. What
        refers to the query around it cannot be run by itself and is passed over.
        """
        query = reading.query
        if query.find(exp.GroupConcat):
            return "group_concat() puts its values together in no order"
        for part in query.find_all(exp.Select, exp.SetOperation):
            found = self._limit(part, query)
            if found:
                return found
        for window in query.find_all(exp.Window):
            if isinstance(window.this, _PLACED) and self._ask(tied(window, query)):
                name = window.this.sql_name()
                return f"{name}() depends on the order of rows with equal sort keys"
        for select in query.find_all(exp.Select):
            beside = [each for each in select.find_all(exp.Column) if "beside" in each.meta]
            if beside and self._ask(tied_extreme(select, beside, query)):
                return "several rows have the extreme that a bare column stands beside"
        for select, columns in reading.bare:
            if self._ask(scattered(select, columns, query)):
                names = ", ".join(column.sql("sqlite") for column in columns)
                return f"{names} is not grouped by, and has several values in a group"
        return None

    def reversed_rows(self, sql: str) -> _Rows | None:
        """Return a query's rows as they come where SQLite scans from the end; None if it fails.

        What SQL leaves open then tends to come out otherwise.
        """
        self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        try:
            return self._ask(sql)
        finally:
            self._connection.execute("PRAGMA reverse_unordered_selects = OFF")

    def _limit(self, part: exp.Query, query: exp.Query) -> str | None:
        count = number(part.args.get("limit"))
        if count is None or count < 0:
            return None
        first = number(part.args.get("offset")) or 0
        hidden = hidden_keys(part)
        if hidden and self._ask(undetermined(part, hidden, query)):
            return "it sorts distinct rows by what they do not determine"
        whole, keys = without_limit(part, query)
        rows = self._ask(whole.sql("sqlite")) or []
        width = len(rows[0]) - (len(keys or ()) if isinstance(keys, range) else 0) if rows else 0
        for cut in (first, first + count):
            if not 0 < cut < len(rows):
                continue
            if keys is None:
                tied, what = rows, "has no ORDER BY"
            else:
                before, after = (_keys(rows[index], keys) for index in (cut - 1, cut))
                if before != after:
                    continue
                tied = [row for row in rows if _keys(row, keys) == after]
                what = "cuts through rows with equal sort keys"
            if len({row[:width] for row in tied}) > 1:
                return f"LIMIT {what}: {len(tied)} rows compete"
        return None

    def _ask(self, sql: str) -> _Rows | None:
        with (
            Stopper().watch(self._connection.interrupt, self._timeout_s),
            contextlib.suppress(sqlite3.Error, sqlite3.Warning),
        ):
            return self._connection.execute(sql).fetchmany(_FIRST)
        return None


def _keys(row: tuple[Any, ...], positions: Sequence[int]) -> tuple[Any, ...]:
    return tuple(row[position] for position in positions)
