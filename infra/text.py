"""Values as text that a person, or a model, can read."""

from __future__ import annotations

__all__ = ["as_cell"]

_CELL_CHARACTERS = 100


def as_cell(value: object) -> str:
    """Return a value as one line of at most 100 characters; NULL for None."""
    text = "NULL" if value is None else " ".join(str(value).split())
    return text if len(text) <= _CELL_CHARACTERS else text[: _CELL_CHARACTERS - 1] + "…"
