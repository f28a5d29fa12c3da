"""Intervals of one configuration: what is resampled, and what is said where that says little."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from bothends.eval import metrics
from bothends.eval.record import Trial
from bothends.eval.stats import MEASURES, difference_intervals, interval, intervals
from bothends.eval.stats.bootstrap import resampled_sums, tail
from bothends.eval.stats.rates import effective_size
from bothends.eval.summary import summarise

from .trials import make_trial


def questions(count: int, *, valid: int, replicas: int = 1) -> list[Trial]:
    return [
        make_trial(
            question_id=f"q{number}",
            replica=replica,
            error_class=None if number < valid else "D",
            usd=0.01 + number / 1_000,
            gold_s=0.1 + number / 50,
            exact_match=False,
            soft_f1=0.5,
        )
        for number in range(count)
        for replica in range(replicas)
    ]


def test_every_estimate_is_the_metric() -> None:
    outage = make_trial(question_id="q0", replica=1, status="provider_error", usd=None)
    trials = [*questions(12, valid=7), outage]
    found = intervals(trials)
    assert list(found) == list(MEASURES)
    for name in ("ex", "ex_exact", "ex_set", "em", "soft_f1", "ves", "ves_star", "vces", "cvq"):
        assert found[name].estimate == pytest.approx(getattr(metrics, name)(trials)), name
    summary = summarise(trials)
    assert found["cost_usd"].estimate == pytest.approx(summary.cost_usd.mean)
    assert found["e2e_s"].estimate == pytest.approx(summary.e2e_s.mean)
    for name, each in found.items():
        assert (each.units, each.count) == ("questions", 12)
        if each.low is not None and each.high is not None:
            assert each.low <= (each.estimate or 0) <= each.high, name


def test_a_share_has_wilsons_interval() -> None:
    found = interval(questions(22, valid=17))
    assert (found.low, found.high) == pytest.approx(proportion_confint(17, 22, method="wilson"))
    assert "Wilson" in found.method
    # At the ends too: 22 of 22 are not certainty.
    whole = interval(questions(22, valid=22))
    assert whole.high == pytest.approx(1.0)
    assert whole.low == pytest.approx(proportion_confint(22, 22, method="wilson")[0])
    assert interval(questions(22, valid=22, replicas=3)).low == pytest.approx(whole.low)


def test_replicas_that_agree_are_no_further_questions() -> None:
    once, thrice = (interval(questions(22, valid=11, replicas=n)) for n in (1, 3))
    assert once.low is not None
    assert thrice.low == pytest.approx(once.low, abs=0.01)
    # By hand: three trials alike, deff = 3 * 65/66 * 22/21, and t of 65 over t of 21 squared.
    valid = np.array([3.0] * 11 + [0.0] * 11)
    t65, t21 = (stats.t.ppf(0.975, n) for n in (65, 21))
    expected = 66 / (65 / 66 * 3 * 22 / 21) * (t65 / t21) ** 2
    assert effective_size(valid, np.full(22, 3.0), 0.95) == pytest.approx(expected)


def test_the_bootstrap_is_the_same_each_time_and_one_with_its_seed() -> None:
    trials = questions(30, valid=20)
    first = interval(trials, "cvq")
    assert interval(trials, "cvq") == first
    assert "10,000 resamples of 30 questions, seed 0" in first.method
    other = interval(trials, "cvq", seed=1)
    assert other != first
    assert "seed 1" in other.method
    assert first.low is not None
    assert other.low == pytest.approx(first.low, rel=0.05)
    # What is asked for besides changes nothing.
    assert intervals(trials)["cvq"] == first


def test_the_bootstrap_of_a_mean_is_students() -> None:
    values = np.random.default_rng(0).normal(10, 2, (40, 1))
    means = resampled_sums(values) / 40
    assert means.std() == pytest.approx(values.std() / 40**0.5, rel=0.02)
    assert means.mean() == pytest.approx(values.mean(), rel=1e-3)
    # The tail of the expanded percentile interval: sqrt(40 / 39) * t_39 = 2.0485.
    assert tail(40, 0.95) == pytest.approx(stats.norm.cdf(-2.0485), rel=1e-3)
    trials = [
        make_trial(question_id=f"q{i}", stage_s={"run": float(each)})
        for i, each in enumerate(values[:, 0])
    ]
    found = interval(trials, "e2e_s")
    expected = stats.t.interval(0.95, 39, values.mean(), stats.sem(values[:, 0]))
    assert (found.low, found.high) == pytest.approx(expected, abs=0.06)


def test_databases_are_resampled_whole_where_there_are_enough() -> None:
    """Each database is right or wrong throughout: ten answers, not two hundred."""
    trials = questions(200, valid=100)
    databases = {f"q{number}": f"d{number // 20}" for number in range(200)}
    clustered, plain = interval(trials, "ex", databases), interval(trials, "ex")
    assert (clustered.units, clustered.count, clustered.caveat) == ("databases", 10, "")
    assert clustered.low is not None
    assert plain.low is not None
    assert 0.5 - clustered.low > 3 * (0.5 - plain.low)
    spread = [interval(trials, "cvq", each) for each in (databases, None)]
    assert (spread[0].low or 1) < (spread[1].low or 0)
    few = interval(trials, "ex", {f"q{n}": f"d{n % 3}" for n in range(200)})
    assert (few.low, few.units, few.count) == (plain.low, "questions", 200)
    assert few.caveat.startswith("3 databases are too few to be resampled")
    assert interval(trials, "ex", {f"q{n}": "one" for n in range(200)}) == plain


def test_cost_per_valid_query_may_have_no_bound() -> None:
    # With one valid answer in ten, many a resample has none.
    found = interval(questions(10, valid=1), "cvq")
    assert found.estimate is not None
    assert found.high == math.inf
    assert found.low is not None
    assert 0 < found.low < found.estimate
    # Where neither side has a valid answer, the difference could be anything.
    pair = difference_intervals(questions(10, valid=1), questions(10, valid=1), ["cvq"])["cvq"]
    assert (pair.estimate, pair.low, pair.high) == (0.0, -math.inf, math.inf)
    none = interval(questions(10, valid=0), "cvq")
    assert (none.estimate, none.low, none.high) == (None, None, None)


def test_one_question_is_resampled_by_its_replicas() -> None:
    trials = [make_trial(replica=n, error_class="A" if n < 3 else None) for n in range(10)]
    found = interval(trials)
    assert (found.units, found.count) == ("replicas", 10)
    assert (found.low, found.high) == pytest.approx(proportion_confint(7, 10, method="wilson"))


def test_what_has_no_interval_says_why() -> None:
    alone = interval([make_trial()])
    assert (alone.estimate, alone.low, alone.high) == (1.0, None, None)
    assert alone.caveat == "a single replica has no interval"
    alike = interval([make_trial(question_id=f"q{n}") for n in range(5)], "cost_usd")
    assert (alike.estimate, alike.low) == (pytest.approx(0.01), None)
    assert alike.caveat == "all 5 questions are alike: nothing is there to resample"
    unknown = interval([make_trial(usd=None), make_trial(question_id="q2")], "cvq")
    assert (unknown.estimate, unknown.low, unknown.high) == (None, None, None)
    nothing = intervals([make_trial(status="provider_error")])
    assert {(each.estimate, each.low, each.count) for each in nothing.values()} == {(None, None, 0)}
