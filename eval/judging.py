"""The verdict on a query that has executed, wherever its rows are."""

from __future__ import annotations

from dataclasses import replace

from bothends.engines import Capability, Engine, Limits, Outcome
from bothends.eval.compare import judge
from bothends.eval.record import Verdict

__all__ = ["gold_limits", "unfit_gold", "verdict_on"]


def verdict_on(
    engine: Engine,
    gold: Outcome,
    predicted: Outcome,
    *,
    gold_sql: str,
    predicted_sql: str,
    limits: Limits,
) -> Verdict:
    """Judge a query by `judge` where both results are whole, and inside the engine elsewhere.

    Args:
        engine: Where both have executed.
        gold: What gold returned; `ok`.
        predicted: What the query returned; `ok`.
        gold_sql: Gold.
        predicted_sql: The query.
        limits: What both ran under.

    Raises:
        UnjudgedError: If it cannot be told.
        UsageError: If one did not execute, or if gold's SQL cannot be read.
    """
    if gold.whole and predicted.whole:
        return judge(gold, predicted, gold_sql=gold_sql, dialect=engine.dialect)
    from bothends.eval.large import judge_large  # what most results never need

    return judge_large(
        engine, gold, predicted, gold_sql=gold_sql, predicted_sql=predicted_sql, limits=limits
    )


def gold_limits(engine: Engine, limits: Limits) -> Limits:
    """Return what gold is to run under: with a digest, where the engine can use it."""
    return replace(limits, digest=Capability.large_results not in engine.lacks)


def unfit_gold(engine: Engine, gold: Outcome, limits: Limits) -> str | None:
    """Say why gold that has executed can judge nothing; None where it can.

    Args:
        engine: Where it ran.
        gold: What it returned; `ok`.
        limits: What it ran under.
    """
    lack = engine.lacks.get(Capability.large_results)
    if gold.whole or lack is None:
        return None
    if gold.truncated:
        return f"gold has {gold.row_count:,} rows, above the cap of {limits.max_rows:,}: {lack}"
    return f"gold has a cell of more than {limits.max_cell_bytes:,} bytes, which was cut: {lack}"
