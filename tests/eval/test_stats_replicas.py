"""pass@k, pass^k and consistency against every choice of k replicas."""

from __future__ import annotations

from itertools import combinations

import pytest

from bothends.eval.stats import over_replicas
from bothends.eval.stats.replicas import pass_at_k, pass_hat_k

from .trials import make_trial


@pytest.mark.parametrize("attempts", [1, 2, 5, 7])
def test_against_all_choices(attempts: int) -> None:
    for valid in range(attempts + 1):
        drawn = [True] * valid + [False] * (attempts - valid)
        for k in range(1, attempts + 1):
            chosen = list(combinations(drawn, k))
            some = sum(map(any, chosen)) / len(chosen)
            every = sum(map(all, chosen)) / len(chosen)
            assert pass_at_k(attempts, valid, k) == pytest.approx(some)
            assert pass_hat_k(attempts, valid, k) == pytest.approx(every)


@pytest.mark.parametrize(("attempts", "valid", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 2), (3, -1, 2)])
def test_what_makes_no_sense_is_refused(attempts: int, valid: int, k: int) -> None:
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=f"k is {k} and {valid} are valid, of {attempts}"):
            estimate(attempts, valid, k)


def test_a_model_by_hand() -> None:
    answers = {"q1": "111", "q2": "110", "q3": "000", "q4": "01"}
    trials = [
        make_trial(question_id=question, replica=n, error_class=None if each == "1" else "A")
        for question, replicas in answers.items()
        for n, each in enumerate(replicas)
    ]
    trials.append(make_trial(question_id="q4", replica=2, status="provider_error"))
    found = over_replicas(trials)
    assert found.questions == {1: 4, 2: 4, 3: 3}
    # Of two: q2 has 3 pairs, all with a valid one, one of them valid throughout; q4 has one pair.
    for once in (found.pass_at[1], found.pass_hat[1]):
        assert once == pytest.approx((1 + 2 / 3 + 0 + 1 / 2) / 4)
    assert found.pass_at[2] == pytest.approx((1 + 1 + 0 + 1) / 4)
    assert found.pass_hat[2] == pytest.approx((1 + 1 / 3 + 0 + 0) / 4)
    assert (found.pass_at[3], found.pass_hat[3]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    # q1 and q3 agree with themselves.
    assert found.consistency == 0.5
    assert over_replicas(trials[:1]).consistency is None
    assert over_replicas([]).pass_at == {}
