"""Where the order of gold's rows means something, and where rows are tied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bothends.eval.rows import Row
from bothends.infra.errors import UsageError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["sort_columns", "tie_groups"]


def sort_columns(sql: str, dialect: str, columns: Sequence[str]) -> tuple[int, ...] | None:
    """Find the sort keys of a query's top-level ORDER BY among the columns of its result.

    A key is seen if it is a column of the result: by its position (`ORDER BY 2`), its name, or
    the expression that was selected.

    Args:
        sql: The query, which has executed.
        dialect: Its sqlglot dialect.
        columns: The names of its result's columns.

    Returns:
        The position of each key's column; none at all where a key is no column of the result;
        None where the query has no ORDER BY.

    Raises:
        UsageError: If the query cannot be read in that dialect.
    """
    import sqlglot
    from sqlglot import exp

    try:
        query = sqlglot.parse_one(sql, read=dialect)
    except sqlglot.ParseError as error:
        raise UsageError(f"gold SQL cannot be read as {dialect}: {error}") from error
    while isinstance(query, exp.Subquery) and not query.args.get("order"):
        query = query.this
    order = query.args.get("order")
    if order is None:
        return None
    keys = [_position(ordered.this, query, columns) for ordered in order.expressions]
    return tuple(key for key in keys if key is not None) if None not in keys else ()


def tie_groups(
    sql: str, dialect: str, columns: Sequence[str], rows: Sequence[Row]
) -> list[int] | None:
    """Group a query's rows by the sort keys of its top-level ORDER BY.

    Rows are tied where they have equal sort keys, and only those may swap. Where a key is no
    column of the result (see `sort_columns`), ties cannot be seen in it, and the rows' own order
    is taken as the only right one.

    Args:
        sql: The query, which has executed.
        dialect: Its sqlglot dialect.
        columns: The names of its result's columns.
        rows: Its result's rows, normalised, in the order in which they came.

    Returns:
        The number of each row's group, counted from 0; None where the query has no ORDER BY.

    Raises:
        UsageError: If the query cannot be read in that dialect.
    """
    positions = sort_columns(sql, dialect, columns)
    if positions is None:
        return None
    if not positions:
        return list(range(len(rows)))
    groups: list[int] = []
    previous: Row | None = None
    for row in rows:
        key = tuple(row[position] for position in positions)
        if previous is None:
            groups.append(0)
        else:
            groups.append(groups[-1] + (key != previous))
        previous = key
    return groups


def _position(key: exp.Expr, query: exp.Expr, columns: Sequence[str]) -> int | None:
    """Return which column of the result a sort key is, or None where it is none of them."""
    from sqlglot import exp

    if isinstance(key, exp.Literal) and key.is_int:
        position = int(key.name) - 1
        return position if 0 <= position < len(columns) else None
    selected = query.selects if isinstance(query, exp.Query) else []
    plain = len(selected) == len(columns) and not any(item.is_star for item in selected)
    if isinstance(key, exp.Column):
        names = [column.lower() for column in columns]
        same = [index for index, name in enumerate(names) if name == key.name.lower()]
        # A qualified name means the table's column, which an alias of the same name may hide.
        hidden = key.table and plain and not _same_column(key, selected[same[0]] if same else None)
        if len(same) == 1 and not hidden:
            return same[0]
    if plain:
        for index, item in enumerate(selected):
            if item.unalias() == key:
                return index
    return None


def _same_column(key: exp.Expr, item: exp.Expr | None) -> bool:
    """Whether a selected item is the column that a qualified key names."""
    from sqlglot import exp

    if item is None:
        return False
    source = item.unalias()
    return (
        isinstance(source, exp.Column)
        and source.name.lower() == key.name.lower()
        and source.table.lower() in ("", key.text("table").lower())
    )
