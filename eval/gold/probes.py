"""Queries for SQLite that find out whether another query is left to chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlglot import exp

from bothends.eval.gold.grouping import grouped_by
from bothends.eval.gold.sorting import distinct_as_groups, hidden_keys

__all__ = ["number", "scattered", "tied", "tied_extreme", "undetermined", "without_limit"]


def number(clause: object) -> int | None:
    """Return the number of a LIMIT or an OFFSET: None where it is calculated, -1 below 0."""
    value = clause.expression if isinstance(clause, exp.Limit | exp.Offset) else None
    if isinstance(value, exp.Neg):
        return -1
    return int(value.name) if isinstance(value, exp.Literal) and value.is_int else None


def without_limit(part: exp.Query, query: exp.Query) -> tuple[exp.Query, Sequence[int] | None]:
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


def undetermined(part: exp.Query, hidden: Sequence[exp.Expr], query: exp.Query) -> str:
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


def tied_extreme(select: exp.Select, columns: Sequence[exp.Column], query: exp.Query) -> str:
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


def tied(window: exp.Window, query: exp.Query) -> str:
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


def scattered(select: exp.Select, columns: Sequence[exp.Column], query: exp.Query) -> str:
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
