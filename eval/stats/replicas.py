"""What repetitions tell: pass@k, pass^k, and how consistent a model is with itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

from bothends.eval.metrics import VALUES
from bothends.eval.record import Trial
from bothends.eval.stats.units import questions_of

__all__ = ["Repetition", "over_replicas", "pass_at_k", "pass_hat_k"]


@dataclass(frozen=True, slots=True)
class Repetition:
    """What the repetitions of one configuration add up to.

    Attributes:
        pass_at: pass@k by k: the chance that at least one of k attempts is valid.
        pass_hat: pass^k by k: the chance that all of k attempts are.
        consistency: The share of questions whose replicas are all valid or all invalid; None where
            no question has two.
        questions: How many questions have at least k counted replicas, by k; those alone are in
            `pass_at[k]` and `pass_hat[k]`.
    """

    pass_at: dict[int, float]
    pass_hat: dict[int, float]
    consistency: float | None
    questions: dict[int, int]


def pass_at_k(attempts: int, valid: int, k: int) -> float:
    """Return the unbiased estimate of the chance that at least one of k attempts is valid.

    1 - C(n - c, k) / C(n, k) for c valid ones of n: Chen et al. (2021), "Evaluating large language
    models trained on code", equation 1.

    Raises:
        ValueError: If k is not between 1 and n, or c not between 0 and n.
    """
    _check(attempts, valid, k)
    return 1 - comb(attempts - valid, k) / comb(attempts, k)


def pass_hat_k(attempts: int, valid: int, k: int) -> float:
    """Return the unbiased estimate of the chance that all of k attempts are valid.

    C(c, k) / C(n, k) for c valid ones of n: Yao et al. (2024), "tau-bench: A benchmark for
    tool-agent-user interaction in real-world domains".

    Raises:
        ValueError: If k is not between 1 and n, or c not between 0 and n.
    """
    _check(attempts, valid, k)
    return comb(valid, k) / comb(attempts, k)


def over_replicas(trials: Sequence[Trial]) -> Repetition:
    """Return pass@k, pass^k and the consistency of one configuration's trials, by validity.

    k goes up to the most counted replicas that a question has.
    """
    counts = [
        (len(each), sum(VALUES["ex"](trial) == 1 for trial in each))
        for each in questions_of(trials).values()
    ]
    most = max((n for n, _ in counts), default=0)
    enough = {k: [(n, c) for n, c in counts if n >= k] for k in range(1, most + 1)}
    repeated = [c in (0, n) for n, c in counts if n > 1]
    return Repetition(
        pass_at={k: fmean(pass_at_k(n, c, k) for n, c in found) for k, found in enough.items()},
        pass_hat={k: fmean(pass_hat_k(n, c, k) for n, c in found) for k, found in enough.items()},
        consistency=fmean(repeated) if repeated else None,
        questions={k: len(found) for k, found in enough.items()},
    )


def _check(attempts: int, valid: int, k: int) -> None:
    if not (1 <= k <= attempts and 0 <= valid <= attempts):
        raise ValueError(f"k is {k} and {valid} are valid, of {attempts} attempts")
