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
from typing import Any, Final, Self, cast

from sqlglot import exp

from bothends.engines.time_limit import time_limit
from bothends.eval.gold.grouping import distinct_as_groups, grouped_by, hidden_keys
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
            if isinstance(window.this, _PLACED) and self._ask(_tied(window, query)):
                name = window.this.sql_name()
                return f"{name}() depends on the order of rows with equal sort keys"
        for select in query.find_all(exp.Select):
            beside = [each for each in select.find_all(exp.Column) if "beside" in each.meta]
            if beside and self._ask(_tied_extreme(select, beside, query)):
                return "several rows have the extreme that a bare column stands beside"
        for select, columns in reading.bare:
            if self._ask(_scattered(select, columns, query)):
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
        count = _number(part.args.get("limit"))
        if count is None or count < 0:
            return None
        first = _number(part.args.get("offset")) or 0
        hidden = hidden_keys(part)
        if hidden and self._ask(_undetermined(part, hidden, query)):
            return "it sorts distinct rows by what they do not determine"
        whole, keys = _without_limit(part, query)
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
            time_limit(self._connection.interrupt, self._timeout_s),
            contextlib.suppress(sqlite3.Error, sqlite3.Warning),
        ):
            return self._connection.execute(sql).fetchmany(_FIRST)
        return None


def _keys(row: tuple[Any, ...], positions: Sequence[int]) -> tuple[Any, ...]:
    return tuple(row[position] for position in positions)


def _number(clause: object) -> int | None:
    value = clause.expression if isinstance(clause, exp.Limit | exp.Offset) else None
    if isinstance(value, exp.Neg):
        return -1
    return int(value.name) if isinstance(value, exp.Literal) and value.is_int else None


def _without_limit(part: exp.Query, query: exp.Query) -> tuple[exp.Query, Sequence[int] | None]:
    """Return a query without its LIMIT, and where in its rows the sort keys are.

    Keys are columns at the end that were added for it (a range of negative places), or, of
    distinct rows and of a union, columns of the result. None means that it has no order.
    """
    whole = _by_itself(part, query)
    whole.set("limit", None)
    whole.set("offset", None)
    order = part.args.get("order")
    if order is None:
        return whole, None
    keys = [ordered.this for ordered in order.expressions]
    positions = [_position(key, part.selects) for key in keys]
    if isinstance(whole, exp.Select) and not part.args.get("distinct"):
        for key in keys:
            whole.append("expressions", _shown(key, part.selects).copy())
        return whole, range(-len(keys), 0)
    if hidden_keys(part):
        grouped = distinct_as_groups(cast(exp.Select, whole))
        for ordered in grouped.args["order"].expressions:
            grouped.append("expressions", _shown(ordered.this, part.selects).copy())
        return grouped, range(-len(keys), 0)
    return whole, [position for position in positions if position is not None]


def _shown(key: exp.Expr, selects: Sequence[exp.Expr]) -> exp.Expr:
    """Return what a sort key stands for: what is selected by its place or name, or itself."""
    position = _position(key, selects)
    return key if position is None else selects[position].unalias()


def _undetermined(part: exp.Query, hidden: Sequence[exp.Expr], query: exp.Query) -> str:
    """Return a query for distinct rows that a sort key has several values for."""
    whole = _rows_of(cast(exp.Select, part), query)
    several = [f"MIN({key.sql('sqlite')}) IS NOT MAX({key.sql('sqlite')})" for key in hidden]
    whole.set("group", exp.Group(expressions=[each.unalias().copy() for each in part.selects]))
    whole.set("expressions", [exp.convert(1)])
    return f"{whole.sql('sqlite')} HAVING {' OR '.join(several)} LIMIT 1"


def _by_itself(part: exp.Query, query: exp.Query) -> exp.Query:
    """Return a copy of a query within another, with the common tables of that."""
    whole = part.copy()
    around = query.args.get("with_")
    if part is not query and around is not None and whole.args.get("with_") is None:
        whole.set("with_", around.copy())
    return whole


def _position(key: exp.Expr, selects: Sequence[exp.Expr]) -> int | None:
    if isinstance(key, exp.Literal) and key.is_int:
        return int(key.name) - 1
    for index, item in enumerate(selects):
        named = isinstance(key, exp.Column) and not key.table
        if (named and item.alias_or_name.lower() == key.name.lower()) or item.unalias() == key:
            return index
    return None


def _tied_extreme(select: exp.Select, columns: Sequence[exp.Column], query: exp.Query) -> str:
    """Return a query for groups in which rows with the extreme differ in a bare column."""
    extreme = columns[0].meta["beside"]
    keys = grouped_by(select)
    whole = _rows_of(select, query)
    selected = [exp.alias_(key.copy(), f"g{place}") for place, key in enumerate(keys)]
    selected.append(exp.alias_(extreme.this.copy(), "k"))
    selected += [exp.alias_(each.copy(), f"b{place}") for place, each in enumerate(columns)]
    whole.set("expressions", selected)
    groups = ", ".join(f"g{place}" for place in range(len(keys))) or "1"
    name = extreme.sql_name()
    return (
        f"SELECT 1 FROM (SELECT *, {name}(k) OVER (PARTITION BY {groups}) AS top "  # noqa: S608
        f"FROM (SELECT DISTINCT * FROM ({whole.sql('sqlite')}))) WHERE k = top "
        f"GROUP BY {groups if keys else 'top'} HAVING COUNT(*) > 1 LIMIT 1"
    )


def _rows_of(select: exp.Select, query: exp.Query) -> exp.Select:
    """Return a SELECT of the rows that another aggregates, of which it still selects nothing."""
    whole = _by_itself(select, query)
    for clause in ("group", "having", "order", "limit", "offset", "distinct"):
        whole.set(clause, None)
    return cast(exp.Select, whole)


def _tied(window: exp.Window, query: exp.Query) -> str:
    """Return a query for rows of a partition that have equal sort keys."""
    select = window.find_ancestor(exp.Select)
    order = window.args.get("order")
    keys = [
        *window.args.get("partition_by", ()),
        *(each.this for each in (order.expressions if order else ())),
    ]
    if select is None or select.args.get("group") is not None:
        return ""
    whole = _rows_of(select, query)
    whole.set("expressions", [exp.convert(1)])
    whole = whole.group_by(*(key.copy() for key in keys), copy=False)
    tied: str = whole.having("COUNT(*) > 1", copy=False).limit(1, copy=False).sql("sqlite")
    return tied


def _scattered(select: exp.Select, columns: Sequence[exp.Column], query: exp.Query) -> str:
    """Return a query for groups in which a bare column has several values."""
    whole = _by_itself(select, query)
    for clause in ("order", "limit", "offset", "distinct"):
        whole.set(clause, None)
    counts: list[exp.Expr] = []
    tests = []
    for index, column in enumerate(columns):
        bare = column.sql("sqlite")
        counts.append(exp.maybe_parse(f"COUNT(DISTINCT {bare}) AS n{index}", dialect="sqlite"))
        counts.append(exp.maybe_parse(f"COUNT({bare}) AS m{index}", dialect="sqlite"))
        tests.append(f"n{index} > 1 OR (n{index} = 1 AND m{index} < c)")
    counts.append(exp.maybe_parse("COUNT(*) AS c", dialect="sqlite"))
    whole.set("expressions", counts)
    return f"SELECT 1 FROM ({whole.sql('sqlite')}) WHERE {' OR '.join(tests)} LIMIT 1"  # noqa: S608
