"""The search for gold's columns among a result's, wherever the rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from bothends.eval.pairing import pair

__all__ = ["ColumnSearch"]


class ColumnSearch(ABC):
    """The columns of gold and of a result with as many rows, and which may stand for which.

    Subclasses say what they see of the rows, and by what the rows are marked where marks are
    given: then they agree only where their marks are the same.

    Args:
        widths: How many columns gold and the result have.
    """

    def __init__(self, widths: tuple[int, int]) -> None:
        self.widths = widths

    @cached_property
    @abstractmethod
    def options(self) -> list[list[int]]:
        """For each column of gold the predicted columns with an equal multiset of values."""

    @cached_property
    @abstractmethod
    def twins(self) -> list[int]:
        """For each predicted column the first that is identical to it, types and scales too."""

    @abstractmethod
    def agree(self, chosen: Mapping[int, int], marks: Sequence[int] | None = None) -> bool:
        """Whether the rows agree on these columns of gold, each with its predicted one.

        Args:
            chosen: The predicted column for each of these columns of gold.
            marks: What the rows are marked by, as the subclass says; None where by nothing.
        """

    @cached_property
    def pairs(self) -> dict[int, int]:
        """As many columns of gold as possible, each with a value-equal one of its own."""
        return pair(dict(enumerate(self.options)))

    def find(self, marks: Sequence[int] | None = None) -> list[int] | None:
        """Find predicted columns, one of its own for each of gold's, that make the rows agree.

        Args:
            marks: What the rows are marked by, if they are: see `agree`.

        Returns:
            The predicted column for each of gold's; None where no choice makes the multisets of
            rows equal.
        """
        width = self.widths[0]
        if width > self.widths[1]:
            return None
        # Most often the columns simply come in gold's order.
        if self.agree({column: column for column in range(width)}, marks):
            return list(range(width))
        if len(self.pairs) < width:
            return None
        found = self._search({}, dict(enumerate(self.options)), marks)
        return None if found is None else [found[column] for column in range(width)]

    def _search(
        self, fixed: dict[int, int], options: Mapping[int, list[int]], marks: Sequence[int] | None
    ) -> dict[int, int] | None:
        """Give every column in `options` one of its options so that the rows agree.

        Each option, with the columns that are fixed, is known to make the rows agree.
        """
        guess = pair(options)
        if len(guess) < len(options):
            return None
        if self.agree(fixed | guess, marks):
            return fixed | guess
        if all(len(self._distinct(choices)) == 1 for choices in options.values()):
            return None
        column = min(options, key=lambda column: len(options[column]))
        others = {other: options[other] for other in options if other != column}
        for choice in self._distinct(options[column]):
            longer = {**fixed, column: choice}
            found = self._search(longer, self._narrow(others, longer, choice, marks), marks)
            if found is not None:
                return found
        return None

    def _narrow(
        self,
        options: Mapping[int, list[int]],
        fixed: dict[int, int],
        used: int,
        marks: Sequence[int] | None,
    ) -> dict[int, list[int]]:
        narrowed: dict[int, list[int]] = {}
        for column, choices in options.items():
            agreeing = {
                self.twins[choice]
                for choice in self._distinct(choices)
                if self.agree({**fixed, column: choice}, marks)
            }
            narrowed[column] = [
                choice for choice in choices if choice != used and self.twins[choice] in agreeing
            ]
            if not narrowed[column]:
                break
        return narrowed

    def _distinct(self, choices: Iterable[int]) -> list[int]:
        """One choice of each kind: identical columns are interchangeable."""
        return list({self.twins[choice]: choice for choice in choices}.values())
