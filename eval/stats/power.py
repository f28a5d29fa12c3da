"""The smallest difference that a sample would show."""

from __future__ import annotations

from typing import Final

__all__ = ["POWER", "detectable", "detectable_mean", "mcnemar_power"]

POWER: Final = 0.8
_STEPS: Final = 40


def mcnemar_power(questions: int, discordance: float, difference: float, alpha: float) -> float:
    """Return the chance that the exact McNemar test shows a difference.

    The number of questions on which two configurations differ is binomial, and so is, of these, the
    number that the better one wins; the test rejects where its two-sided p is at most alpha. This
    is the exact unconditional power: Duffy (1984), "Asymptotic and exact power for the McNemar test
    and its analogue with R controls per case", Biometrics 40(4). Miettinen (1968) and Connor (1987)
    approximate it by the normal distribution, which promises too much for few questions.

    Args:
        questions: How many questions there are.
        discordance: The share on which the two differ, more than 0.
        difference: The true difference of their shares, at most the discordance.
        alpha: The two-sided level.
    """
    import numpy as np
    from scipy import stats

    differing = np.arange(1, questions + 1)
    # The largest number of the fewer side's questions at which the two-sided p is at most alpha.
    critical = stats.binom.ppf(alpha / 2, differing, 0.5)
    critical -= stats.binom.cdf(critical, differing, 0.5) > alpha / 2
    better = (1 + difference / discordance) / 2
    rejected = stats.binom.cdf(critical, differing, 1 - better)
    rejected += stats.binom.cdf(critical, differing, better)
    return float(stats.binom.pmf(differing, questions, discordance) @ rejected)


def detectable(
    questions: int, discordance: float, alpha: float = 0.05, power: float = POWER
) -> float | None:
    """Return the smallest difference of two shares that the exact McNemar test would show.

    Where the difference is larger than the discordance that was observed, the discordance is taken
    to be as large, with all of it on one side.

    Args:
        questions: How many questions both were asked.
        discordance: The share on which they differed.
        alpha: The two-sided level.
        power: The chance of showing it.

    Returns:
        A fraction, or None where not even a difference on every question would be shown.
    """

    def shown(difference: float) -> bool:
        spread = max(discordance, difference)
        return mcnemar_power(questions, spread, difference, alpha) >= power

    if questions < 1 or not shown(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
        if high - low < 1e-4:
            break
    return high


def detectable_mean(
    questions: int, deviation: float, alpha: float = 0.05, power: float = POWER
) -> float | None:
    """Return the smallest mean of paired differences that a t test would show.

    It stands in for the test that flips signs, of which it is the approximation for many questions.

    Args:
        questions: How many questions both were asked.
        deviation: The standard deviation of their differences.
        alpha: The two-sided level.
        power: The chance of showing it.

    Returns:
        It in the unit of the deviation, or None where there is no spread to go by.
    """
    if questions < 2 or not deviation:
        return None
    from statsmodels.stats.power import TTestPower

    effect = TTestPower().solve_power(nobs=questions, alpha=alpha, power=power)
    return float(effect) * deviation
