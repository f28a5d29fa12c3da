"""Comparisons: configurations on the same questions, each with each, as one family of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from statistics import stdev
from typing import Final, Protocol

from bothends.eval.metrics import VALUES
from bothends.eval.record import Trial
from bothends.eval.stats.bootstrap import SEED
from bothends.eval.stats.interval import LEVEL, Interval, difference_intervals
from bothends.eval.stats.measures import MEASURES
from bothends.eval.stats.paired import Fourfold, mcnemar_p, sign_flip_p
from bothends.eval.stats.power import detectable, detectable_mean
from bothends.eval.stats.units import questions_of

__all__ = [
    "ALPHA",
    "Comparison",
    "Contender",
    "Named",
    "compare_family",
    "compare_pairs",
    "holm",
]

ALPHA: Final = 0.05


class Named(Protocol):
    """A configuration with its trials, such as a report's `Group`."""

    @property
    def name(self) -> str:
        """Its name, which tells it from the others."""

    @property
    def trials(self) -> Sequence[Trial]:
        """Its trials."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A configuration with its trials.

    Attributes:
        name: Its name, which tells it from the others.
        trials: Its trials.
    """

    name: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configurations on the questions that both were asked. Differences are first - second.

    Attributes:
        first: The name of the one.
        second: The name of the other.
        questions: How many questions have a counted trial of both.
        replicas: The most counted replicas that one of them has.
        table: Who was right.
        first_only: The ids of the questions on which the first did better.
        second_only: Those on which the second did.
        values: Each measure of both on these questions, first and second.
        differences: The difference of each measure, with its interval.
        test: The test of EX: `exact McNemar`, or `sign flips` where there are replicas.
        p: Its two-sided p; None where no question is in both.
        p_holm: The same after Holm's correction over the family.
        family: How many comparisons were made together.
        detectable: The smallest difference of EX that would be shown with 80% power at
            `ALPHA / family`; None where none would.
    """

    first: str
    second: str
    questions: int
    replicas: int
    table: Fourfold
    first_only: tuple[str, ...]
    second_only: tuple[str, ...]
    values: dict[str, tuple[float | None, float | None]]
    differences: dict[str, Interval]
    test: str
    p: float | None
    p_holm: float | None = None
    family: int = 1
    detectable: float | None = None

    @property
    def difference(self) -> Interval:
        """The difference of EX."""
        return self.differences["ex"]

    @property
    def told_apart(self) -> bool:
        """Whether EX differs: p after Holm is at most `ALPHA`, and the interval excludes 0."""
        return self.shown_by_test and self.difference.excludes_zero

    @property
    def shown_by_test(self) -> bool:
        """Whether p after Holm is at most `ALPHA`; the test takes questions as independent."""
        return self.p_holm is not None and self.p_holm <= ALPHA

    @property
    def sentence(self) -> str:
        """What follows, in a plain sentence."""
        from bothends.eval.stats.words import sentence

        return sentence(self)


def compare_pairs(
    contenders: Sequence[Named],
    databases: Mapping[str, str] | None = None,
    *,
    measures: Iterable[str] = tuple(MEASURES),
    level: float = LEVEL,
    seed: int = SEED,
) -> tuple[Comparison, ...]:
    """Compare configurations of one suite, each with each; see `compare_family`."""
    pairs = list(combinations(contenders, 2))
    return compare_family(pairs, databases, measures=measures, level=level, seed=seed)


def compare_family(
    pairs: Sequence[tuple[Named, Named]],
    databases: Mapping[str, str] | None = None,
    *,
    measures: Iterable[str] = tuple(MEASURES),
    level: float = LEVEL,
    seed: int = SEED,
) -> tuple[Comparison, ...]:
    """Compare pairs of configurations, which are together the family that Holm corrects over.

    Args:
        pairs: Who is compared with whom, on the questions that both have counted trials of.
        databases: The database of each question, by its id, where there are several.
        measures: The measures whose differences are wanted; EX is always among them.
        level: The nominal level of the intervals.
        seed: The seed of the resampling.
    """
    wanted = tuple(dict.fromkeys(["ex", *measures]))
    made = []
    for a, b in pairs:
        apart = difference_intervals(a.trials, b.trials, wanted, databases, level=level, seed=seed)
        made.append(_compared(a, b, len(pairs), apart))
    adjusted = holm([each.p for each in made])
    return tuple(replace(each, p_holm=p) for each, p in zip(made, adjusted, strict=True))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p values after Holm's correction: Holm (1979), Scandinavian J. of Statistics 6(2).

    One that is None stays so, and is not in the family.
    """
    known = [each for each in values if each is not None]
    if len(known) < 2:
        return list(values)
    from statsmodels.stats.multitest import multipletests

    adjusted = iter(multipletests(known, method="holm")[1])
    return [None if each is None else float(next(adjusted)) for each in values]


def _compared(
    first: Named, second: Named, family: int, differences: dict[str, Interval]
) -> Comparison:
    sides = [questions_of(first.trials), questions_of(second.trials)]
    rates = {
        each: (_share(sides[0][each]), _share(sides[1][each]))
        for each in sides[0]
        if each in sides[1]
    }
    right = [(a > Fraction(1, 2), b > Fraction(1, 2)) for a, b in rates.values()]
    table = Fourfold(
        *(
            right.count(each)
            for each in ((True, True), (True, False), (False, True), (False, False))
        )
    )
    kept = [[trial for each in rates for trial in side[each]] for side in sides]
    replicas = max((len(side[each]) for side in sides for each in rates), default=0)
    apart = [a - b for a, b in rates.values()]
    alpha, n = ALPHA / family, len(rates)
    if replicas > 1:
        test, p = "sign flips", sign_flip_p(apart)
        spread = stdev(map(float, apart)) if n > 1 else 0.0
        least = detectable_mean(n, spread, alpha)
    else:
        test, p = "exact McNemar", mcnemar_p(table)
        least = detectable(n, (table.only_first + table.only_second) / n, alpha) if n else None
    return Comparison(
        first=first.name,
        second=second.name,
        questions=n,
        replicas=replicas,
        table=table,
        first_only=tuple(each for each, (a, b) in rates.items() if a > b),
        second_only=tuple(each for each, (a, b) in rates.items() if a < b),
        values={
            name: (MEASURES[name].value(kept[0]), MEASURES[name].value(kept[1]))
            for name in differences
        },
        differences=differences,
        test=test,
        p=p if n else None,
        family=family,
        detectable=least,
    )


def _share(trials: Sequence[Trial]) -> Fraction:
    return Fraction(sum(VALUES["ex"](trial) == 1 for trial in trials), len(trials))
