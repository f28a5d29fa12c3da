"""Forecasts of seconds: curves that are known, intervals by simulation, and real timings."""

from __future__ import annotations

import csv
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from bothends.eval.forecast import Point, Query, forecast
from bothends.eval.growth import fit
from bothends.eval.held_out import held_out


def timed(name: str, seconds: dict[float, float]) -> Query:
    return Query(name, tuple(Point(sf, each) for sf, each in seconds.items()))


def line(name: str, a: float, b: float, *scale_factors: float) -> Query:
    return timed(name, {sf: a + b * sf for sf in scale_factors})


# Both recovered exactly, and five of them are enough for an interval of no width.
LINES = [line(str(n), 0.1 * n, n, 0.01, 0.1, 1) for n in range(1, 6)]


def test_overhead_and_work_are_recovered() -> None:
    for n, made in enumerate(forecast(LINES, 100), 1):
        assert made.seconds == pytest.approx(0.1 * n + 100 * n)
        assert made.low_s == pytest.approx(made.seconds)
        assert made.high_s == pytest.approx(made.seconds)
        assert made.reason is None
    # Noise of 5% does not move them far.
    rng = random.Random(7)  # noqa: S311
    points = [
        Point(sf, (0.3 + 4 * sf) * math.exp(rng.gauss(0, 0.05)))
        for sf in (0.01, 0.03, 0.1, 0.3, 1)
        for _ in range(9)
    ]
    curve = fit(points)
    assert curve is not None
    assert curve.overhead_s == pytest.approx(0.3, rel=0.05)
    assert curve.rate == pytest.approx(4, rel=0.1)


def test_the_fit_is_the_likeliest() -> None:
    """Of gamma distributions around a + b s: nothing else on a grid of both is any better."""
    rng = random.Random(3)  # noqa: S311
    for _ in range(40):
        a, b = rng.choice([0.0, rng.uniform(0.1, 2)]), rng.choice([0.0, rng.uniform(0.1, 2)])
        seconds = {sf: (a + b * sf + 0.01) * math.exp(rng.gauss(0, 0.4)) for sf in (0.1, 1, 3, 10)}

        def deviance(a: float, b: float, seconds: dict[float, float] = seconds) -> float:
            means = {sf: a + b * sf + 1e-12 for sf in seconds}
            return sum(math.log(means[sf]) + t / means[sf] for sf, t in seconds.items())

        curve = fit(timed("q", seconds).points)
        assert curve is not None
        grid = [0.0, *(1e-3 * 1.25**n for n in range(45))]
        best = min(deviance(a, b) for a in grid for b in grid)
        assert deviance(curve.overhead_s, curve.rate) <= best + 1e-6


def test_work_is_what_was_read() -> None:
    # Bytes grow with the root of the scale factor, and seconds with the bytes: 0.2 + bytes / 1e6.
    points = [Point(sf, 0.2 + 3 * math.sqrt(sf), int(3e6 * math.sqrt(sf))) for sf in (1, 4, 16)]
    (made,) = forecast([Query("q", tuple(points))], 100)
    assert made.seconds == pytest.approx(30.2)
    assert made.read_bytes == pytest.approx(3e7)
    # So do rows, where bytes are not told; then no bytes are forecast.
    rows = [Point(p.scale_factor, p.seconds, None, p.read_bytes) for p in points]
    (made,) = forecast([Query("q", tuple(rows))], 100)
    assert (made.seconds, made.read_bytes) == (pytest.approx(30.2), None)
    # Bytes that are missing once are not work, nor are those of a table that does not grow: on
    # the scale factor alone, 3 / sqrt(sf) is far from a line and most is taken for overhead.
    gap = [*points[:2], Point(16, 12.2)]
    same = [Point(p.scale_factor, p.seconds, 1000) for p in points]
    for other in (gap, same):
        (made,) = forecast([Query("q", tuple(other))], 100)
        bare = timed("q", {p.scale_factor: p.seconds for p in points})
        assert made.seconds == forecast([bare], 100)[0].seconds
    assert forecast([Query("q", tuple(same))], 100)[0].read_bytes == pytest.approx(1000)


def test_repeats_count_as_their_median() -> None:
    once = timed("q", {1: 2.0, 10: 11.0})
    thrice = Query("q", (*once.points, Point(1, 1.9), Point(1, 50.0)))
    assert forecast([thrice], 100)[0].seconds == pytest.approx(101)
    assert forecast([once], 100)[0].seconds == pytest.approx(101)


def test_degenerate_queries() -> None:
    def seconds(points: dict[float, float]) -> float | None:
        return forecast([timed("q", points)], 100)[0].seconds

    assert seconds({}) is None
    assert seconds({1: 3.0}) is None
    assert seconds({1: 3.0, 10: 3.0}) == pytest.approx(3)
    assert seconds({1: 4.0, 10: 2.0}) == pytest.approx(3)  # the mean: no work below 0
    assert seconds({1: 0.0, 10: 0.0}) == pytest.approx(0.001)
    # No overhead below 0: the mean of 0.001 and 0.09 a scale factor.
    assert seconds({1: 0.0, 10: 0.9}) == pytest.approx(4.55)
    made = forecast([timed("q", {1: 3.0})], 100)[0]
    assert (made.low_s, made.high_s) == (None, None)
    assert made.reason == "it was not measured at two scale factors"


def test_without_enough_queries_there_is_no_interval() -> None:
    # ceil((n + 1) 0.8) <= n from 4 on, and (n + 1) 0.9 from 9 on.
    (made, *_) = forecast(LINES[:3], 10)
    assert (made.seconds, made.low_s, made.high_s) == (pytest.approx(10.1), None, None)
    assert made.reason == (
        "an interval of 80% needs 4 queries measured at three scale factors, and there are 3"
    )
    assert forecast(LINES[:4], 10)[0].low_s is not None
    assert "needs 9" in str(forecast(LINES, 10, coverage=0.9)[0].reason)
    assert forecast([*LINES, *LINES][:9], 10, coverage=0.9)[0].low_s is not None


def test_the_interval_is_the_sweeps_own_error_over_the_distance() -> None:
    # Each took twice, or half, what two smaller scale factors made of it: an error of the exponent
    # of log10(2) in a decade, and so a factor of 2 a decade on, and of 4 after two.
    level = [timed(f"q{n}", {1: 1.0, 10: 1.0, 100: 2.0 if n % 2 else 0.5}) for n in range(1, 8)]
    for scale_factor, factor in ((10_000, 4), (1000, 2), (300, 2), (50, 2)):
        for query, made in zip(level, forecast(level, scale_factor), strict=True):
            assert made.seconds is not None
            # More data takes no less than the largest that was measured.
            last_s = query.points[-1].seconds if scale_factor > 100 else 0.0
            least_s = min(last_s, made.seconds)
            assert made.low_s == pytest.approx(max(made.seconds / factor, least_s))
            assert made.high_s == pytest.approx(made.seconds * factor)


@pytest.mark.parametrize(
    ("noise", "bend", "least", "most"),
    [(0.1, 0.1, 0.72, 0.88), (0.2, 0.05, 0.8, 0.95), (0.0, 0.1, 0.6, 0.75)],
    ids=["noise and bends", "mostly noise", "bends alone"],
)
def test_intervals_hold_about_as_many_as_they_say(
    noise: float, bend: float, least: float, most: float
) -> None:
    """Sweeps of 22 queries, t = a + b s^k with k about 1 and noise, predicted half a decade on."""
    rng = random.Random(20)  # noqa: S311
    held = []
    for _ in range(60):
        sweep, beyond = [], []
        for n in range(22):
            a, b = rng.uniform(0.2, 0.6), 0.5 * 40 ** rng.random()
            k = rng.gauss(1, bend)
            *seen, last = [
                Point(sf, (a + b * sf**k) * math.exp(rng.gauss(0, noise)))
                for sf in (0.01, 0.03, 0.1, 0.3, 1, 3)
            ]
            sweep.append(Query(str(n), tuple(seen)))
            beyond.append(last.seconds)
        for made, seconds in zip(forecast(sweep, 3), beyond, strict=True):
            assert made.low_s is not None
            assert made.high_s is not None
            held.append(made.low_s <= seconds <= made.high_s)
    assert least <= fmean(held) <= most


def test_a_timeout_is_a_lower_bound_and_no_measurement() -> None:
    # 0.1 + 1 s, stopped after 300 s at 100, where the line alone would have said 100.1.
    stopped = Query("1", (*LINES[0].points, Point(100, 300.0, timed_out=True)))
    sweep = [stopped, *LINES[1:]]
    (made, *others) = forecast(sweep, 100)
    assert (made.seconds, made.low_s, made.high_s) == (pytest.approx(300), pytest.approx(300), None)
    assert made.reason == "it timed out, so that this is a lower bound"
    assert [each.high_s is None for each in others] == [False] * 4
    beyond = forecast(sweep, 1000)[0]
    assert beyond.seconds == pytest.approx(0.1 + 2.999 * 1000)
    assert beyond.low_s is not None
    assert beyond.low_s >= 300
    # Where it said more already, nothing changes; and below, what was measured still counts.
    late = Query("1", (*LINES[0].points, Point(100, 50.0, timed_out=True)))
    assert forecast([late], 100)[0].seconds == pytest.approx(100.1)
    assert forecast(sweep, 10)[0].high_s is not None
    # One of several repeats makes the whole scale factor one that is not measured.
    mixed = Query("1", (*stopped.points, Point(100, 1.0)))
    assert forecast([mixed], 100)[0].seconds == pytest.approx(300)
    # It alone cannot be fitted.
    assert forecast([Query("q", (Point(1, 1.0), stopped.points[-1]))], 100)[0].seconds is None


def test_held_out() -> None:
    # Three lines, one that takes three times what it should at 10, one stopped, one unmeasured.
    sweep = [line(str(n), 0.5, n, 0.01, 0.1, 1, 10) for n in range(1, 4)]
    sweep += [
        timed("4", {0.01: 0.51, 0.1: 0.6, 1: 1.5, 10: 31.5}),
        Query("5", (*line("5", 0.5, 1, 0.01, 0.1, 1).points, Point(10, 60, timed_out=True))),
        timed("6", {0.01: 1.0}),
    ]
    found = held_out(sweep)
    assert found.scale_factor == 10
    assert [each.forecast.id for each in found.queries] == ["1", "2", "3", "4"]
    assert found.left_out == ("5", "6")
    assert [each.ratio for each in found.queries] == pytest.approx([1, 1, 1, 3])
    assert found.relative_error == pytest.approx(0, abs=1e-9)
    assert found.within_factor_2 == 0.75
    # Without the largest nothing was wrong, so that the intervals have no width to speak of.
    assert found.coverage is not None
    assert found.coverage <= 0.75
    # Without a third smaller scale factor there are none.
    assert held_out([line("1", 0.5, 1, 0.1, 1, 10)]).coverage is None
    alone = held_out([timed("6", {0.01: 1.0})])
    assert (alone.queries, alone.relative_error, alone.within_factor_2) == ((), None, None)


def test_wrong_numbers() -> None:
    with pytest.raises(ValueError, match="positive"):
        Point(0, 1.0)
    with pytest.raises(ValueError, match="negative"):
        Point(1, -1.0)
    with pytest.raises(ValueError, match="negative"):
        Point(1, math.nan)
    with pytest.raises(ValueError, match="positive"):
        forecast(LINES, 0)
    with pytest.raises(ValueError, match="share"):
        forecast(LINES, 1, coverage=1.0)
    with pytest.raises(ValueError, match="no query"):
        held_out([])


def _measured(scale_factors: Sequence[float]) -> list[Query]:
    points = defaultdict(list)
    lines = (Path(__file__).parent / "forecast_points.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        scale_factor = float(row["scale_factor"])
        if scale_factor in scale_factors:
            point = Point(
                scale_factor, float(row["seconds"]), int(row["read_bytes"]), int(row["read_rows"])
            )
            points[row["query"]].append(point)
    return [Query(name, tuple(each)) for name, each in points.items()]


@pytest.mark.parametrize(
    ("scale_factors", "within_2", "furthest"),
    [((0.01, 0.03, 0.1, 0.3), 0.8, 5), ((0.01, 0.03, 0.1, 0.3, 1), 0.4, 15)],
    ids=["0.3", "1"],
)
def test_spark_on_tpch(scale_factors: tuple[float, ...], within_2: float, furthest: float) -> None:
    """The largest scale factor from the smaller ones, about three times as much data.

    The file tells how noisy they are, those at 1 above all.
    """
    found = held_out(_measured(scale_factors))
    assert (len(found.queries), found.left_out) == (22, ())
    assert found.within_factor_2 is not None
    assert found.within_factor_2 >= within_2
    assert all(1 / furthest < each.ratio < furthest for each in found.queries)
    assert found.coverage is not None
    assert found.coverage >= 0.5
