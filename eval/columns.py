"""Finding gold's columns among a result's, by value and with the rows kept whole.

Whether such a choice of columns exists is as hard a question as whether one graph lies in another,
so it is answered as graphs are compared: rows and columns are told apart by one another, over and
over, until nothing more is learned (Weisfeiler and Leman's refinement); only what is still open
then is tried, one column at a time, and refined again. Whatever is found is checked on whole rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from bothends.eval.codes import Column, encode
from bothends.eval.effort import Effort
from bothends.eval.pairing import Options, families, pair
from bothends.eval.record import Tolerance
from bothends.eval.rows import Bag

__all__ = ["Columns"]

_Classes = tuple[list[int], list[int]]
"""The class of each row of gold and of the result; only rows of the same class can be equal."""


_NO_TOLERANCE = Tolerance(relative=0.0, half_unit=False)
_STEPS_A_LOOSE_CELL = 20


class Columns:
    """The columns of gold and of a result with as many rows, and which may stand for which.

    Args:
        gold: Gold's columns, normalised.
        predicted: The result's columns, normalised, of as many rows.
        rows: How many.
        tolerance: How far two numbers may lie apart and still be equal.
        effort: How long a search may take.
    """

    def __init__(
        self,
        gold: Sequence[Column],
        predicted: Sequence[Column],
        rows: int,
        tolerance: Tolerance,
        effort: Effort,
    ) -> None:
        self._gold = gold
        self._predicted = predicted
        self._rows = rows
        self._tolerance = tolerance
        self._effort = effort

    @cached_property
    def options(self) -> Options:
        """For each column of gold the predicted columns with an equal multiset of values.

        Raises:
            EffortSpentError: If that takes longer than it may.
        """
        candidates = [Bag(column) for column in self._predicted]
        columns = [Bag(column) for column in self._gold]
        return {
            number: [
                index
                for index, candidate in enumerate(candidates)
                if column.matches(candidate, self._tolerance, self._effort)
            ]
            for number, column in enumerate(columns)
        }

    @cached_property
    def pairs(self) -> dict[int, int]:
        """As many columns of gold as possible, each with a value-equal one of its own."""
        return pair(self.options)

    def find(self, marks: Sequence[int] | None = None) -> list[int] | None:
        """Find predicted columns, one of its own for each of gold's, that make the rows agree.

        Args:
            marks: A mark for each place; rows agree only where they stand at places of one mark.

        Returns:
            The predicted column for each of gold's; None where no choice makes the multisets of
            rows equal.

        Raises:
            EffortSpentError: If that takes longer than it may.
        """
        width = len(self._gold)
        if width > len(self._predicted):
            return None
        places = list(marks) if marks is not None else [0] * self._rows
        # Most often the columns simply come in gold's order.
        if self._identical(dict(zip(range(width), range(width), strict=True)), places):
            return list(range(width))
        if len(self.pairs) < width:
            return None
        found: dict[int, int] | None = self.pairs
        if not self._identical(self.pairs, places):
            found = self._search_strictly(places) if self._loose else None
            found = found or self._search(self.options, (places, places))
        return None if found is None else [found[column] for column in range(width)]

    def _search_strictly(self, places: list[int]) -> dict[int, int] | None:
        """Look first for rows that are equal as they are, where the tolerance blurs columns."""
        strict = Columns(self._gold, self._predicted, self._rows, _NO_TOLERANCE, self._effort)
        return (
            strict._search(strict.options, (places, places))
            if all(strict.options.values())
            else None
        )

    def _identical(self, chosen: Mapping[int, int], places: list[int]) -> bool:
        """Whether the rows are equal in the columns chosen without any tolerance."""
        ours = zip(places, *(self._gold[column] for column in chosen), strict=True)
        theirs = zip(places, *(self._predicted[each] for each in chosen.values()), strict=True)
        return Counter(ours) == Counter(theirs)

    def _search(self, options: Options, classes: _Classes) -> dict[int, int] | None:
        """Choose one of the options for each column so that the rows agree."""
        if all(len(choices) == 1 for choices in options.values()):
            # Most often each is settled by its values, and rows are looked at once.
            only = {column: choices[0] for column, choices in options.items()}
            return only if self._agree(only, classes) else None
        refined = self._refine(options, classes)
        if refined is None:
            return None
        options, classes = refined
        guess = pair(options)
        if len(guess) < len(options):
            return None
        if self._agree(guess, classes):
            return guess
        kinds = {column: self._distinct(choices) for column, choices in options.items()}
        open_columns = [column for column in options if len(kinds[column]) > 1]
        if not open_columns:
            return None
        column = min(open_columns, key=lambda column: len(kinds[column]))
        for choice in kinds[column]:
            others = {
                other: [each for each in choices if each != choice]
                for other, choices in options.items()
            }
            found = self._search({**others, column: [choice]}, classes)
            if found is not None:
                return found
        return None

    def _refine(self, options: Options, classes: _Classes) -> tuple[Options, _Classes] | None:
        """Drop options, and divide classes of rows, until neither can be done any more.

        Returns:
            What is left; None where it is certain that nothing fits.
        """
        count = len(set(classes[0]))
        while True:
            narrowed = self._narrow(options, classes)
            if narrowed is None:
                return None
            options = narrowed
            divided = self._divide(options, classes)
            if divided is None:
                return None
            classes = divided
            before, count = count, len(set(classes[0]))
            if count == before:
                return options, classes

    def _narrow(self, options: Options, classes: _Classes) -> Options | None:
        """Keep the options that have, within each class of rows, the values that gold's has."""
        wanted = {choice for choices in options.values() for choice in choices}
        self._effort.spend(self._rows * (len(options) + len(wanted)))
        ours = {column: _signature(classes[0], self._codes[0][column]) for column in options}
        theirs = {choice: _signature(classes[1], self._codes[1][choice]) for choice in wanted}
        narrowed = {
            column: [choice for choice in choices if theirs[choice] == ours[column]]
            for column, choices in options.items()
        }
        if not all(narrowed.values()):
            return None
        settled = {
            column: choices[0]
            for column, choices in narrowed.items()
            if len(self._distinct(choices)) == 1
        }
        # Codes tell little of loose columns: what fits is seen on the rows themselves.
        for column in self._loose - settled.keys() if settled else ():
            narrowed[column] = [
                choice
                for choice in narrowed[column]
                if self._agree({**settled, column: choice}, classes)
            ]
        return narrowed if all(narrowed.values()) else None

    def _divide(self, options: Options, classes: _Classes) -> _Classes | None:
        """Divide rows by the columns that are certain: in some order, these stand for those.

        Returns:
            The new classes; None where there are not as many rows of each in the result.
        """
        blocks: dict[tuple[int, ...], list[int]] = {}
        for column, choices in options.items():
            blocks.setdefault(tuple(choices), []).append(column)
        rows = ([classes[0]], [classes[1]])
        for shared, columns in blocks.items():
            if len(columns) == len(shared) or len(self._distinct(shared)) == 1:
                chosen = shared[: len(columns)]
                self._effort.spend(2 * self._rows * len(columns))
                rows[0].append(self._mixed([self._codes[0][column] for column in columns]))
                rows[1].append(self._mixed([self._codes[1][choice] for choice in chosen]))
        known: dict[tuple[int, ...], int] = {}
        ours = [known.setdefault(row, len(known)) for row in zip(*rows[0], strict=True)]
        theirs = [known.setdefault(row, len(known)) for row in zip(*rows[1], strict=True)]
        return (ours, theirs) if Counter(ours) == Counter(theirs) else None

    def _mixed(self, columns: Sequence[list[int]]) -> list[int]:
        """Number the multisets of codes that the rows have in these columns."""
        if len(columns) == 1:
            return columns[0]
        return [
            self._mixtures.setdefault(tuple(sorted(row)), len(self._mixtures))
            for row in zip(*columns, strict=True)
        ]

    def _agree(self, chosen: Mapping[int, int], classes: _Classes) -> bool:
        """Whether the multisets of rows are equal in the columns chosen."""
        self._effort.spend(2 * self._rows * len(chosen))
        ours = zip(classes[0], *(self._codes[0][each] for each in chosen), strict=True)
        theirs = zip(classes[1], *(self._codes[1][each] for each in chosen.values()), strict=True)
        loose = [(column, choice) for column, choice in chosen.items() if column in self._loose]
        if not loose:
            return Counter(ours) == Counter(theirs)
        self._effort.spend(_STEPS_A_LOOSE_CELL * self._rows * (1 + len(loose)))
        # As text, codes are compared exactly.
        gold = zip(map(str, ours), *(self._gold[column] for column, _ in loose), strict=True)
        result = zip(map(str, theirs), *(self._predicted[each] for _, each in loose), strict=True)
        return Bag(gold).matches(Bag(result), self._tolerance, self._effort)

    def _distinct(self, choices: Iterable[int]) -> list[int]:
        """One choice of each kind: identical columns are interchangeable."""
        return list({self._twins[choice]: choice for choice in choices}.values())

    @cached_property
    def _encoded(self) -> tuple[dict[int, list[int]], dict[int, list[int]], set[int]]:
        ours: dict[int, list[int]] = {}
        theirs: dict[int, list[int]] = {}
        loose: set[int] = set()
        for columns, choices in families(self.options):
            family = encode(
                [self._gold[column] for column in columns],
                [self._predicted[choice] for choice in choices],
                self._tolerance,
            )
            ours.update(zip(columns, family.gold, strict=True))
            theirs.update(zip(choices, family.predicted, strict=True))
            if family.loose:
                loose.update(columns)
        return ours, theirs, loose

    @property
    def _codes(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        return self._encoded[:2]

    @property
    def _loose(self) -> set[int]:
        return self._encoded[2]

    @cached_property
    def _mixtures(self) -> dict[tuple[int, ...], int]:
        return {}

    @cached_property
    def _twins(self) -> dict[int, int]:
        """For each option the first that is identical to it, in loose columns to the last digit."""
        loose = {each for column in self._loose for each in self.options[column]}
        first: dict[tuple[object, ...], int] = {}
        return {
            choice: first.setdefault(
                (*codes, *map(repr, self._predicted[choice] if choice in loose else ())), choice
            )
            for choice, codes in self._codes[1].items()
        }


def _signature(classes: Iterable[int], codes: Iterable[int]) -> int:
    """Digest a column's multiset of values in classes; a collision costs time, never a mistake."""
    return sum(map(hash, zip(classes, codes, strict=True)))
