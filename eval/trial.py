"""One trial: gold, the agent's attempt, the verdict, the timings and the dollars as one record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bothends.agent.models.base import Case
from bothends.agent.record import AgentRun
from bothends.agent.stages import top_level_seconds, total_usage
from bothends.engines import Outcome
from bothends.eval.assessment import Terms, assess, first_rows
from bothends.eval.cost import price_steps
from bothends.eval.record import Status, Trial, TrialKey
from bothends.infra.system import bothends_version

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.agent import Agent

__all__ = ["run_trial"]


def run_trial(
    key: TrialKey,
    case: Case,
    gold: Outcome,
    agent: Agent,
    terms: Terms,
    callbacks: Sequence[BaseCallbackHandler] = (),
    *,
    gold_nondeterministic: bool = False,
) -> Trial:
    """Let an agent answer a question once, and judge, time and price what it did.

    Args:
        key: What is tried.
        case: The question, with its gold.
        gold: What became of its gold; where it is not `ok`, no model is asked.
        agent: The agent.
        terms: The run's terms.
        callbacks: LangChain callback handlers that see every call as well.
        gold_nondeterministic: Whether gold's own result is one of several right ones.

    Returns:
        The record.

    Raises:
        ReplayError: If a recording does not fit.
    """
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    status: Status
    reason: str | None
    if gold.status != "ok":
        run = AgentRun("no_query", None, None, (), 0.0)
        status, reason = "gold_failed", f"gold {gold.status}: {gold.error}"
    else:
        run = agent.run(case, callbacks=callbacks)
        status, reason = run.status, run.error
    outcome = run.outcome
    assessed = assess(
        case, gold, outcome, run.sql, terms.bench, gold_nondeterministic=gold_nondeterministic
    )
    if assessed.unjudged is not None:
        status, reason = "unjudged", assessed.unjudged
    overhead_s = run.seconds - top_level_seconds(run.steps)
    priced = price_steps(
        run.steps,
        run.seconds,
        overhead_s,
        pricing=agent.model.pricing,
        checker_pricing=agent.checker_pricing,
        prices=terms.prices,
        machine=terms.machine,
        billing=terms.billing,
    )
    failed_attempts = [step for step in run.steps if step.kind == "llm" and step.error]
    return Trial(
        key=key,
        model_kind=agent.model.kind,
        model_label=agent.model.label,
        status=status,
        error=reason,
        sql=run.sql,
        row_count=outcome.row_count if outcome else None,
        first_rows=first_rows(outcome, terms.bench.redaction),
        columns=outcome.columns if outcome else (),
        verdict=assessed.verdict,
        timing=assessed.timing,
        exact_match=assessed.exact_match,
        soft_f1=assessed.soft_f1,
        e2e_s=run.seconds,
        queue_s=run.queue_s,
        overhead_s=overhead_s,
        stages=priced.stages,
        usage=total_usage(run.steps),
        cost=priced.cost,
        steps=run.steps,
        step_usd=priced.step_usd,
        ignored_calls=run.ignored_calls,
        calls_from_text=sum(step.calls_from_text for step in run.steps),
        retries=sum(step.wait_s > 0 for step in run.steps),
        retry_s=sum(step.seconds + step.wait_s for step in failed_attempts),
        replayed=any(step.replayed for step in run.steps),
        fingerprint=terms.bench.fingerprint,
        bothends_version=bothends_version(),
        started_at=started_at,
    )
