"""When two numbers, or the cells that hold them, are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from typing import Final

from bothends.engines.cells import Cell, Number, is_number
from bothends.eval.record import Tolerance

__all__ = [
    "FLOAT",
    "INTEGER",
    "cells_equal",
    "coarsest_half_unit",
    "kind",
    "numbers_equal",
    "replace_numbers",
]

FLOAT: Final = -1
INTEGER: Final = -2

# Wide enough that no difference of two SQL decimals is rounded.
_EXACT = Context(prec=200)


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
