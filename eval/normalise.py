"""One typed normalisation of result cells, and when two numbers are equal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from math import isfinite
from typing import Any, Final, TypeGuard

from bothends.eval.record import Tolerance

__all__ = [
    "FLOAT",
    "INTEGER",
    "PLAIN",
    "Cell",
    "Number",
    "cells_equal",
    "coarsest_half_unit",
    "is_number",
    "kind",
    "normalise",
    "normalise_column",
    "numbers_equal",
    "replace_numbers",
]

Number = int | float | Decimal
Cell = None | str | bytes | Number | tuple[Any, ...]
"""A normalised cell: hashable, and equal to another exactly where no tolerance is needed."""

PLAIN: Final = frozenset({type(None), bool, int, str, bytes})
"""Types whose values are normalised as they are."""
_NUMBERS: Final = PLAIN | {float, Decimal}
FLOAT: Final = -1
INTEGER: Final = -2

# Wide enough that no difference of two SQL decimals is rounded.
_EXACT = Context(prec=200)


def normalise(value: object) -> Cell:
    """Return the one form in which a cell is compared.

    - NULL is None, and equals only NULL.
    - A boolean is the number 0 or 1, which is what engines without booleans (SQLite) return.
    - Numbers stay as they are: Python compares int, float and Decimal by exact value, and
      `numbers_equal` adds the tolerance. NaN equals NaN, which Python's would not.
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


def numbers_equal(gold: Number, predicted: Number, tolerance: Tolerance) -> bool:
    """Whether two numbers are equal within the tolerance.

    Integers and decimals are exact: the relative tolerance, a share of gold's magnitude, is
    granted only where one side is a float. Where a side is a decimal, half a unit in the last
    place of the coarser decimal scale is granted besides, so that a result that was rounded to
    fewer decimals, or as a double, still equals.
    """
    if gold == predicted:
        return True
    if not (tolerance.relative or tolerance.half_unit):
        return False
    half = coarsest_half_unit((gold, predicted)) if tolerance.half_unit else Decimal(0)
    if isinstance(gold, float) or isinstance(predicted, float):
        allowed = float(half) + tolerance.relative * abs(float(gold))
        return abs(float(gold) - float(predicted)) <= allowed
    return bool(half) and abs(_EXACT.subtract(Decimal(gold), Decimal(predicted))) <= half


def coarsest_half_unit(numbers: Iterable[Number]) -> Decimal:
    """Return half a unit in the last place of the coarsest decimal; 0 where none is a decimal."""
    scales = [_scale(number) for number in numbers if isinstance(number, Decimal)]
    return Decimal(5).scaleb(-min(scales) - 1) if scales else Decimal(0)


def kind(number: Number) -> int:
    """Return what bears on a number's tolerance: `INTEGER`, `FLOAT`, or a decimal's scale."""
    if isinstance(number, Decimal):
        return _scale(number)
    return FLOAT if isinstance(number, float) else INTEGER


def replace_numbers(cell: Cell, replace: Callable[[Number], Cell]) -> Cell:
    """Return a cell with each number in it, at any depth, replaced by something else."""
    if is_number(cell):
        return replace(cell)
    if isinstance(cell, tuple):
        return tuple([replace_numbers(part, replace) for part in cell])
    return cell


def cells_equal(gold: Cell, predicted: Cell, tolerance: Tolerance) -> bool:
    """Whether two normalised cells are equal, numbers within the tolerance, at any depth."""
    if gold == predicted:
        return True
    if is_number(gold) and is_number(predicted):
        return numbers_equal(gold, predicted, tolerance)
    return (
        isinstance(gold, tuple)
        and isinstance(predicted, tuple)
        and len(gold) == len(predicted)
        and all(cells_equal(a, b, tolerance) for a, b in zip(gold, predicted, strict=True))
    )


def _scale(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _key_order(key: Cell) -> tuple[int, Any]:
    if is_number(key):
        return (0, key)
    return (1, key) if isinstance(key, str) else (2, repr(key))
