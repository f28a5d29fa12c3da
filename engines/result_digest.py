"""The digest of a result that is here, by which equal results are told."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

from bothends.engines.base import Outcome
from bothends.engines.cells import Cell, columns_of, is_number

__all__ = ["result_digest"]


def result_digest(outcome: Outcome) -> str | None:
    """Return the SHA-256 of a result's normalised rows, whatever their order.

    Equal numbers have one text, whatever their type (1, 1.0 and 1.00 are the same); no tolerance
    is applied, so that results within it may have different digests.

    Returns:
        64 hexadecimal digits; None where the result is not whole or there is none.
    """
    if outcome.status != "ok" or not outcome.whole:
        return None
    columns = [tuple(map(_canonical, column)) for column in columns_of(outcome)]
    rows = sorted(map(repr, zip(*columns, strict=True)))
    text = "\n".join([f"{len(outcome.columns)} columns", *rows])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(cell: Cell) -> Any:
    if is_number(cell):
        if isinstance(cell, int):
            return str(int(cell))
        # A float stands for the shortest decimal that reads back as it.
        return str(Fraction(repr(cell) if isinstance(cell, float) else cell))
    if isinstance(cell, tuple):
        return tuple(map(_canonical, cell))
    return ("text", cell) if isinstance(cell, str) else cell
