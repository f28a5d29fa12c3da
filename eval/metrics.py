"""The numbers: what the trials of one configuration add up to.

Every metric drops the trials that measured something else first (see `counted`), and is None
where it is undefined or where something that it needs is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Final

from bothends.eval.official import trial_em, trial_r_ves, trial_soft_f1
from bothends.eval.record import Status, Trial

__all__ = [
    "EXCLUDED",
    "VALUES",
    "Value",
    "burned_share",
    "burned_usd",
    "counted",
    "cvq",
    "em",
    "ex",
    "ex_exact",
    "ex_ordered",
    "ex_set",
    "known_values",
    "mean_value",
    "r_ves",
    "soft_f1",
    "vces",
    "ves",
    "ves_star",
]

EXCLUDED: Final[tuple[Status, ...]] = ("provider_error", "gold_failed", "unjudged")
"""How trials end that say nothing about the model."""

Value = Callable[[Trial], float | None]
"""What a trial contributes to a figure; None where that is unknown."""


def counted(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that say something about the model.

    A provider that could not be reached, gold that did not execute, or a result of which it
    cannot be told whether it is right says nothing of it.
    """
    return tuple(trial for trial in trials if trial.status not in EXCLUDED)


def ex(trials: Sequence[Trial]) -> float | None:
    """Execution accuracy: EX = mean(valid_i), where gold is contained in the result (eq. 2)."""
    return mean_value(trials, _valid)


def ex_exact(trials: Sequence[Trial]) -> float | None:
    """EX by equal multisets of rows: mean(exact_i) (equation 7)."""
    return mean_value(trials, _exact)


def ex_ordered(trials: Sequence[Trial]) -> float | None:
    """EX by equal rows in gold's order, where gold has one: mean(ordered_i)."""
    return mean_value(trials, _ordered)


def ex_set(trials: Sequence[Trial]) -> float | None:
    """EX by BIRD's own rule, equal sets of row tuples; None where one cannot be told."""
    return mean_value(trials, _bird_set)


def em(trials: Sequence[Trial]) -> float | None:
    """Exact match: how many queries are gold's own, after sqlglot's reading of both."""
    return mean_value(trials, trial_em)


def soft_f1(trials: Sequence[Trial]) -> float | None:
    """BIRD's Soft-F1: the mean over the questions, 0 where a query did not execute."""
    return mean_value(trials, trial_soft_f1)


def r_ves(trials: Sequence[Trial]) -> float | None:
    """BIRD's R-VES: the mean of the square roots of the rewards, at most 1.118."""
    return mean_value(trials, trial_r_ves)


def ves(trials: Sequence[Trial]) -> float | None:
    """Valid efficiency score: VES = mean(exact_i * T_gold_i / T_gen_i), medians of the timings.

    A query that failed in a timed repeat counts as infinitely slow: 0.
    """
    return mean_value(trials, _ves)


def ves_star(trials: Sequence[Trial]) -> float | None:
    """VES* = mean(valid_i * P_i * T_gold_i / T_e2e_i), end to end (equation 1)."""
    return mean_value(trials, _ves_star)


def vces(trials: Sequence[Trial]) -> float | None:
    """Valid cost-efficiency score, per dollar (equation 3).

    VCES = mean(valid_i * P_i * (T_gold_i / T_e2e_i) / C_e2e_i). None where a valid trial's cost
    is unknown or 0; an invalid trial adds 0 whatever it cost.
    """
    return mean_value(trials, _vces)


def cvq(trials: Sequence[Trial]) -> float | None:
    """Expected cost per valid query, in dollars: CVQ = mean(C_e2e_i) / p with p = mean(valid_i).

    None at p = 0, and where a trial's cost is unknown.
    """
    cost, p = mean_value(trials, _cost), ex(trials)
    return None if cost is None or not p else cost / p


def burned_usd(trials: Sequence[Trial]) -> float | None:
    """Return the dollars that bought nothing: the sum of (1 - valid_i) C_e2e_i.

    None where an invalid trial's cost is unknown.
    """
    invalid = [trial for trial in counted(trials) if not _valid(trial)]
    return 0.0 if counted(trials) and not invalid else _total(invalid)


def burned_share(trials: Sequence[Trial]) -> float | None:
    """Return the share of all dollars that bought nothing.

    It is sum((1 - valid_i) C_e2e_i) / sum(C_e2e_i), which is 1 - p where every attempt costs the
    same, and more where the invalid ones are the dearer. None where a cost is unknown, or nothing
    was spent.
    """
    burned, spent = burned_usd(trials), _total(counted(trials))
    return None if burned is None or not spent else burned / spent


def known_values(trials: Sequence[Trial], value: Value) -> list[float] | None:
    """Return what each trial contributes; None where one's is unknown, or there is none."""
    known = []
    for trial in trials:
        each = value(trial)
        if each is None:
            return None
        known.append(each)
    return known or None


def mean_value(trials: Sequence[Trial], value: Value) -> float | None:
    """Return the mean over the counted trials; None where one's value is unknown."""
    values = known_values(counted(trials), value)
    return None if values is None else fmean(values)


def _total(trials: Sequence[Trial]) -> float | None:
    costs = known_values(trials, _cost)
    return None if costs is None else sum(costs)


def _valid(trial: Trial) -> float:
    return float(trial.verdict is not None and trial.verdict.focus)


def _exact(trial: Trial) -> float:
    return float(trial.verdict is not None and trial.verdict.exact)


def _ordered(trial: Trial) -> float:
    return float(trial.verdict is not None and trial.verdict.ordered)


def _bird_set(trial: Trial) -> float | None:
    if trial.verdict is None:
        return 0.0
    return None if trial.verdict.bird_set is None else float(trial.verdict.bird_set)


def _ves(trial: Trial) -> float | None:
    if not _exact(trial):
        return 0.0
    if trial.timing is None:
        return None
    generated_s = trial.timing.generated_median_s
    return 0.0 if generated_s is None else trial.timing.gold_median_s / generated_s


def _ves_star(trial: Trial) -> float | None:
    if trial.verdict is None or not trial.verdict.focus:
        return 0.0
    if trial.timing is None or trial.e2e_s is None:
        return None
    return trial.verdict.precision * trial.timing.gold_median_s / trial.e2e_s


def _vces(trial: Trial) -> float | None:
    efficiency = _ves_star(trial)
    if not efficiency:
        return efficiency
    return efficiency / trial.cost.usd if trial.cost.usd else None


def _cost(trial: Trial) -> float | None:
    return trial.cost.usd


def _e2e_s(trial: Trial) -> float | None:
    return trial.e2e_s


VALUES: Final[Mapping[str, Value]] = {
    "ex": _valid,
    "ex_exact": _exact,
    "ex_ordered": _ordered,
    "ex_set": _bird_set,
    "em": trial_em,
    "soft_f1": trial_soft_f1,
    "r_ves": trial_r_ves,
    "ves": _ves,
    "ves_star": _ves_star,
    "vces": _vces,
    "cost_usd": _cost,
    "e2e_s": _e2e_s,
}
"""What one counted trial contributes to the mean that a metric is, by the metric's name."""
