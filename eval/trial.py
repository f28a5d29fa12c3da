"""One trial: gold, the agent's attempt, the verdict, the timings and the dollars as one record."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bothends.agent.models.base import Case
from bothends.agent.record import AgentRun
from bothends.agent.stages import top_level_seconds, total_usage
from bothends.engines import Engine, Limits, Outcome
from bothends.engines.result_digest import result_digest
from bothends.engines.slots import EngineSlots
from bothends.eval.cost import price_steps
from bothends.eval.experiment import Billing, Regimen
from bothends.eval.judging import gold_limits, unfit_gold, verdict_on
from bothends.eval.official import exact_match, soft_f1
from bothends.eval.record import Gold, Status, Trial, TrialKey
from bothends.eval.soundness import Soundness, check_gold
from bothends.eval.store import RunDirectory
from bothends.eval.suites.base import Question
from bothends.eval.timing import measure
from bothends.infra.errors import UnjudgedError
from bothends.infra.prices import EnginePrice, PriceBook
from bothends.infra.system import bothends_version
from bothends.infra.text import as_cell
from bothends.tools.text import Redaction, redacted_rows

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.agent import Agent

__all__ = ["GoldBook", "Terms", "run_trial"]

_KEPT_ROWS = 20


@dataclass(frozen=True, slots=True)
class Terms:
    """What every trial of a run has in common.

    Attributes:
        slots: The engines that all trials share.
        fingerprint: The digest of its fingerprint.
        limits: Time and rows of one query.
        regimen: How queries are timed.
        prices: What tokens cost.
        machine: What the engine's work costs.
        billing: Which of them are charged.
        redaction: What each result cell goes through before it is kept.
        keeps_gold: Whether the first rows of gold's results are kept.
    """

    slots: EngineSlots
    fingerprint: str
    limits: Limits
    regimen: Regimen
    prices: PriceBook
    machine: EnginePrice
    billing: Billing
    redaction: Redaction | None = None
    keeps_gold: bool = True


class GoldBook:
    """Gold results, executed once each and kept while the run lasts. Several threads may ask.

    Args:
        suite: The suite's name.
        scale_factor: The data's scale factor.
        terms: The run's terms.
        directory: Where each is recorded the first time.
    """

    def __init__(
        self, suite: str, scale_factor: float | None, terms: Terms, directory: RunDirectory
    ) -> None:
        self._suite = suite
        self._scale_factor = scale_factor
        self._terms = terms
        self._directory = directory
        self._sound = {gold.question_id: gold.deterministic for gold in directory.golds()}
        self._outcomes: dict[str, Outcome] = {}
        self._asking = threading.Lock()

    def outcome(self, question: Question) -> Outcome:
        """Return what became of a question's gold; not `ok` means that it cannot judge.

        A result of which not everything was kept is `failed` where the engine cannot compare
        such: no prediction could be judged against it.
        """
        with self._asking:
            if question.id not in self._outcomes:
                with self._terms.slots.take() as engine:
                    self._outcomes[question.id] = self._execute(question, engine)
            return self._outcomes[question.id]

    def nondeterministic(self, question: Question) -> bool:
        """Whether gold's own result was shown to be one of several right ones."""
        return self._sound.get(question.id) is False

    def _execute(self, question: Question, engine: Engine) -> Outcome:
        sql = question.gold_sql(engine.name)
        outcome = engine.execute(sql, gold_limits(engine, self._terms.limits))
        facts = outcome.facts() if question.id not in self._sound else None
        unfit = unfit_gold(engine, outcome, self._terms.limits)
        if unfit is not None:
            outcome = Outcome(status="failed", seconds=outcome.seconds, error=unfit)
        if question.id not in self._sound:
            sound = Soundness(None)
            if outcome.status == "ok" and outcome.whole:
                sound = check_gold(engine, sql, outcome, self._terms.limits)
            self._sound[question.id] = sound.deterministic
            self._directory.append(
                Gold(
                    suite=self._suite,
                    question_id=question.id,
                    engine=engine.name,
                    scale_factor=self._scale_factor,
                    fingerprint=self._terms.fingerprint,
                    sql=sql,
                    status=outcome.status,
                    error=outcome.error,
                    columns=outcome.columns,
                    row_count=outcome.row_count,
                    first_rows=_as_text(outcome, self._terms.redaction)
                    if self._terms.keeps_gold
                    else (),
                    digest=outcome.digest or result_digest(outcome),
                    deterministic=sound.deterministic,
                    determinism=sound.reason,
                    seconds=outcome.seconds,
                    facts=facts,
                )
            )
        return outcome


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
    verdict = timing = same = overlap = None
    if outcome is not None and outcome.status == "ok" and run.sql and case.gold_sql:
        try:
            with terms.slots.take() as engine:
                verdict = verdict_on(
                    engine,
                    gold,
                    outcome,
                    gold_sql=case.gold_sql,
                    predicted_sql=run.sql,
                    limits=terms.limits,
                ).model_copy(update={"gold_nondeterministic": gold_nondeterministic})
                timing = measure(engine, case.gold_sql, run.sql, terms.regimen, terms.limits)
            same = exact_match(case.gold_sql, run.sql, case.dialect)
            if gold.whole and outcome.whole:
                overlap = soft_f1(gold.rows, outcome.rows)
        except UnjudgedError as error:
            status, reason = "unjudged", f"cannot be judged: {error}"
    overhead_s = run.seconds - top_level_seconds(run.steps)
    stages, cost = price_steps(
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
        first_rows=_as_text(outcome, terms.redaction),
        columns=outcome.columns if outcome else (),
        verdict=verdict,
        timing=timing,
        exact_match=same,
        soft_f1=overlap,
        e2e_s=run.seconds,
        queue_s=run.queue_s,
        overhead_s=overhead_s,
        stages=stages,
        usage=total_usage(run.steps),
        cost=cost,
        steps=run.steps,
        ignored_calls=run.ignored_calls,
        calls_from_text=sum(step.calls_from_text for step in run.steps),
        retries=sum(step.wait_s > 0 for step in run.steps),
        retry_s=sum(step.seconds + step.wait_s for step in failed_attempts),
        replayed=any(step.replayed for step in run.steps),
        fingerprint=terms.fingerprint,
        bothends_version=bothends_version(),
        started_at=started_at,
    )


def _as_text(
    outcome: Outcome | None, redaction: Redaction | None
) -> tuple[tuple[str | None, ...], ...]:
    if outcome is None:
        return ()
    shown = redacted_rows(outcome, _KEPT_ROWS, redaction)
    return tuple(
        tuple(None if cell is None else as_cell(cell) for cell in row)
        for row in shown.rows[:_KEPT_ROWS]
    )
