"""From which scale factor on a dearer but more exact model is the cheaper one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

__all__ = ["CostCurve", "Crossover", "crossovers"]

# Costs that differ by less, relatively, are the same.
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class CostCurve:
    """What a model's attempts cost, by the scale factor of the data.

    Attributes:
        p: The share of attempts that are valid.
        llm_usd: Mean dollars for the LLM of one attempt, the same at every scale.
        engine_usd: Mean dollars for the engine of one attempt, by the scale factors at which that
            was measured.
        forecast_usd: The same by scale factors beyond, as forecast (`forecast_cvq`). With the one
            p there is, it knows of no query that would only there pass its time limit.
    """

    p: float
    llm_usd: float
    engine_usd: Mapping[float, float]
    forecast_usd: Mapping[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ValueError(f"p is a share, from 0 to 1, and not {self.p}")
        if any(scale_factor <= 0 for scale_factor in self.points):
            raise ValueError("scale factors must be positive")
        if self.forecast_usd and min(self.forecast_usd) <= max(self.engine_usd, default=0.0):
            raise ValueError("a forecast must be beyond what was measured")
        usd = self.points.values()
        if any(each < 0 for each in usd) or (0 in usd and any(usd)):
            raise ValueError("the engine's cost must be positive, and not 0 at some scales only")

    @property
    def measured(self) -> tuple[float, float]:
        """The smallest and the largest scale factor that were measured."""
        return min(self.engine_usd), max(self.engine_usd)

    @property
    def points(self) -> dict[float, float]:
        """The engine's dollars by scale factor, measured and forecast."""
        return {**self.engine_usd, **self.forecast_usd}

    def engine(self, scale_factor: float) -> float:
        """Return the engine's dollars for one attempt.

        They are linear in log-log between the points next to it; beyond these, along the first or
        the last segment.
        """
        (low, low_usd), (high, high_usd) = self._segment(scale_factor)
        if not low_usd:
            return 0.0
        exponent = math.log(high_usd / low_usd) / math.log(high / low)
        return low_usd * math.pow(scale_factor / low, exponent)

    def cvq(self, scale_factor: float) -> float | None:
        """Return the cost per valid query at a scale factor; None where no attempt is valid."""
        return (self.llm_usd + self.engine(scale_factor)) / self.p if self.p else None

    def _segment(self, scale_factor: float) -> tuple[tuple[float, float], tuple[float, float]]:
        points = sorted(self.points.items())
        end = next((i for i, (sf, _) in enumerate(points) if sf >= scale_factor), len(points))
        end = min(max(end, 1), len(points) - 1)
        return points[end - 1], points[end]


@dataclass(frozen=True, slots=True)
class Crossover:
    """A scale factor at which two models' valid answers cost the same.

    Attributes:
        scale_factor: Where.
        cheaper_beyond: Which of the two is the cheaper one from there on, up to the next.
        measured: Whether it lies between measured points of both.
    """

    scale_factor: float
    cheaper_beyond: Literal["first", "second"]
    measured: bool


def crossovers(
    first: CostCurve, second: CostCurve, *, within: tuple[float, float] | None = None
) -> tuple[Crossover, ...] | None:
    """Return the scale factors at which the cheaper one of two models changes.

    Model m's cost per valid query at scale factor s is

        CVQ_m(s) = (L_m + E_m(s)) / p_m,

    with L_m the LLM's dollars and E_m(s) the engine's for one attempt, and p_m the share that is
    valid. Between two scale factors s0 < s1 that were measured or forecast, E_m is linear in
    log-log:

        E_m(s) = E_m(s0) (s / s0)^a,  a = ln(E_m(s1) / E_m(s0)) / ln(s1 / s0).

    Between two neighbouring points of either model, the difference of the two CVQ is a constant
    and two powers of s. It turns at most once, at a place that is known, so that each part has at
    most one crossing, which bisection finds. Where the two touch and part again, nothing crosses.

    Args:
        first: One model.
        second: The other.
        within: The scale factors to look between, the segments at the ends drawn out where they
            reach beyond all points; without it, those measured of both.

    Returns:
        The crossings, the smallest first; none where one is the cheaper everywhere. None where
        that cannot be told: a model has no valid answer, no measured point or fewer than two
        points, or no scale factors were measured of both.
    """
    if not (first.p and second.p and first.engine_usd and second.engine_usd):
        return None
    if min(len(first.points), len(second.points)) < 2:
        return None
    shared = max(first.measured[0], second.measured[0]), min(first.measured[1], second.measured[1])
    low, high = shared if within is None else within
    if low >= high:
        return None

    def sign(scale_factor: float) -> int:
        ours, theirs = first.cvq(scale_factor) or 0.0, second.cvq(scale_factor) or 0.0
        if abs(ours - theirs) <= _SAME * (ours + theirs):
            return 0
        return 1 if ours > theirs else -1

    found: list[Crossover] = []
    previous, before, equal_at = low, 0, None
    for place in _parts(first, second, low, high):
        now = sign(place)
        if now and before and now != before:
            at = _bisect(sign, previous, place) if equal_at is None else equal_at
            cheaper: Literal["first", "second"] = "first" if now < 0 else "second"
            found.append(Crossover(at, cheaper, shared[0] <= at <= shared[1]))
        if now:
            before, equal_at = now, None
        elif equal_at is None:
            equal_at = place
        previous = place
    return tuple(found)


def _parts(first: CostCurve, second: CostCurve, low: float, high: float) -> list[float]:
    """Return the ends of the parts in which the difference of the two only rises or only falls."""
    points = {*first.points, *second.points}
    ends = [low, *sorted(point for point in points if low < point < high), high]
    turns = [
        turn
        for start, end in pairwise(ends)
        if (turn := _turn(first, second, start, end)) is not None
    ]
    return sorted({*ends, *turns})


def _turn(first: CostCurve, second: CostCurve, start: float, end: float) -> float | None:
    """Return where the difference turns: a u r^a = b v r^b at r = s / start, of the two powers."""
    length = math.log(end / start)
    slopes = []
    exponents = []
    for curve in (first, second):
        usd = curve.engine(start)
        exponent = math.log(curve.engine(end) / usd) / length if usd else 0.0
        exponents.append(exponent)
        slopes.append(exponent * usd / curve.p)
    if slopes[0] * slopes[1] <= 0 or exponents[0] == exponents[1]:
        return None
    at = math.log(slopes[1] / slopes[0]) / (exponents[0] - exponents[1])
    return start * math.exp(at) if 0 < at < length else None


def _bisect(sign: Callable[[float], int], low: float, high: float) -> float:
    """Return where the sign changes between two places, as closely as floats can tell."""
    before = sign(low)
    while low < (middle := math.sqrt(low * high)) < high:
        now = sign(middle)
        if not now:
            return middle
        low, high = (middle, high) if now == before else (low, middle)
    return high
