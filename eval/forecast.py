"""What queries will take on more data, from the scale factors at which they were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bothends.eval.growth import Curve, Point, fit, stopped_after_s

__all__ = ["Forecast", "Point", "Query", "forecast"]


@dataclass(frozen=True, slots=True)
class Query:
    """One SQL text, which was executed at several scale factors.

    Attributes:
        id: Its name within the sweep.
        points: Its executions, in any order; there may be several of one scale factor.
    """

    id: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a query is predicted to take at a scale factor.

    Attributes:
        id: The query's.
        scale_factor: Where.
        seconds: In the engine, without a time limit; None where the query was not measured at two
            scale factors.
        low_s: The lower end of the interval of `seconds`; None where there is no interval.
        high_s: The upper end; None too where the query timed out at such a scale factor, since
            that bounds it from below only.
        read_bytes: Bytes that it will read; None where the engine did not tell.
        reason: Why something of this is missing, in words; None where nothing of the seconds is.
    """

    id: str
    scale_factor: float
    seconds: float | None
    low_s: float | None = None
    high_s: float | None = None
    read_bytes: float | None = None
    reason: str | None = None


def forecast(
    queries: Sequence[Query], scale_factor: float, *, coverage: float = 0.8
) -> tuple[Forecast, ...]:
    """Predict what each query of a sweep takes at a scale factor, mostly a larger one.

    A query's seconds are t(s) = a + b w(s), an overhead and work; see `growth.fit`. That assumes
    the same machines and the same plan. Spilling, a join that is no longer broadcast, and cores
    that only now have enough to do break it, and with few points nothing in one query tells.

    So the interval is calibrated on the whole sweep, by split conformal prediction (Lei et al.,
    JASA 113, 2018, section 2.2) with scores normalised by the distance (their section 5.2). Each
    query with three scale factors is predicted at its largest, s_n, from the smaller ones, and
    scores

        r = |ln(measured / predicted)| / ln(s_n / s_{n-1}),

    an error of the exponent of growth. With q the ceil((n + 1) coverage)-th smallest of n scores,
    the interval is the prediction times exp(-q d) to exp(q d), where d is ln(s / s_n), and at
    least the query's last measured step: noise does not vanish with the distance. An error of
    the exponent adds up over the distance, hence the product: where tenfold data are told within
    a factor of 2, a hundredfold are within 4. The coverage is that over queries, and holds as far
    as the steps beyond are like the last one that was measured. They are less so where overhead
    hid how that one grew, and the interval is too narrow then; and more so where nothing but
    noise was wrong, and a distant interval is too wide. In simulated sweeps of either kind, 80%
    came out as 57% to 100%. No lower end is below what the largest measured scale factor took.

    A query that timed out is predicted to take at least as long there and beyond; that is a lower
    bound, with no upper end.

    Args:
        queries: All queries of the sweep; the interval is calibrated on them together.
        scale_factor: Where to predict.
        coverage: The nominal share of intervals that hold the truth, between 0 and 1.

    Raises:
        ValueError: If a number is out of its range.
    """
    if not 0 < scale_factor < math.inf:
        raise ValueError(f"scale factors must be positive, and not {scale_factor}")
    if not 0 < coverage < 1:
        raise ValueError(f"coverage is a share between 0 and 1, and not {coverage}")
    scores = sorted(score for query in queries if (score := _score(query)) is not None)
    # Less a little: (4 + 1) * 0.8 and its like are whole numbers.
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    spread = scores[rank - 1] if rank <= len(scores) else None
    needed = math.ceil(coverage / (1 - coverage) - 1e-9)
    uncalibrated = (
        f"an interval of {coverage:.0%} needs {needed} queries measured at three scale factors, "
        f"and there are {len(scores)}"
    )
    return tuple(_predict(query, scale_factor, spread, uncalibrated) for query in queries)


def _predict(
    query: Query, scale_factor: float, spread: float | None, uncalibrated: str
) -> Forecast:
    curve = fit(query.points)
    if curve is None:
        reason = "it was not measured at two scale factors"
        return Forecast(query.id, scale_factor, None, reason=reason)
    seconds = curve.seconds(scale_factor)
    low_s: float | None = None
    high_s: float | None = None
    missing = None if spread is not None else uncalibrated
    if spread is not None:
        distance = max(math.log(scale_factor / max(curve.measured_s)), _last_step(curve))
        low_s = seconds * math.exp(-spread * distance)
        largest = max(curve.measured_s)
        if scale_factor >= largest:  # more data takes no less, but for noise
            low_s = max(low_s, min(seconds, curve.measured_s[largest]))
        high_s = seconds * math.exp(spread * distance)
    stopped_s = stopped_after_s(query.points, scale_factor)
    if stopped_s is not None:
        low_s, high_s = max(stopped_s, low_s or 0.0), None
        missing = "it timed out, so that this is a lower bound"
    read_bytes = None if curve.read_bytes is None else curve.read_bytes(scale_factor)
    return Forecast(query.id, scale_factor, seconds, low_s, high_s, read_bytes, missing)


def _score(query: Query) -> float | None:
    """Return the error of the exponent at a query's largest scale factor; None with too few."""
    whole = fit(query.points)
    if whole is None:
        return None
    largest = max(whole.measured_s)
    smaller = fit([point for point in query.points if point.scale_factor < largest])
    if smaller is None:
        return None
    error = abs(math.log(whole.measured_s[largest] / smaller.seconds(largest)))
    return error / _last_step(whole)


def _last_step(curve: Curve) -> float:
    before, largest = sorted(curve.measured_s)[-2:]
    return math.log(largest / before)
