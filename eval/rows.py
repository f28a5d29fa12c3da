"""Whether two multisets of rows are equal, numbers within a tolerance.

Equality within a tolerance is not transitive, so rows cannot be told apart by sorting or hashing
alone: what exact equality leaves open is decided by pairing every row of gold with a row of the
result of its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise

from bothends.eval.normalise import (
    Cell,
    Number,
    coarsest_half_unit,
    is_number,
    numbers_equal,
)
from bothends.eval.record import Tolerance

__all__ = ["Bag", "Row"]

Row = tuple[Cell, ...]
_Vector = tuple[Number, ...]
_NUMBER = ("number",)


class Bag:
    """A multiset of rows.

    Args:
        rows: The rows, normalised.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._counts = Counter(rows)

    def matches(self, predicted: Bag, tolerance: Tolerance) -> bool:
        """Whether this multiset, of gold's rows, equals a predicted one within a tolerance.

        Rows are grouped by all that is compared exactly; within a group only numbers can differ,
        and these are paired off.
        """
        if self._counts == predicted._counts:
            return True
        ours, theirs = self._groups, predicted._groups
        return ours.keys() == theirs.keys() and all(
            _pair_off(group, theirs[shape], tolerance) for shape, group in ours.items()
        )

    @cached_property
    def _groups(self) -> dict[Cell, _Group]:
        """The rows by their shape: what is left of a row when its numbers are taken out."""
        groups: defaultdict[Cell, Counter[_Vector]] = defaultdict(Counter)
        for row, count in self._counts.items():
            numbers: list[Number] = []
            shape = _take_numbers(row, numbers)
            groups[shape][tuple(numbers)] += count
        return {shape: _Group(counts) for shape, counts in groups.items()}


class _Group:
    """Rows of one shape, each as the vector of its numbers, counted."""

    def __init__(self, counts: Counter[_Vector]) -> None:
        self.counts = counts
        self._sorted: dict[int, tuple[list[_Vector], list[float]]] = {}

    @cached_property
    def axis(self) -> int:
        """The axis that tells most vectors apart and so leaves the fewest candidates for each."""
        width = len(next(iter(self.counts)))
        return max(range(width), key=lambda axis: len({vector[axis] for vector in self.counts}))

    @cached_property
    def half_unit(self) -> float:
        """Half a unit of the coarsest decimal in it."""
        return float(coarsest_half_unit(chain.from_iterable(self.counts)))

    def near(self, axis: int, centre: float, reach: float) -> list[_Vector]:
        """Return the vectors that lie within reach on an axis."""
        if axis not in self._sorted:
            vectors = sorted(self.counts, key=lambda vector: vector[axis])
            self._sorted[axis] = vectors, [float(vector[axis]) for vector in vectors]
        vectors, positions = self._sorted[axis]
        return vectors[
            bisect_left(positions, centre - reach) : bisect_right(positions, centre + reach)
        ]


def _pair_off(gold: _Group, predicted: _Group, tolerance: Tolerance) -> bool:
    """Whether gold's vectors can be paired off with predicted ones, each within the tolerance."""
    if gold.counts == predicted.counts:
        return True
    if gold.counts.total() != predicted.counts.total():
        return False
    axis = gold.axis
    slack = max(gold.half_unit, predicted.half_unit)
    partners: dict[_Vector, list[_Vector]] = {}
    for vector in gold.counts:
        centre = float(vector[axis])
        # A little wider than the tolerance, since positions are rounded to floats.
        reach = slack + (tolerance.relative + 1e-15) * abs(centre)
        partners[vector] = [
            other
            for other in predicted.near(axis, centre, reach)
            if all(numbers_equal(a, b, tolerance) for a, b in zip(vector, other, strict=True))
        ]
        if not partners[vector]:
            return False
    return _flows(gold.counts, predicted.counts, partners)


def _take_numbers(cell: Cell, numbers: list[Number]) -> Cell:
    if is_number(cell):
        numbers.append(cell)
        return _NUMBER
    if isinstance(cell, tuple):
        return tuple([_take_numbers(part, numbers) for part in cell])
    return cell


def _flows(
    gold: Mapping[_Vector, int],
    predicted: Mapping[_Vector, int],
    partners: Mapping[_Vector, Sequence[_Vector]],
) -> bool:
    """Whether every gold vector finds a partner of its own, counted (Ford and Fulkerson)."""
    room = dict(predicted)
    held: defaultdict[_Vector, Counter[_Vector]] = defaultdict(Counter)
    for vector, count in gold.items():
        left = count
        while left:
            path = _augmenting_path(vector, partners, held, room)
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
) -> list[tuple[_Vector, _Vector]] | None:
    """Return moves, each a gold vector and the predicted one it goes to, that end at room."""
    came: dict[_Vector, tuple[_Vector, _Vector] | None] = {start: None}
    visited: set[_Vector] = set()
    queue = deque([start])
    while queue:
        mover = queue.popleft()
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
