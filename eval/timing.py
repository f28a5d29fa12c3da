"""Timing gold and generated queries under one regimen."""

from __future__ import annotations

from statistics import median

from bothends.engines import Engine, Limits, Outcome
from bothends.eval.experiment import Regimen
from bothends.eval.record import Timing

__all__ = ["measure"]


def measure(
    engine: Engine, gold_sql: str, generated_sql: str, regimen: Regimen, limits: Limits
) -> Timing:
    """Execute gold and the generated query in turn and keep every timing.

    Taking turns spreads whatever disturbs the machine over both, so that their ratio holds.

    Args:
        engine: Where both have executed before.
        gold_sql: Gold.
        generated_sql: The generated query.
        regimen: Warm-ups and repeats, the same for both.
        limits: Time and rows that each execution may take.

    Returns:
        The raw seconds with their medians. A generated query that fails in a repeat has no median.
    """

    def timed(sql: str) -> Outcome:
        engine.prepare()
        return engine.execute(sql, limits)

    for _ in range(regimen.warmups):
        timed(gold_sql)
        timed(generated_sql)
    gold_s: list[float] = []
    generated_s: list[float] = []
    executed = True
    for _ in range(regimen.repeats):
        gold_s.append(timed(gold_sql).seconds)
        outcome = timed(generated_sql)
        generated_s.append(outcome.seconds)
        executed = executed and outcome.status == "ok"
    return Timing(
        gold_s=tuple(gold_s),
        generated_s=tuple(generated_s),
        gold_median_s=median(gold_s),
        generated_median_s=median(generated_s) if executed else None,
    )
