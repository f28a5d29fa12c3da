"""A query at another scale factor than it was written at: what was thought stands, the rest is new.

A translation costs a model's seconds, tokens and dollars once, whatever the size of the data that
its query then runs on. So a trial at another scale factor is the translation's trial with the run
of its query, and only that, measured anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bothends.agent.attempt import ending_of
from bothends.agent.models.base import Case, Model
from bothends.agent.record import Step
from bothends.agent.stages import top_level_seconds
from bothends.engines import Outcome
from bothends.eval.assessment import Assessment, Terms, assess, first_rows
from bothends.eval.cost import price_steps
from bothends.eval.record import Status, Trial
from bothends.eval.transcripts import untold
from bothends.infra.system import bothends_version

__all__ = ["carry", "run_seconds"]


def carry(
    translated: Trial,
    case: Case,
    scale_factor: float,
    gold: Outcome,
    terms: Terms,
    *,
    model: Model,
    checker: Model | None = None,
    gold_nondeterministic: bool = False,
    smaller: Trial | None = None,
) -> Trial:
    """Run an agent's query at another scale factor, and judge, time and price it there.

    T_e2e is that of the translation, with the seconds that the engine took for the query there
    replaced by those it takes here; so is the cost. Of a recipe that ran several drafts that is
    the one that counted: the others were a part of finding it. An attempt that has no query is
    the same at every scale factor.

    Args:
        translated: The trial in which the agent wrote it.
        case: The question, with its gold.
        scale_factor: The scale factor of the data here.
        gold: What became of gold here.
        terms: What the trials here have in common.
        model: The controller.
        checker: The checker, where that is another model.
        gold_nondeterministic: Whether gold's own result is one of several right ones.
        smaller: A trial of the same query at a smaller scale factor that passed its time limit,
            where a larger one is not to be tried: it is taken to pass it here too, and charged so.

    Returns:
        The record. What was said is in the translation's alone.
    """
    outcome = None
    assessed = Assessment()
    steps = translated.steps
    status: Status
    reason: str | None
    if gold.status != "ok":
        status, reason, steps = "gold_failed", f"gold {gold.status}: {gold.error}", ()
    elif translated.sql is None:
        status, reason = translated.status, translated.error
    elif smaller is not None:
        status = "skipped"
        reason = (
            f"not run: it passed its time limit at scale factor {smaller.key.scale_factor:g}, and "
            "is taken, and charged, to do so here"
        )
        steps = _with_run(steps, translated.sql, run_seconds(smaller), reason)
    else:
        with terms.slots.take() as engine:
            outcome = engine.execute(translated.sql, terms.limits)
        ending = ending_of(outcome)
        status, reason = ending.status, ending.error
        steps = _with_run(steps, translated.sql, outcome.seconds, outcome.error)
        assessed = assess(
            case, gold, outcome, translated.sql, terms, gold_nondeterministic=gold_nondeterministic
        )
        if assessed.unjudged is not None:
            status, reason = "unjudged", assessed.unjudged
    overhead_s = translated.overhead_s if steps else 0.0
    e2e_s = top_level_seconds(steps) + overhead_s
    stages, cost = price_steps(
        steps,
        e2e_s,
        overhead_s,
        pricing=model.pricing,
        checker_pricing=model.pricing_of(checker),
        prices=terms.prices,
        machine=terms.machine,
        billing=terms.billing,
    )
    return translated.model_copy(
        update={
            "key": translated.key.model_copy(update={"scale_factor": scale_factor}),
            "status": status,
            "error": reason,
            "row_count": outcome.row_count if outcome else None,
            "first_rows": first_rows(outcome, terms.redaction),
            "columns": outcome.columns if outcome else (),
            "verdict": assessed.verdict,
            "timing": assessed.timing,
            "exact_match": assessed.exact_match,
            "soft_f1": assessed.soft_f1,
            "e2e_s": e2e_s,
            "queue_s": 0.0,
            "overhead_s": overhead_s,
            "stages": stages,
            "usage": translated.usage if steps else None,
            "cost": cost,
            # What was said is in the translation's record alone.
            "steps": untold(translated.model_copy(update={"steps": steps})).steps,
            "translated_at": translated.key.scale_factor,
            "fingerprint": terms.fingerprint,
            "bothends_version": bothends_version(),
            "started_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
    )


def run_seconds(trial: Trial) -> float:
    """Return the seconds in which the engine ran a trial's query."""
    place = _place_of_run(trial.steps, trial.sql)
    return trial.steps[place].engine_s if place is not None else 0.0


def _with_run(
    steps: Sequence[Step], sql: str, engine_s: float, error: str | None
) -> tuple[Step, ...]:
    """Return steps in which the run of a query took other seconds in the engine."""
    place = _place_of_run(steps, sql)
    assert place is not None  # noqa: S101 - the query is of a step
    run = steps[place]
    more_s = engine_s - run.engine_s
    measured = run.model_copy(
        update={"seconds": run.seconds + more_s, "engine_s": engine_s, "error": error}
    )
    later = (
        # A step that began after it, as with several drafts, begins so much later.
        step.model_copy(update={"start_s": step.start_s + more_s})
        for step in steps[place + 1 :]
    )
    return (*steps[:place], measured, *later)


def _place_of_run(steps: Sequence[Step], sql: str | None) -> int | None:
    runs = [place for place, step in enumerate(steps) if step.name == "run_query"]
    # Without transcripts the drafts are not told apart, and the last one is taken.
    ours = [place for place in runs if steps[place].arguments.get("sql") == sql]
    found = ours or runs
    return found[-1] if found else None
