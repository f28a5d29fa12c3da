"""Forecasts of what a valid answer costs, worked out by hand."""

from __future__ import annotations

import pytest

from bothends.eval.forecast import Forecast
from bothends.eval.forecast_cvq import Translated, forecast_cvq
from bothends.infra.prices import Machine, ScanPrice

MACHINE = Machine("m", 3.6, "")  # 0.001 dollars a second
SCAN = ScanPrice("s", 1024**2, 0, "")  # a dollar for a megabyte


def made(name: str, seconds: float, low: float, high: float | None, read: float = 0) -> Forecast:
    return Forecast(name, 100, seconds, low, high, read, None if high else "it timed out")


def test_a_valid_answer_costs_its_share_of_all_attempts() -> None:
    answers = [
        Translated(made("1", 100, 50, 200), 1.0, 0.01),
        Translated(made("2", 300, 150, 590), 0.5, 0.03),
        Translated(None, 0.0, 0.02),  # nothing that executes
    ]
    found = forecast_cvq(answers, MACHINE, timeout_s=600)
    assert found.p == pytest.approx(0.5)
    assert found.llm_usd == pytest.approx(0.02)
    assert found.engine_usd == pytest.approx(0.4 / 3)
    assert found.cvq_usd == pytest.approx((0.06 + 0.4) / 1.5)
    assert found.low_usd == pytest.approx((0.06 + 0.2) / 1.5)
    assert found.high_usd == pytest.approx((0.06 + 0.79) / 1.5)
    assert (found.timeouts, found.reason) == ((), None)


def test_past_the_time_limit_an_answer_costs_the_limit_and_is_not_valid() -> None:
    answers = [
        Translated(made("1", 100, 50, 290), 1.0, 0.01),
        Translated(made("2", 400, 200, 800), 1.0, 0.01),
    ]
    found = forecast_cvq(answers, MACHINE, timeout_s=300)
    assert found.timeouts == ("2",)
    assert found.p == 0.5
    assert found.cvq_usd == pytest.approx(0.02 + 0.1 + 0.3)
    assert found.low_usd == pytest.approx((0.02 + 0.05 + 0.2) / 2)  # both in time
    assert found.high_usd == pytest.approx(0.02 + 0.29 + 0.3)
    # At the upper end none in time: there is no upper end of what one costs.
    found = forecast_cvq(answers, MACHINE, timeout_s=250)
    assert found.cvq_usd == pytest.approx(0.02 + 0.1 + 0.25)
    assert (found.high_usd, found.reason) == (None, "no answer would be in time at the upper end")
    found = forecast_cvq(answers, MACHINE, timeout_s=80)
    assert (found.p, found.cvq_usd, found.high_usd) == (0, None, None)
    assert found.low_usd == pytest.approx(0.02 + 0.05 + 0.08)
    assert found.reason == "no answer would be valid and in time"


def test_a_query_that_timed_out_costs_the_limit_at_the_upper_end_too() -> None:
    answers = [
        Translated(made("1", 100, 50, 200), 1.0, 0.0),
        Translated(made("2", 300, 300, None), 1.0, 0.0),
    ]
    found = forecast_cvq(answers, MACHINE, timeout_s=300)
    assert (found.timeouts, found.p) == (("2",), 0.5)
    assert (found.low_usd, found.high_usd) == (pytest.approx(0.35), pytest.approx(0.5))
    # With more time than it had, nobody knows.
    found = forecast_cvq(answers, MACHINE, timeout_s=900)
    assert (found.cvq_usd, found.high_usd) == (pytest.approx(0.2), None)
    assert found.reason == "it timed out"


def test_a_scan_is_paid_whole() -> None:
    answers = [
        Translated(made("1", 100, 50, 200, 2 * 1024**2), 1.0, 0.5),
        Translated(made("2", 400, 350, 900, 5.5 * 1024**2), 1.0, 0.5),
    ]
    found = forecast_cvq(answers, SCAN, timeout_s=300)
    assert (found.engine_usd, found.p, found.cvq_usd) == (4, 0.5, 9)
    unknown = Forecast("1", 100, 1.0, 1.0, 1.0, None)
    found = forecast_cvq([Translated(unknown, 1.0, 0.5)], SCAN, timeout_s=300)
    assert (found.p, found.engine_usd, found.cvq_usd) == (1, None, None)
    assert found.reason == "the engine did not tell what it read"


def test_what_is_not_known_is_none_with_its_reason() -> None:
    short = Forecast("1", 100, None, reason="it was not measured at two scale factors")
    good = Translated(made("2", 100, 50, 200), 1.0, 0.01)
    found = forecast_cvq([Translated(short, 1.0, 0.01), good], MACHINE, timeout_s=300)
    assert (found.p, found.engine_usd, found.cvq_usd, found.low_usd) == (None, None, None, None)
    assert found.llm_usd == pytest.approx(0.01)
    assert found.reason == short.reason
    free = forecast_cvq([good, Translated(good.forecast, 1.0, None)], MACHINE, timeout_s=300)
    assert (free.llm_usd, free.cvq_usd) == (None, None)
    assert free.reason == "what the LLM costs is not known"
    bare = Forecast("3", 100, 10.0, reason="an interval needs more")
    found = forecast_cvq([Translated(bare, 1.0, 0.01)], MACHINE, timeout_s=300)
    assert (found.cvq_usd, found.low_usd, found.high_usd) == (pytest.approx(0.02), None, None)
    assert found.reason == "an interval needs more"
    with pytest.raises(ValueError, match="answers"):
        forecast_cvq([], MACHINE, timeout_s=300)
    other = Translated(Forecast("4", 10, 1.0), 1.0, 0.01)
    with pytest.raises(ValueError, match="one scale factor"):
        forecast_cvq([good, other], MACHINE, timeout_s=300)
    with pytest.raises(ValueError, match="share"):
        Translated(None, 2.0, 0.1)
