"""Comparisons between kinds, which SQLite decides by affinity and other engines refuse.

A side with numeric affinity has a text on the other side read as a number, if it is one from end
to end; a side with text affinity has a number written as text; and where neither has any, each
number is less than each text (SQLite's documentation, "Datatypes", section 4).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from bothends.eval.gold.context import Rule, Target, text
from bothends.eval.gold.forms import build
from bothends.eval.gold.kinds import affinity_of, is_number, kind_of, mark
from bothends.eval.gold.source import UntranslatableError

__all__ = ["RULES"]

_NUMERIC: Final = re.compile(
    r"[ \t\n\v\f\r]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[ \t\n\v\f\r]*"
)
# What an operator gives where its left side is the lesser.
_OF_LESSER: Final[dict[type[exp.Expr], bool]] = {
    exp.EQ: False,
    exp.NEQ: True,
    exp.LT: True,
    exp.LTE: True,
    exp.GT: False,
    exp.GTE: False,
    exp.NullSafeEQ: False,
    exp.NullSafeNEQ: True,
}


def _compare(node: exp.Expr, target: Target) -> exp.Expr | None:
    if any("nocase" in side.meta for side in (node.left, node.right)):  # type: ignore[attr-defined]
        return _compare_folded(node, target)
    if _alike(node.left, node.right):  # type: ignore[attr-defined]
        return None
    left, right = _read(node.left, node.right), _read(node.right, node.left)  # type: ignore[attr-defined]
    if is_number(kind_of(left)):
        pair = _meet(left, right, target)
    else:
        pair = _meet(right, left, target)
        pair = pair and (pair[1], pair[0])
    if pair is None:
        return _constant(left, right, _of(node, left))
    operator = type(node)
    compared = operator(this=pair[0], expression=pair[1])
    guarded = next((side for side in pair if "guard" in side.meta), None)
    if guarded is None:
        return compared
    case = exp.Case().when(guarded.meta["guard"], compared)
    return case.when(_present(left, right), exp.convert(_of(node, left)), copy=False)


def _compare_folded(node: exp.Expr, target: Target) -> exp.Expr:
    sides = [
        side if "nocase" in side.meta else build("lower", target, x=text(side, target))
        for side in (node.left, node.right)  # type: ignore[attr-defined]
    ]
    return type(node)(this=sides[0], expression=sides[1])


def _of(node: exp.Expr, left: exp.Expr) -> bool:
    """What a comparison gives where a number meets a text."""
    lesser = _OF_LESSER[type(node)]
    if isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ):
        return lesser
    return lesser if is_number(kind_of(left)) else not lesser


def _meet(number: exp.Expr, other: exp.Expr, target: Target) -> tuple[exp.Expr, exp.Expr] | None:
    """Bring a number and a text to one kind; None where they never meet."""
    if "moment" in other.meta:
        return None
    if "number" in (affinity_of(number), affinity_of(other)):
        if isinstance(other, exp.Literal):
            match = _NUMERIC.fullmatch(other.name)
            return (number, _literal(match[1])) if match else None
        read = build("real of text", target, x=other)
        read.meta["guard"] = build("is numeric", target, x=other)
        return number, read
    if affinity_of(other) == "text":
        return text(number, target), other
    return None


def _read(side: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return a text that is a number as one, where it meets a column of numeric affinity."""
    if (
        isinstance(side, exp.Literal)
        and kind_of(side) == kind_of(other) == "text"
        and affinity_of(other) == "number"
        and (match := _NUMERIC.fullmatch(side.name))
    ):
        literal = _literal(match[1])
        return mark(literal, "integer" if isinstance(literal, exp.Literal | exp.Neg) else "real")
    return side


def _literal(written: str) -> exp.Expr:
    if written.lstrip("+-").isdigit():
        return exp.convert(int(written))
    return exp.cast(exp.convert(float(written)), "double")


def _constant(left: exp.Expr, right: exp.Expr, outcome: bool) -> exp.Expr:
    return exp.Case().when(_present(left, right), exp.convert(outcome), copy=False)


def _present(*sides: exp.Expr) -> exp.Expr:
    tests = [
        exp.not_(exp.Is(this=_wrapped(side), expression=exp.null()))
        for side in sides
        if not isinstance(side, exp.Literal)
    ]
    return exp.and_(*tests) if tests else exp.true()


def _wrapped(side: exp.Expr) -> exp.Expr:
    return exp.paren(side) if isinstance(side, exp.Binary) else side.copy()


def _alike(left: exp.Expr, right: exp.Expr) -> bool:
    if _read(left, right) is not left or _read(right, left) is not right:
        return False
    kinds = {kind_of(left), kind_of(right)} - {"null"}
    if "blob" in kinds and len(kinds) > 1:
        raise UntranslatableError("it compares a blob with something else")
    return len(kinds) < 2 or all(map(is_number, kinds))


def _between(node: exp.Expr, target: Target) -> exp.Expr | None:
    it, low, high = node.this, node.args["low"], node.args["high"]
    if _alike(it, low) and _alike(it, high):
        return None
    parts = [
        _rewritten(operator(this=it.copy(), expression=bound), target)
        for operator, bound in ((exp.GTE, low), (exp.LTE, high))
    ]
    return exp.paren(exp.and_(*parts))


def _in(node: exp.Expr, target: Target) -> exp.Expr | None:
    it = node.this
    query = node.args.get("query")
    if query is not None:
        selected = query.this if isinstance(query, exp.Subquery) else query
        if not _alike(it, selected):
            raise UntranslatableError("it looks for a number among texts, or the other way round")
        return None
    items: Sequence[exp.Expr] = node.expressions
    if all(_alike(it, item) for item in items):
        return None
    # In a list the items have no affinity of their own.
    parts = [_rewritten(exp.EQ(this=it.copy(), expression=item.copy()), target) for item in items]
    return exp.paren(exp.or_(*parts))


def _case(node: exp.Expr, target: Target) -> exp.Expr | None:
    operand = node.this
    branches = node.args["ifs"]
    if operand is None or all(_alike(operand, branch.this) for branch in branches):
        return None
    searched = node.copy()
    searched.set("this", None)
    for branch in searched.args["ifs"]:
        branch.set(
            "this",
            _rewritten(exp.EQ(this=operand.copy(), expression=branch.this.copy()), target),
        )
    return searched


def _rewritten(comparison: exp.Expr, target: Target) -> exp.Expr:
    return mark(_compare(comparison, target) or comparison, "boolean")


RULES: Final = (
    Rule("comparison by affinity", tuple(_OF_LESSER), _compare),
    Rule("comparison by affinity", (exp.Between,), _between),
    Rule("comparison by affinity", (exp.In,), _in),
    Rule("comparison by affinity", (exp.Case,), _case),
)
