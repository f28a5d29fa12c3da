"""Exact match, Soft-F1 and R-VES against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from bothends.eval.metrics import em, r_ves, soft_f1
from bothends.eval.official import exact_match, r_ves_reward
from bothends.eval.official import soft_f1 as result_soft_f1
from bothends.eval.record import Timing
from bothends.eval.summary import summarise

from .trials import make_trial, make_verdict

Rows = list[tuple[object, ...]]
GOLD = "SELECT T1.name, COUNT(*) FROM pupil AS T1 INNER JOIN town AS T2 ON T1.t = T2.id " + (
    "WHERE T2.name <> 'Oslo' GROUP BY T1.name ORDER BY 2 ASC LIMIT 3"
)


@pytest.mark.parametrize(
    ("predicted", "same"),
    [
        (GOLD, True),
        (GOLD.lower().replace("'oslo'", "'Oslo'") + ";", True),
        (GOLD.replace(" AS ", " ").replace("INNER JOIN", "JOIN").replace(" ASC", ""), True),
        (GOLD.replace("<>", "!=").replace("T1.name", '"t1"."NAME"'), True),
        (GOLD.replace(" FROM", "\n  FROM /* the pupils */"), True),
        (GOLD.replace("'Oslo'", "'oslo'"), False),
        (GOLD.replace("LIMIT 3", "LIMIT 4"), False),
        (GOLD.replace("ASC", "DESC"), False),
        (GOLD.replace("T1", "p"), False),
        (GOLD.replace("INNER JOIN", "LEFT JOIN"), False),
        ("SELEC T1.name", False),
        ("", False),
    ],
)
def test_exact_match_is_told_from_what_merely_looks_alike(predicted: str, same: bool) -> None:
    assert exact_match(GOLD, predicted, "sqlite") is same


def test_names_that_are_read_as_one_are_one() -> None:
    assert exact_match("SELECT IFNULL(a, 0) FROM t", "SELECT COALESCE(a, 0) FROM t", "sqlite")
    assert exact_match("SELECT a FROM t LEFT OUTER JOIN u", "SELECT a FROM t LEFT JOIN u", "sqlite")


@pytest.mark.parametrize(
    ("gold", "predicted", "f1"),
    [
        ([], [], 1.0),
        ([(1, "a")], [], 0.0),
        ([], [(1,)], 0.0),
        ([(1, "a"), (2, "b")], [(1, "a"), (2, "b")], 1.0),
        # Order within a row does not count; 1 is 1.0.
        ([(1, "a")], [("a", 1.0)], 1.0),
        # Row 1: both match. Row 2: 2 matches, x is the prediction's alone, b gold's alone:
        # matched 1.5, superfluous 0.5, missing 0.5; precision and recall are both 3/4.
        ([(1, "a"), (2, "b")], [(1, "a"), (2, "x")], 0.75),
        # A row too many counts 1: precision 1/2, recall 1.
        ([(1,)], [(1,), (2,)], 2 / 3),
        # A column too many: matched 1, superfluous 1; likewise.
        ([(1,)], [(1, 9)], 2 / 3),
        # A column too few: matched 1/2, missing 1/2.
        ([(1, 2)], [(1,)], 2 / 3),
        # Duplicates go first; then rows are paired by position, and other order scores nothing.
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], 1.0),
        ([(1,), (2,)], [(2,), (1,)], 0.0),
        ([(None,)], [(None,)], 1.0),
    ],
)
def test_soft_f1(
    gold: list[tuple[object, ...]], predicted: list[tuple[object, ...]], f1: float
) -> None:
    assert result_soft_f1(gold, predicted) == pytest.approx(f1)


def test_soft_f1_of_arrays_and_structs() -> None:
    gold = [([1, 2], "a"), ({"x": 1}, "b")]
    assert result_soft_f1(gold, [*gold, gold[1]]) == 1.0
    # Of four cells one is another: three matched, one superfluous, one missing.
    assert result_soft_f1(gold, [gold[0], ({"x": 2}, "b")]) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("ratio", "reward"),
    [(2.0, 1.25), (1.99, 1.0), (1.0, 1.0), (0.99, 0.75), (0.5, 0.75), (0.49, 0.5), (0.25, 0.5),
     (0.24, 0.25), (0.0, 0.25)],
)  # fmt: skip
def test_rewards_are_birds(ratio: float, reward: float) -> None:
    assert r_ves_reward((ratio,), (1.0,)) == reward


def test_few_repeats_take_the_median_and_many_drop_what_is_far_off() -> None:
    # The mean would be 10.8 and earn 1.25.
    assert r_ves_reward((1, 1, 1, 1, 50), (1,) * 5) == 1.0
    # 99 ratios of 0.9 and one of 1000: mean 10.891, deviation 99.4; the one lies 9.9 away.
    assert r_ves_reward((0.9,) * 99 + (1000,), (1,) * 100) == 0.75
    # Two that are far off widen the deviation, but 100 of 102 stay within it.
    assert r_ves_reward((0.9,) * 100 + (1000, 1000), (1,) * 102) == 0.75
    assert r_ves_reward((1.0,) * 50 + (3.0,) * 50, (1,) * 100) == 1.25


def timing(gold_s: float, generated_s: float | None) -> Timing:
    return Timing(
        gold_s=(gold_s,),
        generated_s=(generated_s or 0.1,),
        gold_median_s=gold_s,
        generated_median_s=generated_s,
    )


def test_the_metrics_are_means_over_what_counts() -> None:
    trials = [
        make_trial(exact_match=True, soft_f1=1.0, timing=timing(4, 1)),
        make_trial(exact_match=False, soft_f1=0.5, timing=timing(1, 3)),
        make_trial(verdict=make_verdict("D"), exact_match=False, soft_f1=0.2),
        make_trial(status="failed"),
        make_trial(status="gold_failed"),
    ]
    assert em(trials) == 1 / 4
    assert soft_f1(trials) == pytest.approx(1.7 / 4)
    assert r_ves(trials) == pytest.approx((math.sqrt(1.25) + math.sqrt(0.5)) / 4)
    summary = summarise(trials)
    assert (summary.em.mean, summary.soft_f1.mean) == (em(trials), soft_f1(trials))
    assert summary.r_ves.mean == r_ves(trials)


def test_what_was_not_looked_at_is_unknown_and_not_0() -> None:
    trials = [make_trial(status="failed"), make_trial(timing=None)]
    assert (em(trials), soft_f1(trials), r_ves(trials)) == (None, None, None)
    assert r_ves([make_trial(timing=timing(1, None))]) == 0.0
