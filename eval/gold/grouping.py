"""Bare columns: SQLite lets an aggregate query select what it does not group by.

It takes the value of some row of the group; beside a lone max() or min(), that of the row which
has the extreme (SQLite's documentation, "SELECT", section 2.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from sqlglot import exp

from bothends.eval.gold.context import Rule, Target
from bothends.eval.gold.forms import build
from bothends.eval.gold.schema import Schema
from bothends.eval.gold.source import UntranslatableError

__all__ = ["RULES", "distinct_as_groups", "find_bare", "grouped_by", "hidden_keys"]

_Place = tuple[str, str]


def find_bare(query: exp.Query, schema: Schema) -> list[tuple[exp.Select, list[exp.Column]]]:
    """Find the bare columns of a resolved query, and note on each how it is to be read.

    Returns:
        The bare columns whose value is left to chance as far as keys tell, by their SELECT.
    """
    open_ones = []
    for select in list(query.find_all(exp.Select)):
        aggregates = list(_aggregates(select))
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


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the aggregates of a SELECT, without those of queries in it."""

    def walk(node: exp.Expr) -> Iterator[exp.Expr]:
        if isinstance(node, exp.Query):
            return
        if _is_aggregate(node):
            yield node
        for child in node.iter_expressions():
            yield from walk(child)

    for part in _parts(select):
        yield from walk(part)


def _is_aggregate(node: exp.Expr) -> bool:
    windowed = isinstance(node.parent, exp.Window) and node.arg_key == "this"
    total = isinstance(node, exp.Anonymous) and node.name.upper() == "TOTAL"
    return (isinstance(node, exp.AggFunc) or total) and not windowed


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
    known = {_text(key) for key in keys}

    def walk(node: exp.Expr) -> Iterator[exp.Column]:
        if isinstance(node, exp.Query) or _is_aggregate(node) or _text(node) in known:
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


def _text(node: exp.Expr) -> str:
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


def _sorted_groups(node: exp.Expr, target: Target) -> exp.Expr | None:
    """Sort groups in a query around theirs: beside HAVING, Spark knows only what is selected."""
    del target
    node = cast(exp.Select, node)
    order = node.args.get("order")
    if order is None or node.args.get("having") is None or node.args.get("distinct"):
        return None
    if not any(map(_is_aggregate, order.find_all(exp.AggFunc))):
        return None
    inner = node.copy()
    names = [item.alias_or_name or f"_column{place}" for place, item in enumerate(node.selects)]
    if len(set(map(str.lower, names))) < len(names):
        names = [f"_column{place}" for place in range(len(names))]
    selected = [
        exp.alias_(item.unalias(), name) for item, name in zip(inner.selects, names, strict=True)
    ]
    outer_order = order.copy()
    for place, ordered in enumerate(outer_order.expressions):
        if not (isinstance(ordered.this, exp.Literal) or ordered.this.meta.get("alias")):
            selected.append(exp.alias_(ordered.this.copy(), f"_key{place}"))
            ordered.set("this", exp.column(f"_key{place}"))
    inner.set("expressions", selected)
    outer = exp.select(*(exp.column(name) for name in names), copy=False)
    for clause in ("order", "limit", "offset", "with_"):
        inner.set(clause, None)
    outer.set("order", outer_order)
    for clause in ("limit", "offset", "with_"):
        outer.set(clause, node.args.get(clause))
    return outer.from_(inner.subquery("_groups", copy=False), copy=False)


def hidden_keys(query: exp.Expr) -> list[exp.Expr]:
    """Return the keys that a SELECT DISTINCT sorts by and does not select."""
    order = query.args.get("order")
    distinct = query.args.get("distinct")
    if not isinstance(query, exp.Select) or order is None or distinct is None:
        return []
    if query.args.get("group") is not None or any(_aggregates(query)):
        return []
    known = {_text(item.unalias()) for item in query.selects}
    return [
        key
        for key in (ordered.this for ordered in order.expressions)
        if not isinstance(key, exp.Literal)
        and not key.meta.get("alias")
        and _text(key) not in known
    ]


def distinct_as_groups(select: exp.Select) -> exp.Select:
    """Return a SELECT DISTINCT as groups, each sorted by the least of its hidden keys."""
    hidden = set(map(id, hidden_keys(select)))
    for ordered in select.args["order"].expressions:
        if id(ordered.this) in hidden:
            ordered.set("this", exp.Min(this=ordered.this))
    keys = [each.unalias().copy() for each in select.selects]
    select.set("group", exp.Group(expressions=[each for each in keys if each.find(exp.Column)]))
    select.set("distinct", None)
    return select


def _sorted_distinct(node: exp.Expr, target: Target) -> exp.Expr | None:
    """Sort distinct rows by what is not selected, which SQLite alone allows."""
    del target
    return distinct_as_groups(cast(exp.Select, node)) if hidden_keys(node) else None


RULES: Final = (
    Rule("sorted distinct", (exp.Select,), _sorted_distinct),
    Rule("bare columns", (exp.Column, exp.Cast), _read),
    Rule("sorted groups", (exp.Select,), _sorted_groups, targets=("spark",)),
)
