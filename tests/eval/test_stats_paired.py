"""Paired tests and comparisons against values of other libraries, by hand and by brute force."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bothends.eval.record import Trial
from bothends.eval.stats import Comparison, Contender, Fourfold, compare_pairs
from bothends.eval.stats.comparison import holm
from bothends.eval.stats.paired import mcnemar_p, sign_flip_p
from bothends.eval.stats.power import detectable, detectable_mean, mcnemar_power

from .trials import make_trial


def contender(name: str, valid: Sequence[Sequence[int]], **changes: object) -> Contender:
    """Return a configuration by the validity of each question's replicas."""
    return Contender(
        name,
        tuple(
            make_trial(
                model=f"openai:{name}",
                question_id=f"q{number}",
                replica=replica,
                error_class=None if each else "D",
                **changes,  # type: ignore[arg-type]
            )
            for number, replicas in enumerate(valid)
            for replica, each in enumerate(replicas)
        ),
    )


def of_cells(both: int, first: int, second: int, neither: int) -> tuple[Contender, Contender]:
    cells = [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither
    return contender("A", [[a] for a, _ in cells]), contender("B", [[b] for _, b in cells])


def test_mcnemar_and_holm_on_three_models_of_bird(bird: Path) -> None:
    """By BIRD's own verdicts on the predictions, against SciPy's binomial test and Holm by hand."""
    verdicts = {
        file.name.partition(".")[0]: json.loads(file.read_text())
        for file in sorted((bird / "predictions").glob("*.official_ex.json"))
    }
    assert len(verdicts) == 3
    found = compare_pairs(
        [contender(name, [[each] for each in right.values()]) for name, right in verdicts.items()],
        measures=(),
    )
    expected, tables = [], []
    for each in found:
        one, other = verdicts[each.first], verdicts[each.second]
        assert list(one) == list(other)
        only = [sum(a[q] and not b[q] for q in a) for a, b in ((one, other), (other, one))]
        tables.append((each.table.only_first, each.table.only_second))
        assert tables[-1] == tuple(only)
        assert sum((each.table.both, *only, each.table.neither)) == each.questions == 432
        expected.append(stats.binomtest(only[0], sum(only), 0.5).pvalue)
        assert each.difference.estimate == pytest.approx((only[0] - only[1]) / 432)
    assert len(set(tables)) == 3
    assert [each.p for each in found] == pytest.approx(expected, rel=1e-9)
    smallest, middle, largest = sorted(expected)
    by_hand = {smallest: 3 * smallest, middle: max(3 * smallest, 2 * middle)}
    by_hand[largest] = max(by_hand[middle], largest)
    assert [each.p_holm for each in found] == pytest.approx(
        [min(1.0, by_hand[p]) for p in expected], rel=1e-9
    )


@pytest.mark.parametrize(("first", "second"), [(7, 3), (1, 0), (0, 6), (5, 5), (40, 19)])
def test_flipped_signs_of_single_replicas_are_mcnemars(first: int, second: int) -> None:
    apart = [Fraction(1)] * first + [Fraction(-1)] * second + [Fraction(0)] * 4
    expected = stats.binomtest(first, first + second, 0.5).pvalue
    assert sign_flip_p(apart) == pytest.approx(expected)
    assert mcnemar_p(Fourfold(3, first, second, 1)) == pytest.approx(expected)


def test_flipped_signs_by_brute_force() -> None:
    apart = [Fraction(each) for each in ("2/3", "1/3", "-1/3", "1", "1/2", "0", "-1/5", "2/5")]
    seen = abs(sum(apart))
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, apart, strict=True)))
        for signs in product((1, -1), repeat=len(apart))
    ]
    assert sign_flip_p(apart) == pytest.approx(np.mean([each >= seen for each in sums]))
    assert sign_flip_p([Fraction(0)] * 5) == mcnemar_p(Fourfold(9, 0, 0, 3)) == 1.0


def test_flipped_signs_on_an_enormous_grid_are_drawn() -> None:
    random = np.random.default_rng(0)
    apart = [
        Fraction(int(random.integers(0, n + 1)), n) - Fraction(int(random.integers(0, n + 1)), n)
        for n in (97, 101, 103, 107, 109, 113) * 4
    ]
    drawn = stats.permutation_test(
        (np.array([float(each) for each in apart]),),
        np.sum, permutation_type="samples", n_resamples=20_000, rng=random,
    ).pvalue  # fmt: skip
    assert sign_flip_p(apart) == pytest.approx(drawn, abs=0.02)


def test_holm_by_hand() -> None:
    # In order: 0.01 * 4, 0.02 * 3, then 0.03 * 2, then 0.04, none below the one before.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, None, 0.6]) == [pytest.approx(1.0), None, pytest.approx(1.0)]
    assert holm([0.02]) == [0.02]


@pytest.mark.parametrize(
    ("questions", "discordance", "difference"),
    [(22, 0.45, 0.4), (100, 0.3, 0.17), (432, 0.28, 0.08)],
)
def test_power_against_simulation(questions: int, discordance: float, difference: float) -> None:
    random = np.random.default_rng(7)
    cells = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    drawn = random.multinomial(questions, cells, 4_000)
    p = {
        (b, c): stats.binomtest(int(b), int(b + c), 0.5).pvalue if b + c else 1.0
        for b, c in {(b, c) for b, c, _ in drawn}
    }
    simulated = np.mean([p[b, c] <= 0.05 for b, c, _ in drawn])
    assert mcnemar_power(questions, discordance, difference, 0.05) == pytest.approx(
        simulated, abs=0.025
    )


def test_power_where_there_is_no_difference_is_the_level_of_both_sides() -> None:
    expected = sum(
        float(stats.multinomial.pmf([b, c, 12 - b - c], 12, [0.4, 0.4, 0.2]))
        for b in range(13)
        for c in range(13 - b)
        if b + c and stats.binomtest(b, b + c, 0.5).pvalue <= 0.05
    )
    assert mcnemar_power(12, 0.8, 0.0, 0.05) == pytest.approx(expected)


def test_the_detectable_difference() -> None:
    # Connor's (1987) approximation, n d^2 = (1.96 sqrt(D) + 0.8416 sqrt(D - d^2))^2, which the
    # exact test needs a little more than.
    for questions, discordance in ((432, 0.28), (1500, 0.1)):
        found = detectable(questions, discordance)
        assert found is not None
        connor = (1.96 * discordance**0.5 + 0.8416 * (discordance - found**2) ** 0.5) / found
        assert connor**2 == pytest.approx(questions, rel=0.08)
        assert connor**2 < questions
        assert mcnemar_power(questions, discordance, found, 0.05) == pytest.approx(0.8, abs=0.002)
        assert found > (detectable(2 * questions, discordance) or 1)
        assert found < (detectable(questions, discordance, alpha=0.01) or 0)
    # 22 questions that never differed: six for one side are needed, so P(X >= 6) = 0.8.
    found = detectable(22, 0.0)
    assert found is not None
    assert stats.binom.sf(5, 22, found) == pytest.approx(0.8, abs=0.002)
    # Five questions give no p below 1/16.
    assert detectable(5, 0.4) is None
    assert detectable(0, 0.0) is None
    # (1.96 + 0.8416) / sqrt(n) standard deviations, where n is large.
    assert detectable_mean(2_000, 0.5) == pytest.approx(2.8016 / 2_000**0.5 * 0.5, rel=2e-3)
    assert detectable_mean(22, 0.0) is detectable_mean(1, 0.5) is None


def only(found: Sequence[Comparison]) -> Comparison:
    (each,) = found
    return each


def test_a_comparison_in_a_sentence() -> None:
    found = only(compare_pairs(of_cells(184, 102, 18, 128)))
    assert found.told_apart
    low, high = found.difference.low, found.difference.high
    assert low is not None
    assert high is not None
    # Wald's interval of a paired difference: 84/432 with 1.96 * sqrt(120 - 84^2 / 432) / 432.
    assert (low, high) == pytest.approx((0.1478, 0.2411), abs=0.004)
    assert found.sentence == (
        f"A beats B by 19.4 points, 95% interval {100 * low:.1f} to {100 * high:.1f}, p < 0.001."
    )
    turned = only(compare_pairs(of_cells(184, 18, 102, 128)))
    assert turned.sentence.startswith("B beats A by 19.4 points, 95% interval 14.")
    assert (len(found.first_only), len(found.second_only)) == (102, 18)
    assert found.first_only[0] == "q184"


def test_what_cannot_be_told_apart_says_what_could() -> None:
    found = only(compare_pairs(of_cells(15, 2, 3, 2)))
    assert not found.told_apart
    difference = found.difference
    assert difference.low is not None
    assert difference.high is not None
    assert found.detectable is not None
    assert found.sentence == (
        "B and A cannot be told apart with these 22 questions (difference 4.5 points, 95% interval "
        f"{-100 * difference.high:.1f} to {-100 * difference.low:.1f}, p = 1.00; the smallest "
        f"difference this sample would show is about {100 * found.detectable:.0f} points)."
    )
    beyond = replace(found, detectable=1.4)
    assert beyond.sentence.endswith("this sample would show no difference at all, however large).")
    few = only(compare_pairs(of_cells(1, 3, 0, 1)))
    assert few.sentence.endswith(
        "p = 0.25; this sample would show no difference at all, however large)."
    )


def test_the_family_is_named_and_corrected_for() -> None:
    a, b = of_cells(20, 30, 10, 40)
    pair = only(compare_pairs([a, b], measures=()))
    three = compare_pairs([a, b, contender("C", [[0]] * 100)], measures=())
    assert [(each.first, each.second) for each in three] == [("A", "B"), ("A", "C"), ("B", "C")]
    # A against B has the largest p of three, which stays as it is.
    assert three[0].p == pair.p == three[0].p_holm
    assert " after Holm over 3 comparisons" in three[0].sentence
    assert "Holm" not in pair.sentence
    assert (three[0].detectable or 0) > (pair.detectable or 1)


def test_a_test_that_the_interval_does_not_bear_out() -> None:
    """All of the advantage lies in one of nine databases."""
    a, b = of_cells(80, 10, 0, 0)
    databases = {f"q{number}": f"d{number // 10}" for number in range(90)}
    found = only(compare_pairs([a, b], databases))
    assert found.p == pytest.approx(2 / 2**10)
    assert (found.difference.units, found.difference.count) == ("databases", 9)
    assert found.difference.low == 0.0
    assert "cannot be told apart" in found.sentence
    assert "the interval over 9 databases includes 0" in found.sentence
    assert only(compare_pairs([a, b])).told_apart


def test_replicas_count_by_the_question() -> None:
    a = contender("A", [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]] * 5)
    b = contender("B", [[1, 1, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]] * 5)
    found = only(compare_pairs([a, b]))
    assert found.test == "sign flips"
    # Ten questions differ by 1/3, all for A.
    assert found.p == pytest.approx(2 / 2**10)
    assert found.table == Fourfold(both=5, only_first=5, only_second=0, neither=10)
    assert found.difference.estimate == pytest.approx(1 / 6)
    assert found.values["ex"] == (0.5, pytest.approx(1 / 3))


def test_only_questions_that_both_answered_are_compared() -> None:
    a = contender("A", [[1]] * 8)
    b = contender("B", [[0]] * 6)
    outage = make_trial(model="openai:B", question_id="q6", status="provider_error")
    found = only(compare_pairs([a, Contender("B", (*b.trials, outage))]))
    assert found.questions == 6
    assert found.table == Fourfold(0, 6, 0, 0)
    # Six of six: the interval does not end at 1 on both sides.
    assert found.difference.high == 1.0
    assert found.difference.low == pytest.approx(0.05 ** (1 / 6))
    nothing = only(compare_pairs([a, Contender("B", (outage,))]))
    assert nothing.p is nothing.p_holm is nothing.detectable is None
    assert nothing.sentence == "A and B cannot be compared: no question has a scored trial of both."


def test_differences_of_dollars_are_paired() -> None:
    """B costs a cent more on every question, which vary a hundredfold."""

    def priced(name: str, more: float) -> Contender:
        trials: list[Trial] = [
            make_trial(model=f"openai:{name}", question_id=f"q{i}", usd=0.01 * 1.2**i + more)
            for i in range(25)
        ]
        return Contender(name, tuple(trials))

    found = only(compare_pairs([priced("A", 0.0), priced("B", 0.01)], measures=("cost_usd", "cvq")))
    for name in ("cost_usd", "cvq"):
        difference = found.differences[name]
        assert difference.estimate == pytest.approx(-0.01)
        assert difference.low == pytest.approx(-0.01)
        assert difference.high == pytest.approx(-0.01)
    # Without any valid answer, CVQ is not defined, and so is no difference.
    dear = [make_trial(question_id=f"q{i}", error_class="A") for i in range(25)]
    undefined = only(compare_pairs([priced("A", 0.0), Contender("B", tuple(dear))]))
    assert undefined.differences["cvq"].estimate is None
    assert undefined.differences["cvq"].low is None
    assert math.isfinite(undefined.differences["cost_usd"].low or math.inf)
