"""What a budget admits, worked out by hand."""

from __future__ import annotations

import threading
import time

import pytest

from bothends.agent.record import Usage
from bothends.eval.budget import Budget, Spent
from bothends.eval.record import Trial

from .trials import make_trial


def trial(usd: float | None, model: str = "a", tokens: int = 0) -> Trial:
    made = make_trial(model=model)
    cost = made.cost.model_copy(update={"usd": usd})
    usage = Usage(input_tokens=tokens, output_tokens=0)
    return made.model_copy(update={"cost": cost, "usage": usage})


def run(budget: Budget, *costs: float, model: str = "a") -> int:
    """Run trials of these costs while they are admitted; return how many were."""
    for count, usd in enumerate(costs):
        expected = budget.admit(model)
        if expected is None:
            return count
        budget.settle(expected, trial(usd, model))
    return len(costs)


def test_stops_before_the_trial_that_would_pass_it() -> None:
    # Each is expected to cost what the others did: 0.25 by the mean, and 4 x 0.25 fit into 1.
    assert run(Budget(1.0, None), *[0.25] * 10) == 4
    assert run(Budget(0.99, None), *[0.25] * 10) == 3
    # After 0.1 and 0.5 the mean is 0.3: 0.6 + 0.3 fit into 0.9, and 0.9 + 0.3 do not.
    assert run(Budget(0.9, None), 0.1, 0.5, 0.3, 0.3) == 3


def test_what_was_recorded_before_counts() -> None:
    assert run(Budget(1.0, None, [trial(0.25), trial(0.25)]), *[0.25] * 10) == 2
    assert run(Budget(0.4, None, [trial(0.25), trial(0.25)]), 0.25) == 0


def test_tokens_are_bounded_likewise() -> None:
    budget = Budget(None, 100)
    admitted = 0
    while (expected := budget.admit("a")) is not None:
        budget.settle(expected, trial(None, tokens=30))
        admitted += 1
    assert admitted == 3
    assert budget.exhausted
    assert budget.describe() == "90 of 100 tokens"


def test_each_model_is_expected_to_cost_its_own_mean() -> None:
    budget = Budget(1.0, None, [trial(0.6, "dear"), trial(0.01, "cheap")])
    assert budget.admit("dear") is None
    # Once one is refused so are all: the rest would no longer be a fair comparison.
    assert budget.admit("cheap") is None


def test_no_bound_admits_everything_at_once() -> None:
    budget = Budget(None, None)
    assert all(budget.admit("a") is not None for _ in range(100))
    assert not budget.exhausted


def test_a_cost_that_is_not_known_ends_a_run_with_a_budget() -> None:
    budget = Budget(1.0, None)
    expected = budget.admit("a")
    assert expected is not None
    budget.settle(expected, trial(None))
    assert budget.admit("a") is None
    assert budget.describe() == "$0.0000 and 1 trial of unknown cost of $1"


def test_a_model_nobody_knows_starts_alone() -> None:
    budget = Budget(1.0, None)
    first = budget.admit("a")
    assert first is not None
    admitted: list[Spent | None] = []
    waiting = threading.Thread(target=lambda: admitted.append(budget.admit("a")))
    waiting.start()
    time.sleep(0.05)
    assert admitted == []
    budget.settle(first, trial(0.4))
    waiting.join(10)
    assert admitted == [Spent(0.4, 0)]


def test_what_is_under_way_counts_as_expected_and_frees_what_it_did_not_take() -> None:
    budget = Budget(1.0, None, [trial(0.3)])
    first, second = budget.admit("a"), budget.admit("a")
    assert first is not None
    assert second is not None
    admitted: list[Spent | None] = []
    # 0.3 spent, 0.6 under way: another 0.3 would pass the budget, unless these take less.
    waiting = threading.Thread(target=lambda: admitted.append(budget.admit("a")))
    waiting.start()
    time.sleep(0.05)
    assert admitted == []
    budget.settle(first, trial(0.1))
    waiting.join(10)
    # 0.4 spent, 0.3 under way, 0.2 expected.
    assert admitted == [Spent(pytest.approx(0.2), 0)]


def test_forecast_is_the_mean_of_each_model() -> None:
    done = [trial(0.1, "a", 10), trial(0.3, "a", 30), trial(1.0, "b", 5)]
    forecast = Budget(None, None, done).forecast(["a"] * 10 + ["b"] * 2)
    assert forecast.trials == 12
    assert forecast.spent == Spent(pytest.approx(1.4), 45)
    assert forecast.ahead == Spent(pytest.approx(10 * 0.2 + 2 * 1.0), 10 * 20 + 2 * 5)
    assert Budget(None, None, done).forecast(["a", "c"]).ahead is None
