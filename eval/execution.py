"""A query that somebody wrote before: run, judged and timed beside its gold."""

from __future__ import annotations

from bothends.agent.models.base import Case
from bothends.engines import Outcome
from bothends.eval.assessment import Bench, assess, first_rows
from bothends.eval.record import Executed
from bothends.tools.preflight import run_within

__all__ = ["execute"]


def execute(
    case: Case, gold: Outcome, sql: str, bench: Bench, *, gold_nondeterministic: bool
) -> Executed:
    """Run a query once, within the pre-flight limits, and judge and time it where it executes.

    Args:
        case: The question, with its gold.
        gold: What gold returned; `ok`.
        sql: The query.
        bench: Where it is run.
        gold_nondeterministic: Whether gold's own result is one of several right ones.
    """
    with bench.slots.take() as engine:
        outcome, seconds = run_within(engine, sql, bench.limits, bench.preflight)
    facts = outcome.facts()
    found = assess(case, gold, outcome, sql, bench, gold_nondeterministic=gold_nondeterministic)
    return Executed(
        status="unjudged" if found.unjudged else outcome.status,
        error=found.unjudged or outcome.error,
        seconds=seconds,
        row_count=outcome.row_count,
        columns=outcome.columns,
        first_rows=first_rows(outcome, bench.redaction),
        verdict=found.verdict,
        timing=found.timing,
        exact_match=found.exact_match,
        soft_f1=found.soft_f1,
        facts=facts,
    )
