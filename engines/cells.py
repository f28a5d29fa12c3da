"""One typed normalisation of result cells: the form in which they are compared and digested."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, Final, TypeGuard

from bothends.engines.base import Outcome

__all__ = ["PLAIN", "Cell", "Number", "columns_of", "is_number", "normalise", "normalise_column"]

Number = int | float | Decimal
Cell = None | str | bytes | Number | tuple[Any, ...]
"""A normalised cell: hashable, and equal to another exactly where no tolerance is needed."""

PLAIN: Final = frozenset({type(None), bool, int, str, bytes})
"""Types whose values are normalised as they are."""
_NUMBERS: Final = PLAIN | {float, Decimal}


def normalise(value: object) -> Cell:
    """Return the one form in which a cell is compared.

    - NULL is None, and equals only NULL.
    - A boolean is the number 0 or 1, which is what engines without booleans (SQLite) return.
    - Numbers stay as they are: Python compares int, float and Decimal by exact value; a tolerance
      is for those who compare. NaN equals NaN, which Python's would not.
    - A date is its ISO text, and a timestamp its ISO text with a space (`2024-01-31 12:00:00`,
      fractions of a second only where there are any, in UTC where it has a zone): engines
      without date types keep exactly such text. So text equals a date only where it is the
      date's own ISO form, and a date never equals a timestamp.
    - Text stays text: it is not trimmed, folded or read as a number.
    - Arrays, structs and maps are compared by value, whatever the order of a map's keys.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if value == value else ("nan",)
    if isinstance(value, Decimal):
        return ("nan",) if value.is_nan() else value
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC)
        return moment.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Mapping):
        items = [(normalise(key), normalise(item)) for key, item in value.items()]
        return ("map", *sorted(items, key=lambda item: _key_order(item[0])))
    if isinstance(value, Sequence):
        return ("list", *map(normalise, value))
    if isinstance(value, timedelta):
        return ("interval", value)
    return (type(value).__name__, str(value))


def normalise_column(column: tuple[object, ...]) -> tuple[Cell, ...]:
    """Return the normalised cells of a column; the column itself where nothing changes."""
    types = set(map(type, column))
    if types <= PLAIN or (types <= _NUMBERS and all(cell == cell for cell in column)):
        return column  # type: ignore[return-value]
    return tuple(map(normalise, column))


def is_number(cell: object) -> TypeGuard[Number]:
    """Whether a cell is a number that tolerance applies to: one that a float can hold.

    Infinities, and what is larger than the largest float, are compared exactly.
    """
    if isinstance(cell, float):
        return isfinite(cell)
    if isinstance(cell, int):
        return cell.bit_length() < sys.float_info.max_exp
    return (
        isinstance(cell, Decimal)
        and cell.is_finite()
        and cell.adjusted() < sys.float_info.max_10_exp
    )


def columns_of(outcome: Outcome) -> list[tuple[Cell, ...]]:
    """Return the normalised columns of a result."""
    if not outcome.rows:
        return [()] * len(outcome.columns)
    return [normalise_column(column) for column in zip(*outcome.rows, strict=True)]


def _key_order(key: Cell) -> tuple[int, Any]:
    if is_number(key):
        return (0, key)
    return (1, key) if isinstance(key, str) else (2, repr(key))
