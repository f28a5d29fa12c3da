"""Sorting by what is not selected: other engines allow it less than SQLite does."""

from __future__ import annotations

from typing import Final, cast

from sqlglot import exp

from bothends.eval.gold.context import Rule, Target
from bothends.eval.gold.grouping import aggregates_of, is_aggregate, text_of

__all__ = ["RULES", "distinct_as_groups", "hidden_keys"]


def _sorted_groups(node: exp.Expr, target: Target) -> exp.Expr | None:
    """Sort groups in a query around theirs: beside HAVING, Spark knows only what is selected."""
    del target
    node = cast(exp.Select, node)
    order = node.args.get("order")
    if order is None or node.args.get("having") is None or node.args.get("distinct"):
        return None
    if not any(map(is_aggregate, order.find_all(exp.AggFunc))):
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
    if query.args.get("group") is not None or any(aggregates_of(query)):
        return []
    known = {text_of(item.unalias()) for item in query.selects}
    return [
        key
        for key in (ordered.this for ordered in order.expressions)
        if not isinstance(key, exp.Literal)
        and not key.meta.get("alias")
        and text_of(key) not in known
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
    Rule("sorted groups", (exp.Select,), _sorted_groups, targets=("spark",)),
)
