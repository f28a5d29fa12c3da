"""Where one model's valid answers become cheaper than another's, worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bothends.eval.crossover import CostCurve, Crossover, crossovers


def linear(p: float, llm_usd: float, usd_per_sf: float, *scale_factors: float) -> CostCurve:
    return CostCurve(p, llm_usd, {sf: usd_per_sf * sf for sf in scale_factors})


CHEAP = linear(0.5, 0.01, 0.001, 1, 10, 100)  # CVQ = 0.02 + 0.002 SF
DEAR = linear(1.0, 0.10, 0.001, 1, 10, 100)  # CVQ = 0.10 + 0.001 SF


def test_the_dearer_and_more_exact_model_wins_at_scale() -> None:
    (crossing,) = crossovers(DEAR, CHEAP) or ()
    assert crossing.scale_factor == pytest.approx(80)
    assert crossing == Crossover(crossing.scale_factor, cheaper_beyond="first", measured=True)
    (other,) = crossovers(CHEAP, DEAR) or ()
    assert other == Crossover(crossing.scale_factor, cheaper_beyond="second", measured=True)


def test_beyond_the_measured_only_where_asked() -> None:
    cheap, dear = linear(0.5, 0.01, 0.001, 1, 10), linear(1.0, 0.10, 0.001, 2, 20)
    assert crossovers(dear, cheap) == ()
    (crossing,) = crossovers(dear, cheap, within=(1, 1000)) or ()
    assert crossing.scale_factor == pytest.approx(80)
    assert not crossing.measured
    assert crossovers(dear, cheap, within=(1, 79)) == ()
    # In the narrower range of two that only overlap.
    wide, narrow = linear(0.5, 0.01, 0.001, 1, 100), linear(1.0, 0.10, 0.001, 2, 90)
    (crossing,) = crossovers(narrow, wide) or ()
    assert (crossing.scale_factor, crossing.measured) == (pytest.approx(80), True)


def test_beyond_the_measured_along_the_forecast() -> None:
    # CVQ = 0.02 + 0.002 SF against 0.10 + 0.001 SF, as before, but it was the overhead that was
    # measured up to 10: along the last segment nothing would ever cross.
    flat = {1: 0.001, 10: 0.001}
    cheap = CostCurve(0.5, 0.0, flat, {100: 0.1, 1000: 1.0})
    dear = CostCurve(1.0, 0.1, flat, {100: 0.1, 1000: 1.0})
    assert crossovers(CostCurve(1.0, 0.1, flat), CostCurve(0.5, 0.0, flat), within=(1, 1000)) == ()
    (crossing,) = crossovers(dear, cheap, within=(1, 1000)) or ()
    assert crossing == Crossover(crossing.scale_factor, cheaper_beyond="first", measured=False)
    assert crossing.scale_factor == pytest.approx(100)  # 0.2 each
    assert crossovers(dear, cheap) == ()
    # A bend that is only forecast: 1 up to 10, 100 at 100 and 1 at 1000, against 10.
    bent = CostCurve(1.0, 0.0, {1: 1, 10: 1}, {100: 100, 1000: 1})
    there, back = crossovers(bent, CostCurve(1.0, 0.0, {1: 10, 10: 10}), within=(1, 1000)) or ()
    assert (there.scale_factor, there.cheaper_beyond) == (pytest.approx(10**1.5), "second")
    assert (back.scale_factor, back.cheaper_beyond) == (pytest.approx(10**2.5), "first")
    # One measured point is enough for the place, with a forecast for the slope.
    single = CostCurve(1.0, 0.1, {10: 0.001}, {100: 0.1})
    assert single.cvq(100) == pytest.approx(0.2)
    assert single.cvq(1000) == pytest.approx(10.1)  # a hundredfold in a decade, and again
    assert crossovers(single, cheap, within=(1, 1000)) is not None
    assert crossovers(CostCurve(1.0, 0.1, {}, {10: 0.001, 100: 0.1}), cheap) is None
    with pytest.raises(ValueError, match="beyond what was measured"):
        CostCurve(1.0, 0.1, flat, {10: 0.1})
    with pytest.raises(ValueError, match="0 at some"):
        CostCurve(1.0, 0.1, flat, {100: 0.0})


def test_the_cost_of_a_valid_answer_between_points() -> None:
    # Tenfold data cost a hundredfold: quadratic, so 4 at 2; and half of the attempts are valid.
    curve = CostCurve(0.5, 1.0, {1: 1.0, 10: 100.0})
    assert curve.cvq(1) == pytest.approx(4)
    assert curve.cvq(2) == pytest.approx(10)
    assert curve.cvq(20) == pytest.approx(802)  # beyond, along the last segment
    assert CostCurve(0.0, 1.0, {1: 1.0, 10: 100.0}).cvq(2) is None


def test_never() -> None:
    # Dearer and no more exact; and the same twice, which never becomes the cheaper one.
    assert crossovers(linear(0.5, 0.1, 0.001, 1, 100), CHEAP) == ()
    assert crossovers(CHEAP, CHEAP) == ()


def test_twice_within_one_segment() -> None:
    # 2 + SF^2 against 3 SF: the difference is (SF - 1) (SF - 2).
    square = CostCurve(1.0, 2.0, {0.1: 0.01, 10: 100})
    line = CostCurve(1.0, 0.0, {0.1: 0.3, 10: 30})
    first, second = crossovers(square, line) or ()
    assert (first.scale_factor, second.scale_factor) == (pytest.approx(1), pytest.approx(2))
    assert (first.cheaper_beyond, second.cheaper_beyond) == ("first", "second")


def test_touching_is_no_crossing() -> None:
    # 1 + SF^2 against 2 SF: (SF - 1)^2.
    square = CostCurve(1.0, 1.0, {0.1: 0.01, 10: 100})
    assert crossovers(square, CostCurve(1.0, 0.0, {0.1: 0.2, 10: 20})) == ()
    # And at a measured point.
    square = CostCurve(1.0, 1.0, {0.1: 0.01, 1: 1, 10: 100})
    assert crossovers(square, CostCurve(1.0, 0.0, {0.1: 0.2, 10: 20})) == ()


def test_a_bend_at_a_measured_point() -> None:
    # SF against 2 SF up to 10, and 20 from there on.
    bent = CostCurve(1.0, 0.0, {1: 2, 10: 20, 100: 20})
    (crossing,) = crossovers(bent, linear(1.0, 0.0, 1.0, 1, 100)) or ()
    assert crossing == Crossover(crossing.scale_factor, cheaper_beyond="first", measured=True)
    assert crossing.scale_factor == pytest.approx(20)


def test_a_crossing_at_a_measured_point_is_one() -> None:
    # 80 is measured by both.
    cheap, dear = linear(0.5, 0.01, 0.001, 1, 80, 100), linear(1.0, 0.10, 0.001, 1, 80, 100)
    (crossing,) = crossovers(dear, cheap) or ()
    assert crossing.scale_factor == pytest.approx(80)


def test_an_engine_that_costs_nothing() -> None:
    free = CostCurve(0.5, 0.01, {1: 0, 100: 0})  # 0.02 at each
    (crossing,) = crossovers(free, linear(1.0, 0.0, 0.001, 1, 100)) or ()
    assert (crossing.scale_factor, crossing.cheaper_beyond) == (pytest.approx(20), "first")
    with pytest.raises(ValueError, match="0 at some"):
        CostCurve(0.5, 0.01, {1: 0, 100: 1})


def test_what_cannot_be_told() -> None:
    assert crossovers(CHEAP, CostCurve(0.0, 0.1, {1: 1, 10: 2})) is None
    assert crossovers(CHEAP, linear(1.0, 0.1, 0.001, 10)) is None
    assert crossovers(CHEAP, linear(1.0, 0.1, 0.001, 100, 1000)) is None
    with pytest.raises(ValueError, match="positive"):
        CostCurve(1.0, 0.1, {0: 1.0, 1: 2.0})
    with pytest.raises(ValueError, match="from 0 to 1"):
        CostCurve(1.5, 0.1, {1: 1.0, 2: 2.0})


_usd = st.floats(1e-6, 1e3)
_curve = st.builds(
    CostCurve,
    st.floats(0.01, 1.0),
    _usd,
    st.fixed_dictionaries({1: _usd, 10: _usd, 100: _usd, 1000: _usd}),
)


@given(_curve, _curve)
def test_both_cost_the_same_there_and_the_cheaper_one_beyond(a: CostCurve, b: CostCurve) -> None:
    found = crossovers(a, b) or ()
    edges = [1.0, *(each.scale_factor for each in found), 1000.0]
    for crossing, after in zip(found, edges[2:], strict=True):
        first, second = a.cvq(crossing.scale_factor), b.cvq(crossing.scale_factor)
        assert first == pytest.approx(second, rel=1e-6)
        between = (crossing.scale_factor * after) ** 0.5
        gap = (a.cvq(between) or 0) - (b.cvq(between) or 0)
        ahead = -gap if crossing.cheaper_beyond == "first" else gap
        assert ahead >= -1e-9 * (a.cvq(between) or 0)
    # Where nothing was found, no sampled scale factor says otherwise.
    for low, high in pairwise(edges):
        gaps = [
            (a.cvq(sf) or 0) - (b.cvq(sf) or 0)
            for sf in (low * (high / low) ** (step / 20) for step in range(1, 20))
        ]
        least = 1e-6 * (a.cvq(low) or 0)
        assert all(gap >= -least for gap in gaps) or all(gap <= least for gap in gaps)


def test_the_papers_first_query() -> None:
    # TPC-H 1 (arXiv 2602.21480, Table 6): CVQ of Claude Opus 4.5, always valid, and of GPT-5.2,
    # valid in 3 of 5, at scale factors 10, 100 and 1000.
    opus = CostCurve(1.0, 0.0, {10: 0.1163, 100: 0.1697, 1000: 0.6199})
    gpt = CostCurve(0.6, 0.0, {10: 0.1007 * 0.6, 100: 0.1852 * 0.6, 1000: 0.9439 * 0.6})
    (crossing,) = crossovers(opus, gpt) or ()
    # ln(0.1163 / 0.1007) is 0.1440 and ln(0.1697 / 0.1852) is -0.0874: 0.6223 of a decade on.
    assert crossing.scale_factor == pytest.approx(41.9, abs=0.1)
    assert (crossing.cheaper_beyond, crossing.measured) == ("first", True)
