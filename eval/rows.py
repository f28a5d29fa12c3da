"""Whether two multisets of rows are equal, numbers within a tolerance.

Equality within a tolerance is not transitive, so rows cannot be told apart by sorting or hashing
alone: what exact equality leaves open is decided by pairing every row of gold with a row of the
result of its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import chain, pairwise

from bothends.engines.cells import PLAIN, Cell, Number, is_number
from bothends.eval.effort import Effort
from bothends.eval.record import Tolerance
from bothends.eval.tolerance import (
    INTEGER,
    coarsest_half_unit,
    kind,
    numbers_equal,
    replace_numbers,
)

__all__ = ["Bag", "Row"]

Row = tuple[Cell, ...]
_Vector = tuple[tuple[Number, ...], tuple[int, ...]]
"""The numbers of a cell, and the kind of each: 0.3 and 0.30 are the same number of two kinds."""
_NUMBER = ("number",)
_TEXT = frozenset({type(None), str, bytes})
_STEPS_A_PAIR = 20


class Bag:
    """A multiset of cells, or of whole rows: a row is a cell too, of several parts.

    Args:
        cells: The cells, normalised.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._cells = tuple(cells)
        self._counts = Counter(self._cells)

    def matches(self, predicted: Bag, tolerance: Tolerance, effort: Effort) -> bool:
        """Whether this multiset, of gold's, equals a predicted one within a tolerance.

        Cells are grouped by all that is compared exactly; within a group only numbers can differ,
        and these are paired off.

        Raises:
            EffortSpentError: If pairing them takes more than the effort that is left.
        """
        if self._counts == predicted._counts:
            return True
        if self._certainly_differs(predicted, tolerance):
            return False
        ours, theirs = self._groups, predicted._groups
        return {shape: group.total for shape, group in ours.items()} == {
            shape: group.total for shape, group in theirs.items()
        } and all(
            _pair_off(group, theirs[shape], tolerance, effort) for shape, group in ours.items()
        )

    def _certainly_differs(self, predicted: Bag, tolerance: Tolerance) -> bool:
        """Whether a multiset that is not equal as it is can be seen at once to differ."""
        types = self._types, predicted._types
        if all(each <= PLAIN for each in types) or any(each <= _TEXT for each in types):
            return True  # no tolerance applies
        if any(tuple in each for each in types) or tolerance.relative >= 1:
            return False
        if len(self._numbers) != len(predicted._numbers):
            return True
        slack = 0.5 if Decimal in types[0] | types[1] else 0.0
        # The smallest numbers are paired off where any pairing succeeds, and so are the greatest.
        for a, b in zip(self._ends, predicted._ends, strict=False):
            if abs(a - b) > slack + (tolerance.relative + 1e-15) * max(abs(a), abs(b)):
                return True
        return False

    @cached_property
    def _types(self) -> set[type]:
        return set(map(type, self._cells))

    @cached_property
    def _numbers(self) -> list[Number]:
        return [cell for cell in self._cells if is_number(cell)]

    @cached_property
    def _ends(self) -> tuple[float, ...]:
        return (float(min(self._numbers)), float(max(self._numbers))) if self._numbers else ()

    @cached_property
    def _groups(self) -> dict[Cell, _Group]:
        """The cells by their shape: what is left of one when its numbers are taken out."""
        groups: defaultdict[Cell, Counter[_Vector]] = defaultdict(Counter)
        numbers: list[Number] = []

        def take(number: Number) -> Cell:
            numbers.append(number)
            return _NUMBER

        for cell in self._cells:
            numbers.clear()
            shape = replace_numbers(cell, take)
            groups[shape][tuple(numbers), tuple(map(kind, numbers))] += 1
        return {shape: _Group(counts) for shape, counts in groups.items()}


class _Group:
    """Cells of one shape, each as the vector of its numbers, counted."""

    def __init__(self, counts: Counter[_Vector]) -> None:
        self.counts = counts
        self.total = counts.total()
        self._sorted: dict[int, tuple[list[_Vector], list[float]]] = {}

    @cached_property
    def spread(self) -> list[int]:
        """How many values there are on each axis."""
        return [
            len(set(axis)) for axis in zip(*(numbers for numbers, _ in self.counts), strict=True)
        ]

    @cached_property
    def kinds(self) -> set[tuple[int, ...]]:
        """The kinds that the numbers of one cell have."""
        return {kinds for _, kinds in self.counts}

    @cached_property
    def in_order(self) -> list[Number]:
        """The first numbers from the smallest on, each as often as it occurs."""
        return sorted(numbers[0] for numbers, _ in self.counts.elements())

    @cached_property
    def half_unit(self) -> float:
        """Half a unit of the coarsest decimal in it."""
        return float(coarsest_half_unit(chain.from_iterable(numbers for numbers, _ in self.counts)))

    def near(self, axis: int, centre: float, reach: float) -> list[_Vector]:
        """Return the vectors that lie within reach on an axis."""
        if axis not in self._sorted:
            vectors = sorted(self.counts, key=lambda vector: vector[0][axis])
            self._sorted[axis] = vectors, [float(numbers[axis]) for numbers, _ in vectors]
        vectors, positions = self._sorted[axis]
        return vectors[
            bisect_left(positions, centre - reach) : bisect_right(positions, centre + reach)
        ]


def _pair_off(gold: _Group, predicted: _Group, tolerance: Tolerance, effort: Effort) -> bool:
    """Whether gold's vectors can be paired off with as many predicted, within the tolerance."""
    if gold.counts == predicted.counts:
        return True
    kinds = gold.kinds | predicted.kinds
    if all(each == INTEGER for numbers in kinds for each in numbers):
        return False
    slack = max(gold.half_unit, predicted.half_unit)
    if len(next(iter(kinds))) == 1 and tolerance.relative < 1:
        settled = _pair_in_order(gold, predicted, slack, tolerance)
        if settled is not None:
            return settled
    # The axis that tells most vectors apart leaves the fewest candidates for each.
    spread = list(map(min, gold.spread, predicted.spread))
    axis = spread.index(max(spread))
    partners: dict[_Vector, list[_Vector]] = {}
    for vector in gold.counts:
        centre = float(vector[0][axis])
        # A little wider than the tolerance, since positions are rounded to floats.
        reach = slack + (tolerance.relative + 1e-15) * abs(centre)
        near = predicted.near(axis, centre, reach)
        effort.spend(_STEPS_A_PAIR * len(near))
        partners[vector] = [
            other
            for other in near
            if all(numbers_equal(a, b, tolerance) for a, b in zip(vector[0], other[0], strict=True))
        ]
        if not partners[vector]:
            return False
    return _flows(gold.counts, predicted.counts, partners, effort)


def _pair_in_order(
    gold: _Group, predicted: _Group, slack: float, tolerance: Tolerance
) -> bool | None:
    """Pair single numbers off from the smallest on; None where that does not settle it.

    No pairing has a smaller greatest distance. And where all numbers of a side are of one kind,
    what one may equal is an interval whose ends grow with the number, so that no other pairing
    succeeds where this one fails.
    """
    uniform = len(gold.kinds) == len(predicted.kinds) == 1
    paired = True
    for a, b in zip(gold.in_order, predicted.in_order, strict=True):
        if not numbers_equal(a, b, tolerance):
            low, high = sorted((float(a), float(b)))
            reach = slack + (tolerance.relative + 1e-15) * max(abs(low), abs(high))
            if uniform or high - low > reach:
                return False
            paired = False
    return paired or None


def _flows(
    gold: Mapping[_Vector, int],
    predicted: Mapping[_Vector, int],
    partners: Mapping[_Vector, Sequence[_Vector]],
    effort: Effort,
) -> bool:
    """Whether every gold vector finds a partner of its own, counted (Ford and Fulkerson)."""
    room = dict(predicted)
    held: defaultdict[_Vector, Counter[_Vector]] = defaultdict(Counter)
    for vector, count in gold.items():
        left = count
        while left:
            path = _augmenting_path(vector, partners, held, room, effort)
            if path is None:
                return False
            moved = min(
                left,
                room[path[-1][1]],
                *(held[taken][mover] for (_, taken), (mover, _) in pairwise(path)),
            )
            for mover, taken in path:
                held[taken][mover] += moved
            for (_, taken), (mover, _) in pairwise(path):
                held[taken][mover] -= moved
            room[path[-1][1]] -= moved
            left -= moved
    return True


def _augmenting_path(
    start: _Vector,
    partners: Mapping[_Vector, Sequence[_Vector]],
    held: Mapping[_Vector, Mapping[_Vector, int]],
    room: Mapping[_Vector, int],
    effort: Effort,
) -> list[tuple[_Vector, _Vector]] | None:
    """Return moves, each a gold vector and the predicted one it goes to, that end at room."""
    came: dict[_Vector, tuple[_Vector, _Vector] | None] = {start: None}
    visited: set[_Vector] = set()
    queue = deque([start])
    while queue:
        mover = queue.popleft()
        effort.spend(_STEPS_A_PAIR * len(partners[mover]))
        for taken in partners[mover]:
            if taken in visited:
                continue
            visited.add(taken)
            if room[taken]:
                path = [(mover, taken)]
                while (before := came[path[0][0]]) is not None:
                    path.insert(0, before)
                return path
            for other, amount in held.get(taken, {}).items():
                if amount and other not in came:
                    came[other] = (mover, taken)
                    queue.append(other)
    return None
