"""Arithmetic and aggregates: which of SQLite's numbers are integers, and what a zero divides to."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from bothends.eval.gold.context import Rule, Target, double, number, text, value
from bothends.eval.gold.forms import build
from bothends.eval.gold.kinds import kind_of, mark
from bothends.eval.gold.schema import Kind
from bothends.eval.gold.source import UntranslatableError

__all__ = ["RULES"]


def _operands(node: exp.Expr, target: Target) -> exp.Expr | None:
    """A text in arithmetic is the number that it begins with."""
    changed = False
    for key in ("this", "expression"):
        side = node.args.get(key)
        if side is not None and kind_of(side) == "text":
            if isinstance(node, exp.Div | exp.Mod):
                raise UntranslatableError("it divides a text, which is an integer or not by row")
            node.set(key, number(side, target))
            changed = True
    return node if changed else None


def _divide(node: exp.Expr, target: Target) -> exp.Expr | None:
    left, right = _operand(node.this), _operand(node.expression)
    divisor = _nullif_zero(right)
    if kind_of(node) != "integer":
        if kind_of(left) != "real" and kind_of(right) != "real":  # NULL is either of them
            return None
        return exp.Div(this=left, expression=divisor, typed=target == "postgres", safe=False)
    if target == "spark":
        return exp.IntDiv(this=left, expression=divisor)
    return exp.Div(this=left, expression=divisor, typed=True, safe=False)


def _remainder(node: exp.Expr, target: Target) -> exp.Expr | None:
    sides = [
        mark(build("integer of real", target, x=side), "integer")
        if kind_of(side) == "real"
        else _operand(side)
        for side in (node.this, node.expression)
    ]
    remainder = exp.Mod(this=sides[0], expression=_nullif_zero(sides[1]))
    return exp.cast(remainder, "double") if kind_of(node) == "real" else remainder


def _operand(side: exp.Expr) -> exp.Expr:
    side = value(side)
    return mark(exp.paren(side), kind_of(side)) if isinstance(side, exp.Binary) else side


def _nullif_zero(side: exp.Expr) -> exp.Expr:
    literal = side.unnest() if isinstance(side, exp.Paren) else side
    if isinstance(literal, exp.Cast):
        literal = literal.this
    number_ = isinstance(literal, exp.Literal) and not literal.is_string
    if number_ and float(literal.name) != 0:
        return side
    plain = side.unnest() if isinstance(side, exp.Paren) else side
    return mark(exp.Nullif(this=plain, expression=exp.Literal.number(0)), kind_of(side))


def _literal(node: exp.Expr, target: Target) -> exp.Expr | None:
    """A number with a point or an exponent is a double, and never a decimal."""
    del target
    if kind_of(node) != "real":
        return None
    return exp.cast(node.copy(), "double")


def _sum(node: exp.Expr, target: Target) -> exp.Expr | None:
    argument = node.this
    distinct = isinstance(argument, exp.Distinct)
    inner = argument.expressions[0] if distinct else argument
    if kind_of(node) == "integer":
        return _whole_sum(node, target)
    if kind_of(inner) != "text":
        return None
    _put(node, number(inner, target))
    return node


def _whole_sum(node: exp.Expr, target: Target) -> exp.Expr | None:
    """Of big integers PostgreSQL's sum is a decimal, which would divide otherwise."""
    around = isinstance(node.parent, exp.Window | exp.Filter) and node.arg_key == "this"
    inner = node
    while isinstance(inner, exp.Window | exp.Filter):
        inner = inner.this
    if target == "spark" or around or not isinstance(inner, exp.Sum):
        return None
    return exp.cast(node.copy(), "bigint") if kind_of(node) == "integer" else None


def _average(node: exp.Expr, target: Target) -> exp.Expr | None:
    """An average is a double, of integers too."""
    argument = node.this
    inner = argument.expressions[0] if isinstance(argument, exp.Distinct) else argument
    if kind_of(inner) == "real":
        return None
    _put(node, double(inner, target))
    return node


def _put(aggregate: exp.Expr, argument: exp.Expr) -> None:
    if isinstance(aggregate.this, exp.Distinct):
        aggregate.this.set("expressions", [argument])
    else:
        aggregate.set("this", argument)


def _total(node: exp.Expr, target: Target) -> exp.Expr | None:
    if node.name.upper() != "TOTAL":
        return None
    summed = exp.Sum(this=double(node.expressions[0], target))
    return exp.Coalesce(this=summed, expressions=[exp.cast(exp.convert(0), "double")])


def _round(node: exp.Expr, target: Target) -> exp.Expr | None:
    digits = node.args.get("decimals") or exp.Literal.number(0)
    return build("round", target, x=number(node.this, target), n=digits)


def _absolute(node: exp.Expr, target: Target) -> exp.Expr | None:
    if kind_of(node.this) != "text":
        return None
    return exp.Abs(this=number(node.this, target))


def _cast(node: exp.Expr, target: Target) -> exp.Expr | None:
    wanted = kind_of(node)
    if kind_of(node.this) == "blob":
        raise UntranslatableError("it casts a blob")
    if wanted == "text":
        return mark(text(node.this, target), "text", "text")
    return mark(_cast_number(node.this, wanted, target), wanted, "number")


def _cast_number(inner: exp.Expr, wanted: Kind, target: Target) -> exp.Expr:
    source = kind_of(inner)
    if source == wanted:
        return inner
    if wanted == "real":
        return double(inner, target)
    if source == "text":
        return build("integer of text", target, x=inner)
    if source == "real":
        return build("integer of real", target, x=inner)
    return exp.cast(value(inner), "bigint")


def _extreme(node: exp.Expr, target: Target) -> exp.Expr | None:
    """max() and min() of several are NULL where one of them is."""
    del target
    parts = [node.this, *node.expressions]
    nulls = [
        exp.Is(this=part.copy(), expression=exp.null())
        for part in parts
        if not isinstance(part, exp.Literal | exp.Cast)
    ]
    if not nulls:
        return None
    plain = type(node)(this=node.this, expressions=node.expressions)
    return exp.Case().when(exp.or_(*nulls), exp.null(), copy=False).else_(plain)


RULES: Final = (
    Rule("text as number", (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg), _operands),
    Rule("division", (exp.Div,), _divide),
    Rule("remainder", (exp.Mod,), _remainder),
    Rule("doubles", (exp.Literal,), _literal),
    Rule("sum", (exp.Sum,), _sum),
    Rule("sum", (exp.Window, exp.Filter), _whole_sum),
    Rule("average", (exp.Avg,), _average),
    Rule("total", (exp.Anonymous,), _total),
    Rule("round", (exp.Round,), _round),
    Rule("text as number", (exp.Abs,), _absolute),
    Rule("cast", (exp.Cast,), _cast),
    Rule("greatest and least", (exp.Greatest, exp.Least), _extreme),
)
