"""Gold SQL of SQLite said on another engine, by small named rules that hold for any data."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from bothends.eval.gold import comparing, dates, grouping, numbers, sorting, texts
from bothends.eval.gold.context import Rule, Target, is_condition, truth, value
from bothends.eval.gold.kinds import kind_of
from bothends.eval.gold.names import resolve
from bothends.eval.gold.schema import Schema
from bothends.eval.gold.source import parse
from bothends.eval.gold.spelling import spell

__all__ = ["TRANSLATION", "Reading", "Translation", "read_gold", "translate"]

TRANSLATION: Final = 1
"""Raised whenever the rules say something otherwise."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A query of SQLite's, with its names and kinds resolved.

    Attributes:
        query: The query.
        rules: The rules that resolving it took.
        bare: The columns in it whose value is left to chance as far as keys tell, by their SELECT.
    """

    query: exp.Query
    rules: frozenset[str]
    bare: tuple[tuple[exp.Select, tuple[exp.Column, ...]], ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """A query of SQLite's in another dialect.

    Attributes:
        sql: The query.
        rules: The rules that were applied, sorted.
    """

    sql: str
    rules: tuple[str, ...]


def read_gold(sql: str, schema: Schema) -> Reading:
    """Read a query of SQLite's and find out what its names mean.

    Raises:
        UntranslatableError: If that cannot be told.
    """
    query = parse(sql)
    rules = resolve(query, schema)
    bare = tuple((select, tuple(columns)) for select, columns in grouping.find_bare(query, schema))
    return Reading(query, rules, bare)


def translate(reading: Reading, target: Target) -> Translation:
    """Say a query of SQLite's in a target's dialect.

    Args:
        reading: The query, as `read_gold` returns it; it is left as it is.
        target: The dialect.

    Raises:
        UntranslatableError: If no rule says faithfully what it means.
    """
    applied = set(reading.rules)
    query = _rewrite(reading.query.copy(), target, applied)
    return Translation(spell(query, target).sql(dialect=target), tuple(sorted(applied)))


def _rewrite(node: exp.Expr, target: Target, applied: set[str]) -> exp.Expr:
    """Rewrite an expression from its leaves up."""
    if (extreme := node.meta.get("beside")) is not None:
        node.meta["beside"] = _rewrite(extreme.copy(), target, applied)
    for key, part in list(node.args.items()):
        if isinstance(part, exp.DataType):
            continue
        if isinstance(part, exp.Expr):
            node.set(key, _placed(node, key, _rewrite(part, target, applied), target, applied))
        elif isinstance(part, list) and any(isinstance(each, exp.Expr) for each in part):
            node.set(
                key,
                [
                    _placed(node, key, _rewrite(each, target, applied), target, applied)
                    if isinstance(each, exp.Expr)
                    else each
                    for each in part
                ],
            )
    for rule in _BY_NODE[type(node)]:
        # A rule may have made another node of it.
        if target not in rule.targets or not isinstance(node, rule.nodes):
            continue
        became = rule.apply(node, target)
        if became is None:
            continue
        applied.add(rule.name)
        if became is not node and "kind" not in became.meta:
            for note in ("kind", "affinity"):
                if note in node.meta:
                    became.meta[note] = node.meta[note]
        for note in ("bare", "beside"):
            if note in node.meta and rule.name == "dates as text":
                became.meta[note] = node.meta.pop(note)
        node = became
    return node


def _placed(
    parent: exp.Expr, key: str, node: exp.Expr, target: Target, applied: set[str]
) -> exp.Expr:
    """Turn a truth value into a number, or a number into one, where its place wants it."""
    if "kind" not in node.meta or isinstance(node, _CLAUSES):
        return node
    if is_condition(parent, key):
        became = truth(node, target)
        if became is not node:
            applied.add("numbers as conditions")
        return became
    if kind_of(node) != "boolean" or isinstance(parent, _TESTS):
        return node
    applied.add("conditions as numbers")
    return value(node)


# What is no expression itself; its content is seen to where it stands.
_CLAUSES: Final = (exp.Where, exp.Having, exp.Alias, exp.Ordered, exp.If)
# What takes a truth value as it is, or passes it on.
_TESTS: Final = (exp.Is, exp.Exists, exp.Escape, exp.Paren)


def _is(node: exp.Expr, target: Target) -> exp.Expr | None:
    """IS TRUE asks of a number whether it is not 0."""
    if not isinstance(node.expression, exp.Boolean) or kind_of(node.this) == "boolean":
        return None
    node.set("this", exp.paren(truth(node.this, target)))
    return node


def _limit(node: exp.Expr, target: Target) -> exp.Expr | None:
    """A negative LIMIT is none."""
    del target
    limit = node.args.get("limit")
    if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Neg):
        node.set("limit", None)
        return node
    return None


_STRUCTURE: Final = (
    Rule("numbers as conditions", (exp.Is,), _is),
    Rule("negative limit", (exp.Select, exp.Union, exp.Except, exp.Intersect), _limit),
)


def _by_node() -> defaultdict[type[exp.Expr], list[Rule]]:
    rules = (
        *texts.RULES,
        *dates.RULES,
        *grouping.RULES,
        *sorting.RULES,
        *numbers.RULES,
        *comparing.RULES,
        *_STRUCTURE,
    )
    found: defaultdict[type[exp.Expr], list[Rule]] = defaultdict(list)
    for rule in rules:
        for node in rule.nodes:
            found[node].append(rule)
    return found


_BY_NODE: Final = _by_node()
