"""Rows as text that a model, or a person, can read."""

from __future__ import annotations

from bothends.engines import Outcome
from bothends.infra.text import as_cell

__all__ = ["as_cell", "rows_as_text"]


def rows_as_text(outcome: Outcome, limit: int) -> str:
    """Return the first rows as tab-separated lines under a header.

    Args:
        outcome: An executed query.
        limit: Rows that are shown at most.
    """
    lines = ["\t".join(outcome.columns)]
    lines += ["\t".join(as_cell(value) for value in row) for row in outcome.rows[:limit]]
    hidden = (outcome.row_count or 0) - min(limit, len(outcome.rows))
    if hidden > 0:
        lines.append(f"... and {hidden:,} more rows")
    return "\n".join(lines)
