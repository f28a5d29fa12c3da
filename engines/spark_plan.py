"""The digest of a physical plan: what it does, without what no two executions of it share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final

__all__ = ["plan_digest"]

_DIGITS: Final = 16
# A line of a plan's tree ends with the number of its operator, under which its arguments stand.
_IN_TREE: Final = re.compile(r"\((\d+)\)(?:, .*)?$")
_INITIAL: Final = re.compile(r"^(?P<indent>.*)\+- == Initial Plan ==$")
_BLOCK: Final = re.compile(r"^\((\d+)\) ")
# Places of files, sizes found at run time, and numbers that are given in the order in which parts
# of a plan happen to be compiled or to end.
_OF_ONE_RUN: Final = re.compile(
    r"^Location: .*\n|, Statistics\([^)]*\)|,? ?\[plan_id=\d+\]|(?<= )\[codegen id : \d+\]"
    r"|(?<=RDD)\[\d+\]",
    re.MULTILINE,
)
_STAGE_NUMBER: Final = re.compile(r"(?<=QueryStage\n)(Output .*\n)?Arguments: \d+$", re.MULTILINE)
_EXPRESSION: Final = re.compile(r"#(\d+)")


def plan_digest(description: str) -> str:
    """Return the digest of a plan that Spark has executed.

    Where Spark planned anew on the way (AQE), the plan is the last one, and the first, which stands
    beside it, is left out. Expressions are numbered by where they first appear.

    Args:
        description: The plan, as Spark's `EXPLAIN FORMATTED` writes it.

    Returns:
        16 hexadecimal digits.
    """
    text = _STAGE_NUMBER.sub("", _OF_ONE_RUN.sub("", _without_initial(description)))
    text = _EXPRESSION.sub(_renumbered(), text)
    return hashlib.sha256(text.strip().encode()).hexdigest()[:_DIGITS]


def _without_initial(description: str) -> str:
    """Return a plan without the trees that it began with, and their operators' arguments."""
    kept: list[str] = []
    final: set[str] = set()
    initial: set[str] = set()
    indent: str | None = None
    for line in description.split("\n"):
        if found := _INITIAL.match(line):
            indent = found["indent"]
            continue
        if indent is not None and line.startswith(f"{indent} "):
            initial.update(_IN_TREE.findall(line))
            continue
        indent = None
        if not _BLOCK.match(line):
            final.update(_IN_TREE.findall(line))
        kept.append(line)
    blocks = "\n".join(kept).split("\n\n")
    left_out = initial - final

    def stays(block: str) -> bool:
        number = _BLOCK.match(block.lstrip("\n"))
        return number is None or number[1] not in left_out

    return "\n\n".join(filter(stays, blocks))


def _renumbered() -> Callable[[re.Match[str]], str]:
    numbers: dict[str, int] = {}
    return lambda found: f"#{numbers.setdefault(found[1], len(numbers))}"
