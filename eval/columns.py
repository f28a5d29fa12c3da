"""Finding gold's columns among a result's, by value and with the rows kept whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from bothends.eval.normalise import Cell
from bothends.eval.record import Tolerance
from bothends.eval.rows import Bag, Row

__all__ = ["Columns"]

_Column = tuple[Cell, ...]


class Columns:
    """The columns of gold and of a result with as many rows, and which may stand for which.

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
    def pairs(self) -> dict[int, int]:
        """As many columns of gold as possible, each with a value-equal one of its own."""
        return _pair(dict(enumerate(self.options)))

    def find(self, marks: tuple[_Column, _Column] | None = None) -> list[int] | None:
        """Find predicted columns, one of its own for each of gold's, that make the rows agree.

        Args:
            marks: A mark for each row of gold and of the result; rows agree only where their
                marks are the same.

        Returns:
            The predicted column for each of gold's; None where no choice makes the multisets of
            rows equal.
        """
        width = len(self._gold)
        if width > len(self._predicted):
            return None
        gold: list[Row] = [()] * self._rows
        predicted: list[Row] = [()] * self._rows
        if marks is not None:
            gold, predicted = _extend(gold, marks[0]), _extend(predicted, marks[1])
        # Most often the columns simply come in gold's order.
        if self._agree(dict(zip(range(width), range(width), strict=True)), gold, predicted):
            return list(range(width))
        if len(self.pairs) < width:
            return None
        found = self._search(dict(enumerate(self.options)), gold, predicted)
        return None if found is None else [found[column] for column in range(width)]

    def _search(
        self, options: Mapping[int, list[int]], gold: list[Row], predicted: list[Row]
    ) -> dict[int, int] | None:
        """Give every column in `options` one of its options so that the rows, extended, agree.

        Each option on its own is known to agree with the rows so far.
        """
        guess = _pair(options)
        if len(guess) < len(options):
            return None
        if self._agree(guess, gold, predicted):
            return guess
        if all(len(self._distinct(choices)) == 1 for choices in options.values()):
            return None
        column = min(options, key=lambda column: len(options[column]))
        others = {other: options[other] for other in options if other != column}
        for choice in self._distinct(options[column]):
            longer_gold = _extend(gold, self._gold[column])
            longer_predicted = _extend(predicted, self._predicted[choice])
            narrowed = self._narrow(others, choice, longer_gold, longer_predicted)
            found = self._search(narrowed, longer_gold, longer_predicted)
            if found is not None:
                return {column: choice, **found}
        return None

    def _narrow(
        self, options: Mapping[int, list[int]], used: int, gold: list[Row], predicted: list[Row]
    ) -> dict[int, list[int]]:
        narrowed: dict[int, list[int]] = {}
        for column, choices in options.items():
            extended = Bag(_extend(gold, self._gold[column]))
            agreeing = {
                self._twins[choice]
                for choice in self._distinct(choices)
                if extended.matches(
                    Bag(_extend(predicted, self._predicted[choice])), self._tolerance
                )
            }
            narrowed[column] = [
                choice for choice in choices if choice != used and self._twins[choice] in agreeing
            ]
            if not narrowed[column]:
                break
        return narrowed

    def _agree(self, chosen: Mapping[int, int], gold: list[Row], predicted: list[Row]) -> bool:
        ours = Bag(_extend(gold, *(self._gold[column] for column in chosen)))
        theirs = Bag(_extend(predicted, *(self._predicted[column] for column in chosen.values())))
        return ours.matches(theirs, self._tolerance)

    def _distinct(self, choices: Iterable[int]) -> list[int]:
        """One choice of each kind: identical columns are interchangeable."""
        return list({self._twins[choice]: choice for choice in choices}.values())

    @cached_property
    def _twins(self) -> list[int]:
        """For each predicted column the first that is identical to it, types and scales too."""
        first: dict[str, int] = {}
        return [
            first.setdefault(repr(column), index) for index, column in enumerate(self._predicted)
        ]


def _columns(rows: Sequence[Row], width: int) -> list[_Column]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _extend(rows: Sequence[Row], *columns: _Column) -> list[Row]:
    if not columns:
        return list(rows)
    return [row + cells for row, cells in zip(rows, zip(*columns, strict=True), strict=True)]


def _pair(options: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Give as many columns as possible an option of their own (Kuhn's augmenting paths)."""
    holder: dict[int, int] = {}

    def place(column: int, seen: set[int]) -> bool:
        for option in options[column]:
            if option in seen:
                continue
            seen.add(option)
            if option not in holder or place(holder[option], seen):
                holder[option] = column
                return True
        return False

    for column in options:
        place(column, set())
    return {column: option for option, column in holder.items()}
