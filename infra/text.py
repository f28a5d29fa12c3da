"""Values as text that a person, or a model, can read."""

from __future__ import annotations

__all__ = ["CELL_CHARACTERS", "as_cell"]

CELL_CHARACTERS = 100
"""The length that a value is cut to."""


def as_cell(value: object) -> str:
    """Return a value as one line of at most 100 characters; NULL for None."""
    text = "NULL" if value is None else " ".join(str(value).split())
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"
