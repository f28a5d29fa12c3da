"""Text: LIKE and the functions of strings, and numbers where text is wanted."""

from __future__ import annotations

import string
from typing import Final

from sqlglot import exp

from bothends.eval.gold.context import Rule, Target, text
from bothends.eval.gold.forms import build
from bothends.eval.gold.kinds import affinity_of, kind_of, mark
from bothends.eval.gold.source import UntranslatableError

__all__ = ["RULES"]

_ASCII_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def _numbers(node: exp.Expr, target: Target) -> exp.Expr | None:
    """A number where text is wanted is what SQLite prints."""
    changed = False
    keys = ("this", "expression", "substr", "replacement")
    for key in keys if not isinstance(node, exp.Substring) else ("this",):
        part = node.args.get(key)
        if isinstance(part, exp.Expr) and kind_of(part) in ("integer", "real", "boolean", "blob"):
            node.set(key, text(part, target))
            changed = True
    return node if changed else None


def _like(node: exp.Expr, target: Target) -> exp.Expr | None:
    """LIKE takes a to z for A to Z, those letters alone, and knows no escape unless told."""
    if isinstance(node.parent, exp.Escape):
        raise UntranslatableError("there is no rule for LIKE with ESCAPE")
    subject, pattern = text(node.this, target), text(node.expression, target)
    if isinstance(pattern, exp.Literal):
        folded = pattern.name.translate(_ASCII_LOWER)
        cased = folded != pattern.name.translate(str.maketrans(string.ascii_lowercase, "*" * 26))
        matched: exp.Expr = exp.Literal.string(folded.replace("\\", "\\\\"))
    else:
        cased = True
        matched = exp.Replace(
            this=build("lower", target, x=pattern),
            expression=exp.Literal.string("\\"),
            replacement=exp.Literal.string("\\\\"),
        )
    left = build("lower", target, x=subject) if cased else subject.copy()
    like = exp.Like(this=left, expression=matched)
    return exp.not_(like) if node.args.get("negate") else like


def _collate(node: exp.Expr, target: Target) -> exp.Expr | None:
    """NOCASE takes a to z for A to Z, on both sides of a comparison."""
    collation = node.expression.name.upper()
    if collation not in ("NOCASE", "BINARY"):
        raise UntranslatableError(f"there is no rule for the collation {collation}")
    if collation == "BINARY" or kind_of(node.this) != "text":
        return node.this.copy()  # type: ignore[no-any-return]
    folded = mark(build("lower", target, x=node.this), "text", affinity_of(node.this))
    folded.meta["nocase"] = True
    return folded


def _glob(node: exp.Expr, target: Target) -> exp.Expr | None:
    """GLOB with a plain pattern is LIKE that tells capitals apart."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or set(pattern.name) & set("[]"):
        raise UntranslatableError("there is no rule for GLOB with such a pattern")
    escaped = pattern.name
    for character in "\\%_":
        escaped = escaped.replace(character, f"\\{character}")
    matched = exp.Literal.string(escaped.replace("*", "%").replace("?", "_"))
    like = exp.Like(this=text(node.this, target), expression=matched)
    return exp.not_(like) if node.args.get("negate") else like


def _substring(node: exp.Expr, target: Target) -> exp.Expr | None:
    """substr() counts a negative start from the end, and a negative length backwards."""
    subject, start, length = node.this, node.args["start"], node.args.get("length")
    first, count = _int(start), 0 if length is None else _int(length)
    if first is None or count is None or count < 0 or first == 0:
        return _any_substring(node, target)
    if first > 0 or target == "spark":
        return None
    # Places before the first are empty in PostgreSQL, as they are in SQLite.
    form = "substr from end" if length is None else "substr from end, cut"
    return build(form, target, x=subject, k=-first - 1, n=count)


def _any_substring(node: exp.Expr, target: Target) -> exp.Expr:
    subject, start, length = node.this, node.args["start"], node.args.get("length")
    if any(part is not None and kind_of(part) != "integer" for part in (start, length)):
        raise UntranslatableError("substr() is given what is no integer")
    literal = _int(start)
    first = start
    if literal is None or literal < 0:
        first = build("start of substr", target, x=subject, s=start)
    if length is None:
        return build("any substr", target, x=subject, f=first)
    form = "substr from start, cut" if literal and literal > 0 else "any substr, cut"
    return build(form, target, x=subject, f=first, n=length)


def _int(node: exp.Expr | None) -> int | None:
    sign = 1
    if isinstance(node, exp.Neg):
        sign, node = -1, node.this
    return sign * int(node.name) if isinstance(node, exp.Literal) and node.is_int else None


def _case(node: exp.Expr, target: Target) -> exp.Expr | None:
    """upper() and lower() change the letters A to Z alone."""
    form = "upper" if isinstance(node, exp.Upper) else "lower"
    return build(form, target, x=text(node.this, target))


def _group_concat(node: exp.Expr, target: Target) -> exp.Expr | None:
    argument = node.this
    separator = node.args.get("separator") or exp.Literal.string(",")
    if isinstance(argument, exp.Distinct):
        inner: exp.Expr = exp.Distinct(expressions=[text(argument.expressions[0], target)])
    elif isinstance(argument, exp.Order):
        raise UntranslatableError("there is no rule for group_concat() with an order")
    else:
        inner = text(argument, target)
    return build("group_concat", target, x=mark(inner, "text"), s=separator)


def _column(node: exp.Expr, target: Target) -> exp.Expr | None:
    """A date is text to SQLite, and its text is what it is in ISO form."""
    del target
    kind = kind_of(node)
    if kind not in ("date", "timestamp"):
        return None
    # It is declared as a date, which is a numeric affinity.
    cast = mark(exp.cast(node.copy(), "text"), "text", affinity_of(node))
    cast.meta["moment"] = True
    return cast


RULES: Final = (
    Rule("dates as text", (exp.Column,), _column),
    Rule(
        "number as text",
        (exp.DPipe, exp.Length, exp.Substring, exp.StrPosition, exp.Replace, exp.Trim),
        _numbers,
    ),
    Rule("like", (exp.Like,), _like),
    Rule("collation", (exp.Collate,), _collate),
    Rule("glob", (exp.Glob,), _glob),
    Rule("substr", (exp.Substring,), _substring),
    Rule("letter case", (exp.Upper, exp.Lower), _case),
    Rule("group_concat", (exp.GroupConcat,), _group_concat),
)
