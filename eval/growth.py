"""How the seconds of one query grow with the scale factor: an overhead, and work."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median

__all__ = ["LEAST_S", "Curve", "Point", "fit", "stopped_after_s"]

LEAST_S = 1e-3
"""What fewer seconds are taken as: the clock says nothing there, and errors relative to 0 are
infinite."""

# The exponent below which bytes or rows do not grow: what they grow by is no work.
_LEAST_GROWTH = 0.1
_MOST_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Point:
    """One execution of a query.

    Attributes:
        scale_factor: Of the data.
        seconds: In the engine; of one that was stopped, those after which it was.
        read_bytes: Bytes that the engine says it read; None where it does not tell.
        read_rows: Rows likewise.
        timed_out: Whether it was stopped at its time limit, so that `seconds` is a lower bound.
    """

    scale_factor: float
    seconds: float
    read_bytes: int | None = None
    read_rows: int | None = None
    timed_out: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.scale_factor < math.inf:
            raise ValueError(f"scale factors must be positive, and not {self.scale_factor}")
        if not 0 <= self.seconds < math.inf:
            raise ValueError(f"seconds must not be negative, and not {self.seconds}")


@dataclass(frozen=True, slots=True)
class _Power:
    """A quantity: as measured at some scale factors, and by a power law at others."""

    at: Mapping[float, float]
    exponent: float

    def __call__(self, scale_factor: float) -> float:
        last = max(self.at)
        known = self.at.get(scale_factor)
        return self.at[last] * (scale_factor / last) ** self.exponent if known is None else known


@dataclass(frozen=True, slots=True)
class Curve:
    """t(s) = overhead + rate w(s): the seconds of one query at scale factor s.

    Attributes:
        overhead_s: Seconds that do not depend on the data.
        rate: Seconds for a unit of work.
        work: The work at a scale factor: bytes, rows, or the scale factor itself.
        read_bytes: The bytes read at a scale factor; None where the engine did not tell.
        measured_s: The median of the seconds at each scale factor, the smallest first; without
            those at which it timed out.
    """

    overhead_s: float
    rate: float
    work: _Power
    read_bytes: _Power | None
    measured_s: Mapping[float, float]

    def seconds(self, scale_factor: float) -> float:
        """Return the seconds at a scale factor."""
        return max(self.overhead_s + self.rate * self.work(scale_factor), LEAST_S)


def fit(points: Sequence[Point]) -> Curve | None:
    """Fit a query's curve to its executions; None with fewer than two scale factors.

    This is the model of Ernest (Venkataraman et al., NSDI 2016, section 3) at a fixed number of
    machines: overhead and rate are at least 0. Errors count relative to the seconds, so that
    milliseconds at small scale factors count as much as minutes at large ones. Each scale factor
    counts once, by its median.

    Work is the bytes that were read, where they are known and grow, else the rows, else the scale
    factor: scans and hash joins are linear in what they read. Bytes and rows at other scale
    factors follow a power law from the largest that was measured, with the exponent of all.

    A query that timed out took longer than that, however long: the scale factor is not fitted,
    but the rate is raised until the curve reaches there the seconds after which it was stopped.
    """
    by_scale: dict[float, list[Point]] = defaultdict(list)
    for point in points:
        by_scale[point.scale_factor].append(point)
    levels = {
        scale_factor: group
        for scale_factor, group in sorted(by_scale.items())
        if not any(point.timed_out for point in group)
    }
    if len(levels) < 2:
        return None
    measured_s = {
        scale_factor: max(median(point.seconds for point in group), LEAST_S)
        for scale_factor, group in levels.items()
    }
    read_bytes = _power({sf: [p.read_bytes for p in group] for sf, group in levels.items()})
    read_rows = _power({sf: [p.read_rows for p in group] for sf, group in levels.items()})
    growing = (
        each
        for each in (read_bytes, read_rows)
        if each is not None and each.exponent > _LEAST_GROWTH
    )
    work = next(growing, _Power({sf: sf for sf in levels}, 1.0))
    overhead_s, rate = _fit(
        list(measured_s.values()), [work(scale_factor) for scale_factor in levels]
    )
    for point in points:
        if point.timed_out:
            rate = max(rate, (point.seconds - overhead_s) / work(point.scale_factor))
    return Curve(overhead_s, rate, work, read_bytes, measured_s)


def stopped_after_s(points: Sequence[Point], scale_factor: float) -> float | None:
    """Return the seconds that a query takes at least at a scale factor, as it was stopped there.

    Args:
        points: Its executions; those that timed out at smaller scale factors say so too.
        scale_factor: Where.
    """
    return max(
        (
            point.seconds
            for point in points
            if point.timed_out and point.scale_factor <= scale_factor
        ),
        default=None,
    )


def _power(values: Mapping[float, Sequence[int | None]]) -> _Power | None:
    """Return how a quantity grows; None where it is not known everywhere, or 0 somewhere."""
    at: dict[float, float] = {}
    for scale_factor, each in values.items():
        known = [value for value in each if value]
        if len(known) < len(each):
            return None
        at[scale_factor] = median(known)
    slope, _ = linear_regression([math.log(sf) for sf in at], [math.log(v) for v in at.values()])
    return _Power(at, slope)


def _fit(seconds: Sequence[float], work: Sequence[float]) -> tuple[float, float]:
    """Return a, b >= 0 of t = a + b w, for errors that are relative to what is expected.

    That is the gamma model with an identity link, in which sum((t - a - b w)^2 / (a + b w)^2) is
    minimised with the weights held, which come from the fit before (iteratively reweighted least
    squares; McCullagh and Nelder, Generalized Linear Models, 1989, section 8.4). Weights from what
    was measured would make much of whatever was quick by chance.
    """
    expected = list(seconds)
    a = b = 0.0
    for _ in range(_MOST_ROUNDS):
        before = a, b
        a, b = _weighted(seconds, work, [each**-2 for each in expected])
        if math.isclose(a, before[0], rel_tol=1e-10) and math.isclose(b, before[1], rel_tol=1e-10):
            break
        expected = [max(a + b * w, LEAST_S) for w in work]
    return a, b


def _weighted(
    seconds: Sequence[float], work: Sequence[float], weights: Sequence[float]
) -> tuple[float, float]:
    """Return the a, b >= 0 with the least weighted sum of (t - a - b w)^2.

    Two unknowns have a closed form: the normal equations, and where these give one below 0, it
    is 0 and the other is fitted alone. The sum is convex, so that its least is on that edge.
    """
    total = sum(weights)
    mean_t = sum(g * t for g, t in zip(weights, seconds, strict=True)) / total
    mean_w = sum(g * w for g, w in zip(weights, work, strict=True)) / total
    products = list(zip(weights, seconds, work, strict=True))
    # Not 0: work grows with the scale factor, and there are two of them.
    spread = sum(g * (w - mean_w) ** 2 for g, _, w in products)
    b = sum(g * (t - mean_t) * (w - mean_w) for g, t, w in products) / spread
    if b <= 0:
        return mean_t, 0.0
    a = mean_t - b * mean_w
    if a <= 0:
        return 0.0, sum(g * t * w for g, t, w in products) / sum(g * w * w for g, _, w in products)
    return a, b
