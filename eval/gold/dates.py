"""Dates and times, which are text to SQLite: read as moments, moved, and written as text again.

A text is a moment where it is `YYYY-MM-DD`, perhaps with a blank or a T and a time of day behind
it, and else NULL. SQLite knows more forms (zones, times alone, Julian days as numbers): a query
over data of those changes its meaning here, which the gate sees. A day that its month does not
have is counted on into the next; older versions of SQLite do so only where the date is moved.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from bothends.eval.gold.context import Rule, Target
from bothends.eval.gold.forms import build
from bothends.eval.gold.kinds import kind_of
from bothends.eval.gold.source import UntranslatableError

__all__ = ["RULES"]

# What strftime() writes, as PostgreSQL's TO_CHAR and as Spark's DATE_FORMAT write it.
_CODES: Final = {
    "Y": ("YYYY", "yyyy"),
    "m": ("MM", "MM"),
    "d": ("DD", "dd"),
    "H": ("HH24", "HH"),
    "M": ("MI", "mm"),
    "S": ("SS", "ss"),
    "j": ("DDD", "DDD"),
}
_WRITTEN: Final = {"w": "weekday", "s": "seconds"}
_FIXED: Final = {"DATE": "%Y-%m-%d", "DATETIME": "%Y-%m-%d %H:%M:%S", "TIME": "%H:%M:%S"}
_MOVE: Final = re.compile(r"([+-]?\d+(?:\.\d+)?) +(second|minute|hour|day|month|year)s?", re.I)
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_STARTS: Final = frozenset({"start of month", "start of year", "start of day"})
# The Julian day of 1970-01-01 00:00.
_EPOCH_DAY: Final = 2_440_587.5


def _function(node: exp.Expr, target: Target) -> exp.Expr | None:
    name, arguments = node.name.upper(), list(node.expressions)
    if name == "STRFTIME":
        if not arguments or not isinstance(arguments[0], exp.Literal):
            raise UntranslatableError("strftime() is given a format that is no literal")
        return _written(_moment(arguments[1:], target), arguments[0].name, target)
    if name in _FIXED:
        return _written(_moment(arguments, target), _FIXED[name], target)
    if name == "JULIANDAY":
        days = exp.Div(
            this=build("epoch", target, x=_moment(arguments, target)),
            expression=exp.cast(exp.convert(86_400), "double"),
            typed=target == "postgres",
            safe=False,
        )
        return exp.paren(exp.Add(this=days, expression=exp.cast(exp.convert(_EPOCH_DAY), "double")))
    if name == "UNIXEPOCH":
        return exp.cast(build("seconds", target, x=_moment(arguments, target)), "bigint")
    return None


def _now(node: exp.Expr, target: Target) -> exp.Expr | None:
    name = {"CurrentDate": "DATE", "CurrentTime": "TIME"}.get(type(node).__name__, "DATETIME")
    return _written(build("now", target), _FIXED[name], target)


def _moment(arguments: Sequence[exp.Expr], target: Target) -> exp.Expr:
    """Return a moment as the target's timestamp, from a text and its modifiers."""
    modifiers = [_modifier(each) for each in arguments[1:]]
    it = arguments[0] if arguments else exp.Literal.string("now")
    if isinstance(it, exp.Literal) and it.is_string and it.name.lower() == "now":
        moment = build("now", target)
    elif it.meta.get("moment"):
        moment = build("moment of column", target, x=it.this)
    elif kind_of(it) == "text":
        moment = build("moment of text", target, x=it)
    elif kind_of(it) == "integer" and modifiers[:1] == ["unixepoch"]:
        moment, modifiers = build("moment of epoch", target, x=it), modifiers[1:]
    else:
        raise UntranslatableError("it takes a number for a date")
    for modifier in modifiers:
        moment = _moved(
            exp.paren(moment) if isinstance(moment, exp.Binary) else moment, modifier, target
        )
    return moment


def _modifier(node: exp.Expr) -> str:
    if not isinstance(node, exp.Literal):
        raise UntranslatableError("a date is moved by what is no literal")
    return " ".join(node.name.lower().split())


def _moved(moment: exp.Expr, modifier: str, target: Target) -> exp.Expr:
    if modifier in _STARTS:
        return build(modifier, target, x=moment)
    match = _MOVE.fullmatch(modifier)
    if match is None:
        raise UntranslatableError(f"there is no rule for the date modifier {modifier!r}")
    unit, amount = match[2].lower(), float(match[1])
    if unit in _SECONDS:
        return build("add seconds", target, x=moment, n=_whole(amount * _SECONDS[unit]))
    if not amount.is_integer():
        raise UntranslatableError("a date is moved by a part of a month")
    return build("add months", target, x=moment, n=int(amount) * (12 if unit == "year" else 1))


def _whole(amount: float) -> exp.Expr:
    return exp.convert(int(amount) if amount.is_integer() else amount)


def _written(moment: exp.Expr, format_: str, target: Target) -> exp.Expr:
    """Return a moment's text by strftime()'s format; each run of codes is one call."""
    parts: list[exp.Expr] = []
    run = ""
    for match in re.finditer(r"%(.)|([^%]+)", format_, re.DOTALL):
        code, plain = match[1], match[2]
        if code in _WRITTEN:
            parts += [*_run(moment, run, target), build(_WRITTEN[code], target, x=moment)]
            run = ""
        elif code in _CODES:
            run += _CODES[code][target == "spark"]
        elif plain is not None or code == "%":
            run += _quoted(plain or code, target)
        else:
            raise UntranslatableError(f"there is no rule for %{code} in strftime()")
    parts += _run(moment, run, target)
    if not parts:
        return exp.Literal.string("")
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part)
    return exp.paren(whole) if len(parts) > 1 else whole


def _run(moment: exp.Expr, run: str, target: Target) -> list[exp.Expr]:
    return [build("format", target, x=moment, f=exp.Literal.string(run))] if run else []


def _quoted(plain: str, target: Target) -> str:
    """Keep the letters of a format from being read as codes."""
    if not any(map(str.isalnum, plain)) and "'" not in plain and '"' not in plain:
        return plain
    if target == "postgres":
        return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "'" + plain.replace("'", "''") + "'"


RULES: Final = (
    Rule("dates", (exp.Anonymous,), _function),
    Rule("dates", (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp), _now),
)
