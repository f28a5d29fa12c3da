"""What is found out about a query that has run: right or wrong, its timings, how like gold."""

from __future__ import annotations

from dataclasses import dataclass

from bothends.agent.models.base import Case
from bothends.engines import Limits, Outcome
from bothends.engines.slots import EngineSlots
from bothends.eval.experiment import Billing, Regimen
from bothends.eval.judging import verdict_on
from bothends.eval.official import exact_match, soft_f1
from bothends.eval.record import Timing, Verdict
from bothends.eval.timing import measure
from bothends.infra.errors import UnjudgedError
from bothends.infra.prices import EnginePrice, PriceBook
from bothends.infra.text import as_cell
from bothends.tools.preflight import Preflight
from bothends.tools.text import Redaction, redacted_rows

__all__ = ["Assessment", "Bench", "Terms", "assess", "first_rows"]

_KEPT_ROWS = 20


@dataclass(frozen=True, slots=True)
class Bench:
    """Where queries are tried, and how.

    Attributes:
        slots: The engines that all trials share.
        fingerprint: The digest of what they are.
        limits: Time and rows of one query.
        regimen: How queries are timed.
        redaction: What each result cell goes through before it is kept.
        preflight: What a query is refused for before it runs; None for nothing.
        keeps_gold: Whether the first rows of gold's results are kept.
    """

    slots: EngineSlots
    fingerprint: str
    limits: Limits
    regimen: Regimen
    redaction: Redaction | None = None
    preflight: Preflight | None = None
    keeps_gold: bool = True


@dataclass(frozen=True, slots=True)
class Terms:
    """What every trial of a run has in common.

    Attributes:
        bench: Where its queries are tried.
        prices: What tokens cost.
        machine: What the engine's work costs.
        billing: Which of them are charged.
    """

    bench: Bench
    prices: PriceBook
    machine: EnginePrice
    billing: Billing


@dataclass(frozen=True, slots=True)
class Assessment:
    """What was found out; all None where the query did not execute.

    Attributes:
        verdict: Right or wrong.
        timing: Timings of gold and of the query.
        exact_match: Whether it is gold's own text, as sqlglot reads both.
        soft_f1: BIRD's Soft-F1; None as well where not all of a result was kept.
        unjudged: Why it cannot be told whether it is right; None where it can.
    """

    verdict: Verdict | None = None
    timing: Timing | None = None
    exact_match: bool | None = None
    soft_f1: float | None = None
    unjudged: str | None = None


def assess(
    case: Case,
    gold: Outcome,
    outcome: Outcome | None,
    sql: str | None,
    bench: Bench,
    *,
    gold_nondeterministic: bool,
) -> Assessment:
    """Judge and time a query that has executed once, beside its gold.

    Args:
        case: The question, with its gold.
        gold: What gold returned.
        outcome: What became of the query, or None where there was none.
        sql: The query.
        bench: Where it ran.
        gold_nondeterministic: Whether gold's own result is one of several right ones.
    """
    if outcome is None or outcome.status != "ok" or not sql or not case.gold_sql:
        return Assessment()
    try:
        with bench.slots.take() as engine:
            verdict = verdict_on(
                engine,
                gold,
                outcome,
                gold_sql=case.gold_sql,
                predicted_sql=sql,
                limits=bench.limits,
            )
            timing = measure(engine, case.gold_sql, sql, bench.regimen, bench.limits)
    except UnjudgedError as error:
        return Assessment(unjudged=f"cannot be judged: {error}")
    return Assessment(
        verdict=verdict.model_copy(update={"gold_nondeterministic": gold_nondeterministic}),
        timing=timing,
        exact_match=exact_match(case.gold_sql, sql, case.dialect),
        soft_f1=soft_f1(gold.rows, outcome.rows) if gold.whole and outcome.whole else None,
    )


def first_rows(
    outcome: Outcome | None, redaction: Redaction | None
) -> tuple[tuple[str | None, ...], ...]:
    """Return the first rows of a result as they are kept, cells as text or None."""
    if outcome is None:
        return ()
    shown = redacted_rows(outcome, _KEPT_ROWS, redaction)
    return tuple(
        tuple(None if cell is None else as_cell(cell) for cell in row)
        for row in shown.rows[:_KEPT_ROWS]
    )
