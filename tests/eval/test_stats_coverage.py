"""How often intervals hold what they say: 95% nominal, against simulated truth.

Data sets are columns, and all of one test share the draws of the bootstrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from bothends.eval.stats.bootstrap import expanded_interval, resampled_sums
from bothends.eval.stats.rates import wilson

Numbers = NDArray[Any]
SETS, RESAMPLES = 1_000, 1_000


def beta(random: np.random.Generator, mean: float, alike: float, size: tuple[int, int]) -> Numbers:
    """Draw chances with a mean whose trials correlate by so much."""
    more = 1 / alike - 1
    return random.beta(mean * more, (1 - mean) * more, size)


def bootstrap_coverage(above: Numbers, below: Numbers, truth: float) -> float:
    sums = resampled_sums(np.hstack([above, below]), RESAMPLES)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sums[:, : above.shape[1]] / sums[:, above.shape[1] :]
    ends = [expanded_interval(ratios[:, i], len(above), 0.95) for i in range(above.shape[1])]
    return float(np.mean([low <= truth + 1e-12 and truth - 1e-12 <= high for low, high in ends]))


def wilson_coverage(valid: Numbers, trials: Numbers, truth: float) -> float:
    ends = [wilson(valid[:, i], trials[:, i], 0.95) for i in range(valid.shape[1])]
    return float(np.mean([low <= truth <= high for low, high in ends]))


def exact_coverage(questions: int, p: float) -> float:
    """Add up the binomial chances of the counts whose interval holds p: no simulation."""
    chance = 0.0
    for valid in range(questions + 1):
        each = np.array([1.0] * valid + [0.0] * (questions - valid))
        low, high = wilson(each, np.ones(questions), 0.95)
        chance += float(stats.binom.pmf(valid, questions, p)) * (low <= p <= high)
    return chance


@pytest.mark.parametrize(
    ("questions", "p", "low", "high"),
    [
        # A count has few values, so that with 22 questions coverage swings with p.
        (22, 0.5, 0.93, 0.97),
        (22, 0.8, 0.93, 0.975),
        (100, 0.5, 0.93, 0.97),
        (100, 0.8, 0.93, 0.97),
        (432, 0.5, 0.93, 0.97),
        (432, 0.8, 0.93, 0.97),
    ],
)
def test_ex(questions: int, p: float, low: float, high: float) -> None:
    assert low <= exact_coverage(questions, p) <= high


def test_ex_of_22_questions_whatever_it_is() -> None:
    found = [exact_coverage(22, p) for p in np.linspace(0.3, 0.9, 61)]
    assert 0.94 <= np.mean(found) <= 0.96
    assert min(found) >= 0.92


@pytest.mark.parametrize(("replicas", "p", "alike"), [(3, 0.5, 0.3), (3, 0.8, 0.9), (10, 0.8, 0.5)])
def test_ex_with_replicas(replicas: int, p: float, alike: float) -> None:
    random = np.random.default_rng(1)
    valid = random.binomial(replicas, beta(random, p, alike, (22, SETS)))
    assert 0.93 <= wilson_coverage(valid, np.full_like(valid, replicas), p) <= 0.97
    # To take replicas for questions would promise too much.
    if alike >= 0.5:
        ends = [wilson(np.repeat([1, 0], [k, 22 * replicas - k]), np.ones(22 * replicas), 0.95)
                for k in range(22 * replicas + 1)]  # fmt: skip
        naive = np.mean([ends[k][0] <= p <= ends[k][1] for k in valid.sum(axis=0)])
        assert naive < 0.85


@pytest.mark.parametrize(("databases", "p"), [(8, 0.5), (11, 0.5), (11, 0.8)])
def test_ex_over_databases(databases: int, p: float) -> None:
    random = np.random.default_rng(2)
    trials = random.integers(20, 61, (databases, SETS))
    valid = random.binomial(trials, beta(random, p, 0.05, (databases, SETS)))
    assert 0.93 <= wilson_coverage(valid, trials, p) <= 0.97


@pytest.mark.parametrize("questions", [22, 100, 432])
@pytest.mark.parametrize("cells", [(0.2, 0.1), (0.1, 0.1), (0.3, 0.05)])
def test_differences(questions: int, cells: tuple[float, float]) -> None:
    """The chances are those that only the first is right, and only the second."""
    random = np.random.default_rng(3)
    drawn = random.choice([1.0, -1.0, 0.0], (questions, SETS), p=[*cells, 1 - sum(cells)])
    ones = np.ones_like(drawn)
    assert 0.93 <= bootstrap_coverage(drawn, ones, cells[0] - cells[1]) <= 0.97


@pytest.mark.parametrize(
    ("databases", "low", "high"), [(3, 0.7, 0.85), (8, 0.93, 0.97), (11, 0.93, 0.97)]
)
def test_differences_over_databases(databases: int, low: float, high: float) -> None:
    """With three it is far from what it says, which is why `FEW_DATABASES` is 8."""
    random = np.random.default_rng(4)
    trials = random.integers(20, 61, (databases, SETS))
    middle = beta(random, 0.6, 0.05, (databases, SETS))
    apart = random.normal(0.1, 0.08, (databases, SETS))
    first, second = (
        random.binomial(trials, np.clip(middle + half * apart, 0, 1)) for half in (0.5, -0.5)
    )
    found = bootstrap_coverage((first - second).astype(float), trials.astype(float), 0.1)
    assert low <= found <= high


@pytest.mark.parametrize("questions", [22, 100, 432])
@pytest.mark.parametrize("p", [0.5, 0.8])
def test_cvq(questions: int, p: float) -> None:
    """Costs vary from question to question, and hard questions are the dearer ones."""
    random = np.random.default_rng(5)
    chances = beta(random, p, 0.3, (questions, SETS))
    valid = (random.random((questions, SETS)) < chances).astype(float)
    usd = 0.01 * np.exp(random.normal(0, 0.5, (questions, SETS))) * (1.5 - 0.5 * chances)
    truth = 0.01 * np.exp(0.5**2 / 2) * (1.5 - 0.5 * p) / p
    assert 0.93 <= bootstrap_coverage(usd, valid, truth) <= 0.97


@pytest.mark.parametrize(("questions", "least"), [(22, 0.88), (100, 0.92), (432, 0.93)])
def test_ves_star_falls_short_with_few_questions(questions: int, least: float) -> None:
    """Ratios of seconds are skewed: here with a standard deviation of 0.8 of their logarithm."""
    random = np.random.default_rng(6)
    valid = random.random((questions, SETS)) < 0.6
    values = valid * np.exp(random.normal(-3, 0.8, (questions, SETS)))
    found = bootstrap_coverage(values, np.ones_like(values), 0.6 * np.exp(-3 + 0.8**2 / 2))
    assert least <= found <= 0.97
