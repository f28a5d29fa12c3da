"""What a rule is, and what rules share: turning one kind of value into another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from sqlglot import exp

from bothends.eval.gold.forms import build
from bothends.eval.gold.kinds import kind_of, mark
from bothends.eval.gold.source import UntranslatableError

__all__ = ["Rule", "Target", "double", "is_condition", "number", "text", "truth", "value"]

Target = Literal["postgres", "spark"]

DOUBLE: Final = exp.DataType.build("double")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rewrite of one kind of node.

    Attributes:
        name: What it is called in a gold file.
        nodes: The nodes that it looks at.
        apply: Returns what the node becomes on a target, or None where it stays; what is in the
            node has been rewritten, and has notes of its kind.
        targets: The targets that need it.
    """

    name: str
    nodes: tuple[type[exp.Expr], ...]
    apply: Callable[[exp.Expr, Target], exp.Expr | None]
    targets: tuple[Target, ...] = ("postgres", "spark")


def number(node: exp.Expr, target: Target) -> exp.Expr:
    """Return an expression as the number that SQLite calculates with."""
    kind = kind_of(node)
    if kind == "text":
        return mark(build("real of text", target, x=node), "real")
    if kind == "blob":
        raise UntranslatableError("it calculates with a blob")
    return value(node)


def double(node: exp.Expr, target: Target) -> exp.Expr:
    """Return an expression as a double."""
    if kind_of(node) in ("integer", "boolean", "null"):
        return mark(exp.cast(value(node), DOUBLE), "real")
    return number(node, target)


def text(node: exp.Expr, target: Target) -> exp.Expr:
    """Return an expression as the text that SQLite makes of it."""
    kind = kind_of(node)
    if kind in ("integer", "boolean"):
        return mark(exp.cast(value(node), exp.DataType.build("text")), "text")
    if kind == "real":
        return mark(build("text of real", target, x=node), "text")
    if kind == "blob":
        raise UntranslatableError("it takes a blob for text")
    return node


def value(node: exp.Expr) -> exp.Expr:
    """Return an expression as a value: a truth value is 1 or 0."""
    if kind_of(node) != "boolean":
        return node
    if isinstance(node, exp.Boolean):
        return mark(exp.Literal.number(int(node.this)), "integer")
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    return mark(exp.cast(inner, exp.DataType.build("int")), "integer")


def truth(node: exp.Expr, target: Target) -> exp.Expr:
    """Return an expression as a condition: a number is true where it is not 0."""
    if kind_of(node) in ("boolean", "null"):
        return node
    tested = number(node, target)
    if isinstance(tested, exp.Binary):
        tested = exp.paren(tested)
    return mark(exp.NEQ(this=tested, expression=exp.Literal.number(0)), "boolean")


def is_condition(parent: exp.Expr, key: str) -> bool:
    """Whether what stands at a place of a node is a condition."""
    if isinstance(parent, exp.Where | exp.Having | exp.Not | exp.And | exp.Or):
        return key in ("this", "expression")
    if isinstance(parent, exp.Join):
        return key == "on"
    if isinstance(parent, exp.If):
        searched = not (isinstance(parent.parent, exp.Case) and parent.parent.this)
        return key == "this" and searched
    return False
