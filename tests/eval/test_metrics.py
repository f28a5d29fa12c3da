"""The metrics against figures worked out by hand, and against the relations in the paper."""

from __future__ import annotations

import pytest

from bothends.eval import metrics
from bothends.eval.record import Trial
from bothends.eval.summary import Estimate, summarise

from .trials import make_trial, make_verdict


def paper_like() -> list[Trial]:
    """Four trials of 4 s end to end: exact, one column too many, wrong values, a failed query."""
    return [
        make_trial(replica=0, gold_s=0.2, generated_s=0.4, usd=0.01),
        make_trial(replica=1, gold_s=0.4, generated_s=0.4, usd=0.02, error_class="C"),
        make_trial(replica=2, gold_s=0.2, generated_s=0.1, usd=0.03, error_class="D"),
        make_trial(replica=3, status="failed", usd=0.04),
    ]


def test_by_hand() -> None:
    trials = paper_like()
    assert metrics.ex(trials) == 2 / 4
    assert metrics.ex_exact(trials) == metrics.ex_ordered(trials) == metrics.ex_set(trials) == 1 / 4
    assert metrics.ves(trials) == pytest.approx((0.2 / 0.4) / 4)
    # P is 4 of 4 columns, then 4 of 5; T_e2e is 4 s.
    assert metrics.ves_star(trials) == pytest.approx((0.2 / 4 + 0.8 * 0.4 / 4) / 4)
    assert metrics.vces(trials) == pytest.approx((0.2 / 4 / 0.01 + 0.8 * 0.4 / 4 / 0.02) / 4)
    # Mean cost 0.025 dollars, half of the attempts valid.
    assert metrics.cvq(trials) == pytest.approx(0.05)


def test_what_says_nothing_of_the_model_does_not_count() -> None:
    excluded = [
        make_trial(status="provider_error", usd=None, replica=4),
        make_trial(status="gold_failed", usd=9.0, replica=5),
        make_trial(status="unjudged", usd=9.0, replica=6),
    ]
    trials = paper_like() + excluded
    assert metrics.counted(trials) == tuple(paper_like())
    for metric in (metrics.ex, metrics.ves, metrics.ves_star, metrics.vces, metrics.cvq):
        assert metric(trials) == metric(paper_like())
    summary = summarise(trials)
    assert (summary.trials, summary.counted) == (7, 4)
    assert summary.excluded == {"provider_error": 1, "gold_failed": 1, "unjudged": 1}
    assert summary.statuses == {"ok": 3, "failed": 1, **summary.excluded}
    assert summary.classes == {"C": 1, "D": 1}


@pytest.mark.parametrize("trials", [[], [make_trial(status="provider_error")]])
def test_nothing_counted_is_undefined(trials: list[Trial]) -> None:
    for metric in (metrics.ex, metrics.ves, metrics.ves_star, metrics.vces, metrics.cvq):
        assert metric(trials) is None
    summary = summarise(trials)
    assert summary.ex == summary.cvq == Estimate(None, None)
    assert (summary.counted, summary.stage_s, summary.overhead_s) == (0, {}, None)


def test_no_valid_trial_leaves_cvq_undefined() -> None:
    trials = [make_trial(error_class="A"), make_trial(status="timeout", replica=1)]
    assert metrics.cvq(trials) is None
    assert summarise(trials).cvq == Estimate(None, None)
    assert metrics.ex(trials) == metrics.ves_star(trials) == metrics.vces(trials) == 0.0


def test_an_unknown_cost_is_not_zero() -> None:
    valid, invalid = make_trial(usd=None), make_trial(usd=None, error_class="B")
    assert metrics.vces([valid, make_trial()]) is None
    assert metrics.vces([invalid, make_trial(usd=0.01)]) == pytest.approx(0.2 / 4 / 0.01 / 2)
    assert metrics.cvq([invalid, make_trial()]) is None
    assert metrics.vces([make_trial(usd=0.0)]) is None
    summary = summarise([valid, make_trial(replica=1)])
    assert summary.cost_usd == Estimate(None, None)
    assert summary.stage_usd["check"] is None


def test_what_failing_burned() -> None:
    trials = paper_like()
    # The third and the fourth, 0.03 and 0.04 dollars of 0.1, gave no valid answer.
    assert metrics.burned_usd(trials) == pytest.approx(0.07)
    assert metrics.burned_share(trials) == pytest.approx(0.7)
    summary = summarise([*trials, make_trial(status="provider_error", usd=9.0)])
    assert summary.burned_usd == pytest.approx(0.07)
    assert summary.burned_share == pytest.approx(0.7)
    # Where all attempts cost the same, it is the share of invalid ones.
    alike = [make_trial(error_class=each) for each in ("A", None, "C", "D", None)]
    assert metrics.burned_share(alike) == pytest.approx(1 - (metrics.ex(alike) or 0))
    assert metrics.burned_usd([make_trial()]) == metrics.burned_share([make_trial()]) == 0.0


def test_what_was_burned_is_unknown_with_a_cost() -> None:
    valid, invalid = make_trial(usd=None), make_trial(usd=None, error_class="B")
    assert metrics.burned_usd([invalid, make_trial()]) is None
    # The valid one's cost says nothing of what was burned, but of its share.
    assert metrics.burned_usd([valid, make_trial(error_class="B", usd=0.02)]) == 0.02
    assert metrics.burned_share([valid, make_trial(error_class="B", usd=0.02)]) is None
    assert metrics.burned_share([make_trial(usd=0.0)]) is None
    assert metrics.burned_usd([]) is metrics.burned_share([]) is None


def test_what_was_cut_or_timed_out_in_a_repeat() -> None:
    cut = make_trial(verdict=make_verdict("A", bird_set=None))
    assert metrics.ex_set([cut, make_trial()]) is None
    assert metrics.ex([cut, make_trial()]) == 0.5
    slow = make_trial(generated_s=None)
    assert metrics.ves([slow]) == 0.0
    assert metrics.ves_star([slow]) == pytest.approx(0.2 / 4)
    untimed = make_trial(timing=None)
    assert metrics.ves([untimed]) is metrics.ves_star([untimed]) is metrics.vces([untimed]) is None


def test_the_spread_of_one_question_is_over_its_trials() -> None:
    summary = summarise(paper_like())
    assert (summary.questions, summary.replicas) == (1, 4)
    # Values 1, 1, 0, 0; and 0.01 to 0.04 dollars: variance 1.25e-4.
    assert summary.ex == Estimate(0.5, 0.5)
    assert summary.cost_usd.sd == pytest.approx(1.25e-4**0.5)
    assert summary.cvq.sd == pytest.approx(1.25e-4**0.5 / 0.5)
    assert summarise([make_trial()]).ex == Estimate(1.0, None)


def test_the_spread_of_several_questions_is_over_the_replicas() -> None:
    trials = [
        make_trial(question_id="q1", replica=0),
        make_trial(question_id="q2", replica=0),
        make_trial(question_id="q1", replica=1),
        make_trial(question_id="q2", replica=1, error_class="A"),
    ]
    summary = summarise(trials)
    # The replicas' means are 1 and 0.5.
    assert summary.ex == Estimate(0.75, 0.25)
    assert summarise(trials[:2]).ex == Estimate(1.0, None)


def test_means_of_seconds_dollars_and_tokens() -> None:
    trials = [
        make_trial(tokens=(1000, 100), overhead_s=0.25, replayed=True),
        make_trial(tokens=(3000, 300), stage_s={"run": 1.0}, estimated=True, replica=1),
    ]
    summary = summarise(trials)
    assert summary.stage_s == {"list": 0.25, "schema": 0.5, "check": 1.0, "run": 0.75, "answer": 0}
    assert summary.overhead_s == 0.125
    assert summary.e2e_s.mean == pytest.approx((4.25 + 1.0) / 2)
    assert summary.stage_usd["check"] == pytest.approx(0.01 / 2)
    assert summarise([make_trial()]).overhead_usd == 0
    dearer = make_trial().cost.model_copy(update={"usd": 0.012})
    assert summarise([make_trial(cost=dearer)]).overhead_usd == pytest.approx(0.002)
    assert (summary.input_tokens, summary.output_tokens) == (2000, 200)
    assert summary.estimated
    assert summary.replayed
    unknown = summarise([*trials, make_trial(tokens=None)])
    assert unknown.input_tokens is None


@pytest.mark.parametrize(
    ("valid", "ves_star", "vces", "cvq"),
    [
        # Rows of the paper's Table 4 (BIRD; 50 replicas): 61, 606 and 968 of GPT-4o, 785 and 895
        # of DeepSeek Chat, 645 of Claude Opus 4.5.
        (50, 0.0111, 1.1146, 0.0099),
        (26, 0.0106, 1.0953, 0.0187),
        (50, 0.0034, 0.3918, 0.0087),
        (13, 0.0006, 0.3938, 0.0063),
        (14, 0.0059, 3.2359, 0.0065),
        (50, 0.0058, 0.1549, 0.0374),
    ],
)
def test_rows_of_the_paper_hang_together(
    valid: int, ves_star: float, vces: float, cvq: float
) -> None:
    p = valid / 50
    cost_usd = cvq * p
    gold_s = ves_star / p * 4.0  # T_e2e is 4 s, P is 1
    trials = [
        make_trial(replica=i, usd=cost_usd, gold_s=gold_s, error_class=None if i < valid else "A")
        for i in range(50)
    ]
    summary = summarise(trials)
    assert summary.ex.mean == pytest.approx(p)
    assert summary.ex.sd == pytest.approx((p * (1 - p)) ** 0.5)
    assert summary.cvq.mean == pytest.approx(cvq)
    assert summary.ves_star.mean == pytest.approx(ves_star)
    # The paper's costs vary between replicas, and its figures have four decimals.
    assert summary.vces.mean == pytest.approx(vces, rel=0.15)
