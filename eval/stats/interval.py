"""Intervals: how far a figure may lie from what it would be with other questions of the kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bothends.eval.record import Trial
from bothends.eval.stats.bootstrap import RESAMPLES, SEED, expanded_interval, resampled_sums
from bothends.eval.stats.measures import MEASURES, Measure
from bothends.eval.stats.rates import wilson
from bothends.eval.stats.units import UnitKind, Units, questions_of, units_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LEVEL", "Interval", "difference_intervals", "interval", "intervals"]

LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its interval.

    Attributes:
        estimate: The figure itself; None where it is undefined or unknown.
        low: The lower end; None where there is no interval, `-math.inf` where there is no bound.
        high: The upper end; likewise, with `math.inf`.
        level: The nominal level.
        method: How it was made, in words; empty where there is none.
        units: What was resampled.
        count: How many of them there are.
        caveat: What a reader must know of it, in a sentence without its stop; or empty.
    """

    estimate: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    units: UnitKind
    count: int
    caveat: str = ""

    @property
    def excludes_zero(self) -> bool:
        """Whether it lies wholly above or wholly below 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def interval(
    trials: Sequence[Trial],
    measure: str = "ex",
    databases: Mapping[str, str] | None = None,
    *,
    level: float = LEVEL,
    seed: int = SEED,
) -> Interval:
    """Return one measure of one configuration with its interval; see `intervals`."""
    return intervals(trials, (measure,), databases, level=level, seed=seed)[measure]


def intervals(
    trials: Sequence[Trial],
    measures: Iterable[str] = tuple(MEASURES),
    databases: Mapping[str, str] | None = None,
    *,
    level: float = LEVEL,
    seed: int = SEED,
) -> dict[str, Interval]:
    """Return measures of one configuration, each with its interval.

    Questions are resampled with all of their replicas, or databases with all of their questions
    (see `units_of`); of a single question, its replicas. A share of trials (`RATES`) has the Wilson
    interval at its effective sample size (see `wilson`), everything else the expanded percentile
    bootstrap (see `tail`). A resample without a valid answer has an infinite CVQ, so that where
    such are not rare, CVQ has no upper bound.

    Args:
        trials: The trials of one configuration; those that do not count are left out.
        measures: Names from `MEASURES`.
        databases: The database of each question, by its id, where there are several.
        level: The nominal level.
        seed: The seed of the resampling.
    """
    found = questions_of(trials)
    units, sets = _replicas(found) if len(found) == 1 else _sets(found, databases)
    made = {}
    pending: dict[str, NDArray[np.float64]] = {}
    for name in measures:
        measure = MEASURES[name]
        sums = _sums(measure, sets)
        made[name] = _plain(sums, units, level)
        if sums is None or made[name].estimate is None or len(sums) < 2:
            continue
        if measure.rate:
            low, high = wilson(sums[:, 0], sums[:, 1], level)
            made[name] = _with(made[name], low, high, _wilson_in_words(units, len(sums)))
        else:
            pending[name] = sums
    for name, statistic in _resampled(pending, seed).items():
        low, high = expanded_interval(statistic, len(units.questions), level)
        made[name] = _bootstrapped(made[name], low, high, seed)
    return made


def difference_intervals(
    first: Sequence[Trial],
    second: Sequence[Trial],
    measures: Iterable[str] = tuple(MEASURES),
    databases: Mapping[str, str] | None = None,
    *,
    level: float = LEVEL,
    seed: int = SEED,
) -> dict[str, Interval]:
    """Return the paired differences of two configurations, first minus second, with intervals.

    Only questions with a counted trial in both are looked at, and one draw of questions (or
    databases) serves both sides. All are expanded percentile bootstrap intervals.

    Args:
        first: The trials of one configuration.
        second: Those of the other.
        measures: Names from `MEASURES`.
        databases: The database of each question, by its id, where there are several.
        level: The nominal level.
        seed: The seed of the resampling.
    """
    sides = [questions_of(first), questions_of(second)]
    common = [each for each in sides[0] if each in sides[1]]
    kept = [{each: side[each] for each in common} for side in sides]
    units, one = _sets(kept[0], databases)
    _, other = _sets(kept[1], databases)
    made = {}
    pending: dict[str, NDArray[np.float64]] = {}
    for name in measures:
        left, right = _sums(MEASURES[name], one), _sums(MEASURES[name], other)
        plain = [_plain(each, units, level) for each in (left, right)]
        a, b = plain[0].estimate, plain[1].estimate
        made[name] = _with(plain[0], None, None, "", None if a is None or b is None else a - b)
        if left is None or right is None or a is None or b is None or len(left) < 2:
            continue
        import numpy as np

        pending[name] = np.hstack([left, right])
    for name, statistic in _resampled(pending, seed).items():
        low, high = expanded_interval(statistic, len(units.questions), level)
        made[name] = _bootstrapped(made[name], low, high, seed, rate=MEASURES[name].rate)
    return made


_Sets = list[list[Trial]]


def _sets(
    found: Mapping[str, list[Trial]], databases: Mapping[str, str] | None
) -> tuple[Units, _Sets]:
    units = units_of(list(found), databases)
    return units, [[t for each in unit for t in found[each]] for unit in units.questions]


def _replicas(found: Mapping[str, list[Trial]]) -> tuple[Units, _Sets]:
    ((name, trials),) = found.items()
    return Units("replicas", ((name,),) * len(trials)), [[trial] for trial in trials]


def _sums(measure: Measure, sets: _Sets) -> NDArray[np.float64] | None:
    """Return both sums of each unit, a row a unit; None where one is unknown, or there is none."""
    import numpy as np

    parts = [measure.parts(each) for each in sets]
    known = [each for each in parts if each is not None]
    return np.array(known) if known and len(known) == len(parts) else None


def _plain(sums: NDArray[np.float64] | None, units: Units, level: float) -> Interval:
    estimate = None
    if sums is not None:
        above, below = sums.sum(axis=0)
        estimate = float(above / below) if below else None
    count = len(units.questions)
    caveat = f"a single {units.kind[:-1]} has no interval" if count == 1 else units.caveat
    return Interval(estimate, None, None, level, "", units.kind, count, caveat)


def _resampled(pending: Mapping[str, NDArray[np.float64]], seed: int) -> dict[str, NDArray[Any]]:
    """Return each statistic's resamples: a ratio of two sums, or the difference of two such."""
    import numpy as np

    if not pending:
        return {}
    sums = resampled_sums(np.hstack(list(pending.values())), seed=seed)
    made, at = {}, 0
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, columns in pending.items():
            ratios = [
                np.where(sums[:, i + 1] > 0, sums[:, i] / sums[:, i + 1], np.inf)
                for i in range(at, at + columns.shape[1], 2)
            ]
            made[name] = ratios[0] if len(ratios) == 1 else ratios[0] - ratios[1]
            at += columns.shape[1]
    return made


def _bootstrapped(
    plain: Interval, low: float, high: float, seed: int, *, rate: bool = False
) -> Interval:
    if low == high:
        if not rate:
            caveat = f"all {plain.count} {plain.units} are alike: nothing is there to resample"
            return _with(plain, None, None, "", caveat=caveat)
        # Where none of n units is unlike the others, at most this share of all units is.
        bound = 1 - (1 - plain.level) ** (1 / plain.count)
        words = f"exact bound, since all {plain.count} {plain.units} are alike"
        return _with(plain, max(-1.0, low - bound), min(1.0, high + bound), words)
    words = (
        f"expanded percentile bootstrap, {RESAMPLES:,} resamples of {plain.count} {plain.units}, "
        f"seed {seed}"
    )
    return _with(plain, low, high, words)


def _wilson_in_words(units: Units, count: int) -> str:
    return f"Wilson at the effective sample size, from {count} {units.kind}"


def _with(
    plain: Interval,
    low: float | None,
    high: float | None,
    method: str,
    estimate: float | None = math.nan,
    caveat: str = "",
) -> Interval:
    return Interval(
        plain.estimate if estimate is not None and math.isnan(estimate) else estimate,
        low,
        high,
        plain.level,
        method,
        plain.units,
        plain.count,
        caveat or plain.caveat,
    )
