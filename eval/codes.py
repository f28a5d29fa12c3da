"""Cells as small integers, the same for all that may be equal, so that rows can be told by them.

Equality within a tolerance is not transitive. Numbers are therefore gathered into clusters: two
that may be equal always have the same code. Where within each cluster every number of gold equals
every number of the result, codes are as good as the cells; where not, the family is `loose`, and
equal codes must be checked against the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from bothends.engines.cells import Cell, Number
from bothends.eval.record import Tolerance
from bothends.eval.tolerance import (
    FLOAT,
    INTEGER,
    coarsest_half_unit,
    kind,
    numbers_equal,
    replace_numbers,
)

__all__ = ["Column", "Family", "encode"]

Column = tuple[Cell, ...]
_Kinded = tuple[Number, int]
_MAX_PAIRS = 256


@dataclass(frozen=True, slots=True)
class Family:
    """Columns that may stand for one another, as codes.

    Attributes:
        gold: The codes of each column of gold's, row by row.
        predicted: Those of the result's.
        loose: Whether equal codes do not yet mean equal cells.
    """

    gold: list[list[int]]
    predicted: list[list[int]]
    loose: bool


def encode(gold: Sequence[Column], predicted: Sequence[Column], tolerance: Tolerance) -> Family:
    """Give the cells of columns codes: the same to any two that are equal within the tolerance.

    Args:
        gold: Columns of gold's.
        predicted: Columns of the result that may stand for them.
        tolerance: How far two numbers may lie apart and still be equal.
    """
    clusters, loose = _clusters(_numbers(gold), _numbers(predicted), tolerance)
    known: dict[Cell, int] = {}

    def codes(column: Column) -> list[int]:
        cells: Iterable[Cell] = column
        if clusters is not None:
            cells = (replace_numbers(cell, clusters.__getitem__) for cell in column)
        return [known.setdefault(cell, len(known)) for cell in cells]

    return Family([*map(codes, gold)], [*map(codes, predicted)], loose)


def _numbers(columns: Iterable[Column]) -> set[_Kinded]:
    numbers: set[_Kinded] = set()

    def take(number: Number) -> Cell:
        numbers.add((number, kind(number)))
        return None

    for cell in chain.from_iterable(columns):
        replace_numbers(cell, take)
    return numbers


def _clusters(
    gold: set[_Kinded], predicted: set[_Kinded], tolerance: Tolerance
) -> tuple[dict[Number, int] | None, bool]:
    """Return the cluster of each number, None where each is its own, and whether any is loose."""
    everything = sorted(gold | predicted)
    kinds = {each for _, each in everything}
    if kinds <= {INTEGER} or not (tolerance.relative or tolerance.half_unit):
        return None, False
    half = float(coarsest_half_unit(number for number, _ in everything)) * tolerance.half_unit
    # A little more than the tolerance, since what is computed here is rounded.
    share = 1e-15 + (tolerance.relative if FLOAT in kinds else 0.0)

    def apart(lower: Number, upper: Number) -> bool:
        if share >= 1:
            return False
        low, high = float(lower), float(upper)
        return high - low > half + share * max(abs(low), abs(high))

    groups: list[list[_Kinded]] = [everything[:1]]
    for (lower, _), each in pairwise(everything):
        if apart(lower, each[0]):
            groups.append([])
        groups[-1].append(each)
    clusters = {number: index for index, group in enumerate(groups) for number, _ in group}
    return clusters, any(_is_loose(group, gold, predicted, tolerance) for group in groups)


def _is_loose(
    group: Sequence[_Kinded], gold: set[_Kinded], predicted: set[_Kinded], tolerance: Tolerance
) -> bool:
    """Whether some number of gold in a cluster differs from one of the result in it."""
    if len(group) == 1:
        return False
    ours = [number for number, each in group if (number, each) in gold]
    theirs = [number for number, each in group if (number, each) in predicted]
    if len(ours) * len(theirs) > _MAX_PAIRS:
        return True
    return not all(numbers_equal(a, b, tolerance) for a in ours for b in theirs)
