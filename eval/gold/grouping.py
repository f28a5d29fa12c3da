"""Bare columns: SQLite lets an aggregate query select what it does not group by.

It takes the value of some row of the group; beside a lone max() or min(), that of the row which
has the extreme (SQLite's documentation, "SELECT", section 2.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from bothends.eval.gold.context import Rule, Target
from bothends.eval.gold.forms import build
from bothends.eval.gold.schema import Schema
from bothends.eval.gold.source import UntranslatableError

__all__ = ["RULES", "aggregates_of", "find_bare", "grouped_by", "is_aggregate", "text_of"]

_Place = tuple[str, str]


def find_bare(query: exp.Query, schema: Schema) -> list[tuple[exp.Select, list[exp.Column]]]:
    """Find the bare columns of a resolved query, and note on each how it is to be read.

    Returns:
        The bare columns whose value is left to chance as far as keys tell, by their SELECT.
    """
    open_ones = []
    for select in list(query.find_all(exp.Select)):
        aggregates = list(aggregates_of(select))
        group = select.args.get("group")
        if not aggregates and group is None:
            continue
        bare = list(_bare(select, grouped_by(select)))
        if not bare:
            continue
        extremes = [each for each in aggregates if isinstance(each, exp.Max | exp.Min)]
        if len(extremes) == 1:
            for column in bare:
                column.meta["beside"] = extremes[0]
            continue
        fixed = _determined(select, schema)
        for column in bare:
            column.meta["bare"] = True
        chancy = [column for column in bare if _place(column) not in fixed]
        if chancy:
            open_ones.append((select, chancy))
    return open_ones


def _read(node: exp.Expr, target: Target) -> exp.Expr | None:
    if "bare" in node.meta:
        return build("any", target, x=node)
    extreme = node.meta.get("beside")
    if extreme is None:
        return None
    form = "beside max" if isinstance(extreme, exp.Max) else "beside min"
    return build(form, target, x=node, k=extreme.this)


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    for clause in ("having", "order"):
        if (part := select.args.get(clause)) is not None:
            yield part


def aggregates_of(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the aggregates of a SELECT, without those of queries in it."""

    def walk(node: exp.Expr) -> Iterator[exp.Expr]:
        if isinstance(node, exp.Query):
            return
        if is_aggregate(node):
            yield node
        for child in node.iter_expressions():
            yield from walk(child)

    for part in _parts(select):
        yield from walk(part)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether an expression makes one value of a group's rows."""
    windowed = isinstance(node.parent, exp.Window) and node.arg_key == "this"
    total = isinstance(node, exp.Anonymous) and node.name.upper() == "TOTAL"
    return (isinstance(node, exp.AggFunc | exp.Filter) or total) and not windowed


def grouped_by(select: exp.Select) -> list[exp.Expr]:
    """Return what a SELECT groups by, places in its list as what stands there."""
    group = select.args.get("group")
    keys = []
    for key in group.expressions if group is not None else ():
        if isinstance(key, exp.Literal) and key.is_int:
            keys.append(select.selects[int(key.name) - 1].unalias())
        else:
            keys.append(key)
    return keys


def _bare(select: exp.Select, keys: list[exp.Expr]) -> Iterator[exp.Column]:
    known = {text_of(key) for key in keys}

    def walk(node: exp.Expr) -> Iterator[exp.Column]:
        if isinstance(node, exp.Query) or is_aggregate(node) or text_of(node) in known:
            return
        if isinstance(node, exp.Column):
            if isinstance(node.this, exp.Star):
                raise UntranslatableError("it selects all columns of a group")
            if not node.meta.get("outer") and not node.meta.get("alias"):
                yield node
            return
        if isinstance(node, exp.Star):
            raise UntranslatableError("it selects all columns of a group")
        for child in node.iter_expressions():
            yield from walk(child)

    for part in _parts(select):
        yield from walk(part)


def text_of(node: exp.Expr) -> str:
    """Return an expression with each column by where it comes from, to tell equal ones."""
    bare = node.copy()
    columns = [bare] if isinstance(bare, exp.Column) else bare.find_all(exp.Column)
    for column in columns:
        if "source" in column.meta:
            column.set("table", exp.to_identifier(column.meta["source"]))
            column.set("this", exp.to_identifier(column.name.lower()))
    return bare.sql("sqlite")


def _place(column: exp.Expr) -> _Place:
    return column.meta.get("source", ""), column.name.lower()


def _determined(select: exp.Select, schema: Schema) -> set[_Place]:
    """Return the columns that have one value in each group, as equalities and keys have it."""
    fixed = {_place(key) for key in grouped_by(select) if isinstance(key, exp.Column)}
    equal: list[tuple[_Place, _Place]] = []
    for condition in _conditions(select):
        if not isinstance(condition, exp.EQ):
            continue
        sides = condition.left, condition.right
        columns = [side for side in sides if isinstance(side, exp.Column)]
        if len(columns) == 2:
            equal.append((_place(columns[0]), _place(columns[1])))
        elif len(columns) == 1 and any(isinstance(side, exp.Literal) for side in sides):
            fixed.add(_place(columns[0]))
    tables = {
        table.alias_or_name.lower(): schema.tables[table.meta["table"]]
        for table in _tables(select)
        if "table" in table.meta
    }
    size = -1
    while size != len(fixed):
        size = len(fixed)
        for one, other in equal:
            if one in fixed or other in fixed:
                fixed |= {one, other}
        for alias, table in tables.items():
            if table.key and all((alias, column.lower()) in fixed for column in table.key):
                fixed |= {(alias, column) for column in table.columns}
    return fixed


def _conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield what holds for every row: the conjuncts of WHERE and of inner joins."""
    clauses = [select.args["where"].this] if select.args.get("where") else []
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None and not join.side:
            clauses.append(join.args["on"])
    for clause in clauses:
        yield from (
            (each.unnest() for each in clause.flatten())
            if isinstance(clause, exp.And)
            else [clause]
        )


def _tables(select: exp.Select) -> Iterator[exp.Expr]:
    for clause in (select.args.get("from_"), *(select.args.get("joins") or ())):
        if clause is not None and isinstance(clause.this, exp.Table):
            yield clause.this


RULES: Final = (Rule("bare columns", (exp.Column, exp.Cast), _read),)
