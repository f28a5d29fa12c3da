"""Whether two configurations differ on the same questions: McNemar's test, or flipped signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final

__all__ = ["Fourfold", "mcnemar_p", "sign_flip_p"]

_CELLS: Final = 300_000_000
_FLIPS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Fourfold:
    """Questions by who was right. With several replicas, right is more than half of them valid.

    Attributes:
        both: Both were.
        only_first: Only the first was.
        only_second: Only the second was.
        neither: Neither was.
    """

    both: int
    only_first: int
    only_second: int
    neither: int


def mcnemar_p(table: Fourfold) -> float:
    """Return the two-sided p of the exact McNemar test.

    It asks whether, of the questions on which one alone was right, each side has as many as a fair
    coin would give: McNemar (1947), Psychometrika 12(2), by the binomial distribution. 1 where
    there are none.
    """
    if not table.only_first + table.only_second:
        return 1.0
    from statsmodels.stats.contingency_tables import mcnemar

    cells = [[table.both, table.only_first], [table.only_second, table.neither]]
    return float(mcnemar(cells, exact=True).pvalue)


def sign_flip_p(differences: Sequence[Fraction]) -> float:
    """Return the two-sided p of the paired randomisation test on differences of questions.

    If two configurations do not differ, which of them got which of a question's two results is a
    coin's toss; p is the share of all tosses whose sum is at least as far from 0 as the one that
    was seen: Fisher (1935), The Design of Experiments, section 21. With one replica a question this
    is the exact McNemar test. It is exact here too: the sums lie on a grid, and their distribution
    is built up question by question. Only where that grid is enormous, as with very unequal numbers
    of replicas, are tosses drawn instead, 100,000 with a fixed seed.

    Args:
        differences: For each question, the first's share of valid replicas minus the second's.
    """
    import numpy as np

    scale = lcm(*(each.denominator for each in differences))
    steps = [int(each * scale) for each in differences if each]
    if not steps:
        return 1.0
    divisor = int(np.gcd.reduce(steps))
    steps = [each // divisor for each in steps]
    seen, reach = abs(sum(steps)), sum(map(abs, steps))
    if reach * len(steps) > _CELLS:
        return _drawn_p(steps, seen)
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for step in map(abs, steps):
        # No sum so far is within a step of the ends, so that nothing wraps round.
        chances = (np.roll(chances, step) + np.roll(chances, -step)) / 2
    sums = np.abs(np.arange(-reach, reach + 1))
    return min(1.0, float(chances[sums >= seen].sum()))


def _drawn_p(steps: Sequence[int], seen: int) -> float:
    import numpy as np

    random, far, size = np.random.default_rng(0), 0, 1_000
    for _ in range(_FLIPS // size):
        signs = random.integers(0, 2, (size, len(steps)), dtype=np.int64) * 2 - 1
        far += int((np.abs(signs @ np.array(steps)) >= seen).sum())
    return (far + 1) / (_FLIPS + 1)
