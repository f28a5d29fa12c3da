"""Texts that a model, or a person, can read, within a number of characters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate, takewhile

from bothends.engines import Outcome
from bothends.infra.text import CELL_CHARACTERS, as_cell

__all__ = ["Redaction", "as_cell", "counted", "cut", "redacted_rows", "rows_as_text"]

Redaction = Callable[[str, object], object]
"""Takes a result cell's column and value, and returns what is shown and kept in its place."""

_NOTE_CHARACTERS = 80


def counted(number: int, what: str) -> str:
    """Return a number of things in words, as in `1 more column` or `1,834 more tables`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def cut(text: str, characters: int) -> str:
    """Return a text that is no longer than that, and says how much of it is left out."""
    if len(text) <= characters:
        return text
    kept = text[: max(0, characters - _NOTE_CHARACTERS)]
    note = f"\n... and {counted(len(text) - len(kept), 'more character')}"
    return f"{kept}{note}"[:characters]


def redacted_rows(outcome: Outcome, limit: int, redaction: Redaction | None) -> Outcome:
    """Return a result as it may be shown and kept: with its first rows only, redacted.

    A cell whose redaction fails is not shown at all.

    Args:
        outcome: An executed query.
        limit: Rows that are needed.
        redaction: The user's function; None for none.
    """
    if redaction is None:
        return outcome

    def cell(column: str, value: object) -> object:
        try:
            return redaction(column, value)
        except Exception as error:  # its message may quote the value
            return f"[redaction failed: {type(error).__name__}]"

    rows = tuple(tuple(map(cell, outcome.columns, row)) for row in outcome.rows[:limit])
    return replace(outcome, rows=rows)


def rows_as_text(outcome: Outcome, limit: int, characters: int) -> str:
    """Return the first rows as tab-separated lines under a header.

    What does not fit is left out, the last columns first, and the last lines say how much it is.

    Args:
        outcome: An executed query.
        limit: Rows that are shown at most.
        characters: Characters that are shown at most.
    """
    lines = [[_as_header(name) for name in outcome.columns]]
    lines += [[as_cell(value) for value in row] for row in outcome.rows[:limit]]
    room = characters - 2 * _NOTE_CHARACTERS
    widths = accumulate(
        sum(len(cell) + 1 for cell in column) for column in zip(*lines, strict=True)
    )
    columns = max(1, len(list(takewhile(lambda width: width <= room, widths))))
    shown = ["\t".join(line[:columns]) for line in lines]
    while len(shown) > 1 and sum(len(line) + 1 for line in shown) > room:
        shown.pop()
    hidden = (outcome.row_count or 0) - (len(shown) - 1)
    if hidden > 0:
        shown.append(f"... and {counted(hidden, 'more row')}")
    if len(outcome.columns) > columns:
        shown.append(f"... and {counted(len(outcome.columns) - columns, 'more column')}")
    return "\n".join(shown)


def _as_header(name: str) -> str:
    return name if len(name) <= CELL_CHARACTERS else as_cell(name)
