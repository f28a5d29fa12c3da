"""DDL that is too long to be shown whole: which columns stay, and what is said of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bothends.engines.lexemes import UnreadableError, scan
from bothends.tools.pattern import matches
from bothends.tools.text import as_cell, counted, cut

__all__ = ["ShownDdl", "shown_ddl"]

_CONSTRAINT = re.compile(
    r'(?:CONSTRAINT\s+(?:"[^"]*"|`[^`]*`|\S+)\s+)?'
    r"(?:(?:PRIMARY|FOREIGN)\s+KEY\b|CHECK\s*\(|UNIQUE\s*(?:\(|NULLS\b)|EXCLUDE\b)",
    re.IGNORECASE,
)
_NOTES_CHARACTERS = 300


class ShownDdl(NamedTuple):
    """What is shown of a table's DDL.

    Attributes:
        text: The DDL, perhaps cut.
        columns: The columns in it, in lower case; None for all.
    """

    text: str
    columns: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class _Item:
    """A column or a constraint, with the blanks, the comma and the comment around it."""

    text: str
    column: str | None


def shown_ddl(ddl: str, dialect: str, characters: int, pattern: str | None) -> ShownDdl:
    """Cut DDL to a number of characters, between its columns, and say what was left out.

    A list of columns that cannot be read, and a view without one, is cut where it ends.

    Args:
        ddl: The DDL of a table or view.
        dialect: Its dialect.
        characters: The most that the text may have.
        pattern: Which columns are wanted; None for all.
    """
    if len(ddl) <= characters and pattern is None:
        return ShownDdl(ddl, None)
    divided = _divide(ddl, dialect)
    if divided is None:
        return ShownDdl(cut(ddl, characters), None)
    head, items, tail = divided
    columns = [item for item in items if item.column is not None]
    constraints = [item for item in items if item.column is None]
    wanted = [item for item in columns if matches(pattern, item.column or "")]
    # A comment on the table, or a view's query, may be longer than all its columns.
    quarter = characters // 4
    if len(head) > quarter:
        head = cut(head, quarter) + "\n"
    room = characters - len(head) - _NOTES_CHARACTERS
    tail = cut(tail, max(quarter, room - sum(len(item.text) for item in wanted + constraints)))
    room -= len(tail)
    rules = _fitting(constraints, max(room // 2, room - sum(len(item.text) for item in wanted)))
    room -= sum(len(item.text) for item in rules)
    kept = _fitting(wanted, room)
    if wanted and not kept:
        kept = [_Item(cut(wanted[0].text, max(0, room)), wanted[0].column)]
    notes = []
    if unlike := len(columns) - len(wanted):
        notes.append(f"... {counted(unlike, 'other column')} not like {as_cell(pattern)!r}")
    if more := len(wanted) - len(kept):
        notes.append(f"... and {counted(more, 'more column')}: narrow them with columns")
    if more := len(constraints) - len(rules):
        notes.append(f"... and {counted(more, 'more constraint')}")
    body = ""
    for item in kept + rules:
        after_comment = "--" in body.rpartition("\n")[2] and not item.text.startswith("\n")
        body += "\n" + item.text if after_comment else item.text
    if notes:
        body = "\n  ".join([body.rstrip(), *notes]) + "\n"
    return ShownDdl(f"{head}{body}{tail}", frozenset(item.column or "" for item in kept))


def _fitting(items: Iterable[_Item], characters: int) -> list[_Item]:
    kept = []
    for item in items:
        characters -= len(item.text)
        if characters < 0:
            break
        kept.append(item)
    return kept


def _divide(ddl: str, dialect: str) -> tuple[str, list[_Item], str] | None:
    """Divide DDL into what is before its list of columns, the list, and what is after it."""
    try:
        bounds = _bounds(ddl, dialect)
        items = [_item(ddl[begin:end], dialect) for begin, end in pairwise(bounds)]
    except UnreadableError:
        return None
    if len(bounds) < 2:
        return None
    return ddl[: bounds[0]], [item for item in items if item is not None], ddl[bounds[-1] :]


def _bounds(ddl: str, dialect: str) -> list[int]:
    """Return where the first column begins, each next one, and the closing parenthesis."""
    bounds: list[int] = []
    depth = angles = 0
    fresh = False  # behind a comma, whose line may go on with a comment on what it ends
    for lexeme in scan(ddl, dialect):
        if lexeme.kind == "blank":
            if fresh and lexeme.raw.isspace() and "\n" in lexeme.raw:
                bounds[-1], fresh = lexeme.start, False
            continue
        fresh = False
        symbol = lexeme.raw if lexeme.kind == "symbol" else ""
        if depth == 0 and lexeme.keyword == "AS":
            return []
        if symbol == ")":
            depth, angles = depth - 1, 0
            if depth == 0:
                return [*bounds, lexeme.start]
        elif symbol == "(":
            depth += 1
        elif dialect == "spark" and symbol in {"<", ">"}:  # STRUCT<a: INT, b: INT>
            angles = max(0, angles + (1 if symbol == "<" else -1))
        opens = symbol == "(" and depth == 1 and not bounds
        if opens or (symbol == "," and depth == 1 and not angles):
            bounds.append(lexeme.start + 1)
            fresh = True
    return []


def _item(text: str, dialect: str) -> _Item | None:
    first = next((each for each in scan(text, dialect) if each.kind != "blank"), None)
    if first is None:
        return None
    is_constraint = first.kind == "word" and _CONSTRAINT.match(text, first.start)
    return _Item(text, None if is_constraint else first.identifier)
