"""What each expression of a query yields on SQLite, and with which affinity it is compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from bothends.eval.gold.schema import Affinity, Kind
from bothends.eval.gold.source import UntranslatableError
from bothends.infra.sqlite_columns import affinity as declared_affinity

__all__ = ["affinity_of", "annotate", "as_value", "is_number", "kind_of", "mark"]

_BOOLEAN: Final = (exp.Predicate, exp.And, exp.Or, exp.Not, exp.Boolean)
_TEXT: Final = (
    *(exp.DPipe, exp.Concat, exp.Substring, exp.Upper, exp.Lower, exp.Trim, exp.Replace),
    *(exp.GroupConcat, exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp),
)
_INTEGER: Final = (
    *(exp.Count, exp.Length, exp.StrPosition, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift),
)
_REAL: Final = (exp.Avg, exp.Round, exp.PercentRank, exp.CumeDist)
_AS_ARGUMENT: Final = (
    *(exp.Alias, exp.Min, exp.Max, exp.Window, exp.Distinct, exp.Filter, exp.Nullif),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue, exp.Collate, exp.IgnoreNulls),
)
_ANONYMOUS: Final[dict[str, Kind]] = {
    "DATE": "text",
    "DATETIME": "text",
    "TIME": "text",
    "STRFTIME": "text",
    "JULIANDAY": "real",
    "UNIXEPOCH": "integer",
    "TOTAL": "real",
}


def kind_of(node: exp.Expr) -> Kind:
    """Return what an expression was found to yield."""
    kind: Kind = node.meta["kind"]
    return kind


def affinity_of(node: exp.Expr) -> Affinity:
    """Return the affinity that an expression is compared with."""
    found: Affinity = node.meta.get("affinity", "none")
    return found


def is_number(kind: Kind) -> bool:
    """Whether a kind is a number to SQLite."""
    return kind in ("integer", "real", "boolean")


def mark(node: exp.Expr, kind: Kind, affinity: Affinity = "none") -> exp.Expr:
    """Note on a node what it yields."""
    node.meta["kind"] = kind
    node.meta["affinity"] = affinity
    return node


def annotate(node: exp.Expr) -> Kind:
    """Find what an expression yields, and note it there and on everything in it.

    Columns and scalar subqueries have their notes already.

    Raises:
        UntranslatableError: If that depends on the data.
    """
    if "kind" in node.meta:
        return kind_of(node)
    kind = _find(node)
    kind = kind if kind == "boolean" else as_value(kind)
    mark(node, kind, _affinity(node, kind))
    return kind


def as_value(kind: Kind) -> Kind:
    """Return what something is where it is a value: of a date its text, of a truth 1 or 0."""
    if kind == "boolean":
        return "integer"
    return "text" if kind in ("date", "timestamp") else kind


def _find(node: exp.Expr) -> Kind:
    children = [child for child in node.iter_expressions() if not isinstance(child, _SYNTAX)]
    kinds = [annotate(child) for child in children]
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "integer" if _whole(node) else "real"
    if isinstance(node, exp.Null):
        return "null"
    if isinstance(node, exp.HexString):
        return "blob"
    if isinstance(node, _BOOLEAN):
        return "boolean"
    if isinstance(node, _TEXT):
        return "text"
    if isinstance(node, _INTEGER):
        return "integer"
    if isinstance(node, _REAL):
        return "real"
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.Paren):
        return kinds[0]
    if isinstance(node, _AS_ARGUMENT):
        # Of `DISTINCT x` and the like the argument is the first there is.
        return as_value(kinds[0]) if kinds else "null"
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.Neg):
        return "integer" if {"integer", "boolean"} >= {*kinds} else "real"
    if isinstance(node, exp.Sum | exp.Abs):
        return "integer" if kinds[0] in ("integer", "boolean") else "real"
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        return _one(annotate(each) for each in (*results, node.args.get("default")) if each)
    if isinstance(node, exp.If):
        results = [node.args.get("true"), node.args.get("false")]
        return _one(annotate(each) for each in results if each)
    if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
        return _one(kinds)
    if isinstance(node, exp.Anonymous) and node.name.upper() in _ANONYMOUS:
        return _ANONYMOUS[node.name.upper()]
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        raise UntranslatableError(f"there is no rule for the function {name}")
    return "null"


_SYNTAX: Final = (exp.Identifier, exp.DataType, exp.Query, exp.Star)


def _affinity(node: exp.Expr, kind: Kind) -> Affinity:
    if isinstance(node, exp.Paren | exp.Alias | exp.Collate):
        return affinity_of(node.this)
    if isinstance(node, exp.Cast):
        return "text" if kind == "text" else "number"
    return "none"


def _cast(node: exp.Cast) -> Kind:
    written = "NUMERIC" if node.to.is_type("decimal") else node.to.sql("sqlite")
    declared = declared_affinity(written)
    kinds: dict[str, Kind] = {"integer": "integer", "real": "real", "text": "text"}
    if declared == "numeric":
        # A cast to NUMERIC leaves a number as it is.
        source = annotate(node.this)
        return source if source in ("integer", "real") else "real"
    if declared not in kinds:
        raise UntranslatableError(f"there is no rule for a cast to {written}")
    return kinds[declared]


def _whole(literal: exp.Literal) -> bool:
    return literal.name.isdigit() and int(literal.name) < 2**63


def _one(kinds: Iterable[Kind]) -> Kind:
    """Return the kind of an expression that yields any of some."""
    found = set(map(as_value, kinds)) - {"null"}
    if len(found) <= 1:
        return found.pop() if found else "null"
    if found == {"integer", "real"}:
        return "real"
    raise UntranslatableError("one column holds numbers and text")
