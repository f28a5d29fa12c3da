"""How good a forecast is: the largest scale factor of a sweep, predicted from the smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from bothends.eval.forecast import Forecast, Query, forecast
from bothends.eval.growth import fit

__all__ = ["HeldOut", "Missed", "held_out"]


@dataclass(frozen=True, slots=True)
class Missed:
    """A forecast beside what was measured.

    Attributes:
        forecast: Made without the largest scale factor.
        predicted_s: Its seconds.
        measured_s: What the query took there: the median of its executions.
    """

    forecast: Forecast
    predicted_s: float
    measured_s: float

    @property
    def ratio(self) -> float:
        """Measured seconds over predicted ones."""
        return self.measured_s / self.predicted_s


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How well the largest scale factor is predicted from the smaller ones.

    Attributes:
        scale_factor: The largest.
        queries: Each query that was measured there and at two smaller ones.
        left_out: Names of the others, such as those that timed out there.
        relative_error: The median of |predicted - measured| / measured; None without queries.
        within_factor_2: The share predicted within a factor of 2; None without queries.
        coverage: The share of the intervals that hold what was measured; None where there are
            none, as they need a third smaller scale factor.
    """

    scale_factor: float
    queries: tuple[Missed, ...]
    left_out: tuple[str, ...]
    relative_error: float | None
    within_factor_2: float | None
    coverage: float | None


def held_out(queries: Sequence[Query], *, coverage: float = 0.8) -> HeldOut:
    """Predict the largest scale factor of a sweep from the smaller ones, and compare.

    The intervals are those that `forecast` gives without any knowledge of the largest, so that
    their coverage is a test of them.

    Raises:
        ValueError: If nothing was measured, or coverage is out of its range.
    """
    if not any(query.points for query in queries):
        raise ValueError("no query was measured at any scale factor")
    largest = max(point.scale_factor for query in queries for point in query.points)
    smaller = [
        Query(query.id, tuple(p for p in query.points if p.scale_factor < largest))
        for query in queries
    ]
    found: list[Missed] = []
    left_out: list[str] = []
    for query, made in zip(queries, forecast(smaller, largest, coverage=coverage), strict=True):
        whole = fit(query.points)
        if made.seconds is None or whole is None or largest not in whole.measured_s:
            left_out.append(query.id)
        else:
            found.append(Missed(made, made.seconds, whole.measured_s[largest]))
    hits = [
        each.forecast.low_s <= each.measured_s <= each.forecast.high_s
        for each in found
        if each.forecast.low_s is not None and each.forecast.high_s is not None
    ]
    return HeldOut(
        scale_factor=largest,
        queries=tuple(found),
        left_out=tuple(left_out),
        relative_error=median(abs(1 / each.ratio - 1) for each in found) if found else None,
        within_factor_2=fmean(0.5 <= each.ratio <= 2 for each in found) if found else None,
        coverage=fmean(hits) if hits else None,
    )
