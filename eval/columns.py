"""Gold's columns among a result's, by value and with the rows kept whole, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from bothends.eval.normalise import Cell
from bothends.eval.record import Tolerance
from bothends.eval.rows import Bag, Row
from bothends.eval.search import ColumnSearch

__all__ = ["Columns"]

_Column = tuple[Cell, ...]


class Columns(ColumnSearch[_Column]):
    """The columns of gold and of a result with as many rows, of which all are at hand.

    The mark of a place is the same for gold's row there and for the result's.

    Args:
        gold: Gold's rows, normalised.
        predicted: The result's rows, normalised; as many.
        widths: How many columns gold and the result have.
        tolerance: How far two numbers may lie apart and still be equal.
    """

    def __init__(
        self,
        gold: Sequence[Row],
        predicted: Sequence[Row],
        widths: tuple[int, int],
        tolerance: Tolerance,
    ) -> None:
        super().__init__(widths)
        self._gold = _columns(gold, widths[0])
        self._predicted = _columns(predicted, widths[1])
        self._rows = len(gold)
        self._tolerance = tolerance

    @cached_property
    def options(self) -> list[list[int]]:
        """For each column of gold the predicted columns with an equal multiset of values."""
        candidates = [Bag(zip(column)) for column in self._predicted]
        columns = [Bag(zip(column)) for column in self._gold]
        return [
            [
                index
                for index, candidate in enumerate(candidates)
                if column.matches(candidate, self._tolerance)
            ]
            for column in columns
        ]

    @cached_property
    def twins(self) -> list[int]:
        """For each predicted column the first that is identical to it, types and scales too."""
        first: dict[str, int] = {}
        return [
            first.setdefault(repr(column), index) for index, column in enumerate(self._predicted)
        ]

    def agree(self, chosen: Mapping[int, int], marks: _Column | None = None) -> bool:
        """Whether the rows agree on these columns of gold, each with its predicted one."""
        before = [] if marks is None else [marks]
        ours = self._bag([*before, *(self._gold[column] for column in chosen)])
        theirs = self._bag([*before, *(self._predicted[column] for column in chosen.values())])
        return ours.matches(theirs, self._tolerance)

    def _bag(self, columns: Sequence[_Column]) -> Bag:
        return Bag(zip(*columns, strict=True) if columns else [()] * self._rows)


def _columns(rows: Sequence[Row], width: int) -> list[_Column]:
    return list(zip(*rows, strict=True)) if rows else [()] * width
