"""A query at another scale factor than it was written at: what was thought stands, the rest is new.

A translation costs a model's seconds, tokens and dollars once, whatever the size of the data that
its query then runs on. So a trial at another scale factor is the translation's trial with the run
of its query, and only that, measured anew.
"""

from __future__ import annotations

from datetime import UTC, datetime

from bothends.agent.models.base import Model
from bothends.agent.record import Step
from bothends.agent.stages import top_level_seconds
from bothends.engines.facts import EngineFacts
from bothends.eval.assessment import Terms
from bothends.eval.cost import price_steps
from bothends.eval.record import Executed, Status, Trial
from bothends.eval.transcripts import untold
from bothends.infra.system import bothends_version

__all__ = ["carry", "run_step"]


def carry(
    translated: Trial,
    scale_factor: float,
    executed: Executed | None,
    terms: Terms,
    *,
    model: Model,
    checker: Model | None = None,
    gold_failed: str | None = None,
    smaller: Trial | None = None,
) -> Trial:
    """Return the trial of an agent's query at another scale factor.

    T_e2e is that of the translation, with the seconds that the engine took for the query there
    replaced by those it takes here; so is the cost. Of a recipe that ran several drafts that is
    the one that counted: the others were a part of finding it. An attempt that has no query is
    the same at every scale factor.

    Args:
        translated: The trial in which the agent wrote it.
        scale_factor: The scale factor of the data here.
        executed: What became of the query here; None where it was not run.
        terms: What the trials here have in common.
        model: The controller.
        checker: The checker, where that is another model.
        gold_failed: Why gold could not be executed here; None where it was.
        smaller: A trial of the same query at a smaller scale factor that passed its time limit,
            where it is not run here: it is taken to pass it here too, and charged so.

    Returns:
        The record. What was said is in the translation's alone.
    """
    steps = translated.steps
    status: Status = translated.status
    reason = translated.error
    if gold_failed is not None:
        status, reason, steps = "gold_failed", gold_failed, ()
    elif smaller is not None:
        status = "skipped"
        reason = (
            f"not run: it passed its time limit at scale factor {smaller.key.scale_factor:g}, and "
            "is taken, and charged, to do so here"
        )
        if (ran := run_step(smaller)) is not None:
            steps = _with_run(translated, ran.engine_s, reason, None, ran.scans_bytes)
    elif executed is not None:
        status, reason, facts = executed.status, executed.error, executed.facts
        read = None if status == "rejected" else (facts.read_bytes if facts else None,)
        steps = _with_run(translated, executed.seconds, reason, facts, read)
    overhead_s = translated.overhead_s if steps else 0.0
    e2e_s = top_level_seconds(steps) + overhead_s
    priced = price_steps(
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
            "row_count": executed and executed.row_count,
            "first_rows": executed.first_rows if executed else (),
            "columns": executed.columns if executed else (),
            "verdict": executed and executed.verdict,
            "timing": executed and executed.timing,
            "exact_match": executed and executed.exact_match,
            "soft_f1": executed and executed.soft_f1,
            "e2e_s": e2e_s,
            "queue_s": 0.0,
            "overhead_s": overhead_s,
            "stages": priced.stages,
            "usage": translated.usage if steps else None,
            "cost": priced.cost,
            "step_usd": priced.step_usd,
            # What was said is in the translation's record alone.
            "steps": untold(translated.model_copy(update={"steps": steps})).steps,
            "translated_at": translated.key.scale_factor,
            "fingerprint": terms.bench.fingerprint,
            "bothends_version": bothends_version(),
            "started_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
    )


def run_step(trial: Trial) -> Step | None:
    """Return the step in which a trial's query was run; None where none was."""
    place = _place_of_run(trial)
    return None if place is None else trial.steps[place]


def _with_run(
    translated: Trial,
    engine_s: float,
    error: str | None,
    facts: EngineFacts | None,
    scans_bytes: tuple[int | None, ...] | None,
) -> tuple[Step, ...]:
    """Return the steps of a trial whose query took the engine something else."""
    steps, place = translated.steps, _place_of_run(translated)
    if place is None:
        return steps
    run = steps[place]
    more_s = engine_s - run.engine_s
    scanned = None if scans_bytes is None or None in scans_bytes else sum(filter(None, scans_bytes))
    measured = run.model_copy(
        update={
            "seconds": run.seconds + more_s,
            "engine_s": engine_s,
            "error": error,
            "facts": facts,
            "scans_bytes": scans_bytes,
            "scanned_bytes": scanned,
        }
    )
    later = (
        # A step that began after it, as with several drafts, begins so much later.
        step.model_copy(update={"start_s": step.start_s + more_s})
        for step in steps[place + 1 :]
    )
    return (*steps[:place], measured, *later)


def _place_of_run(trial: Trial) -> int | None:
    runs = [place for place, step in enumerate(trial.steps) if step.name == "run_query"]
    # Without transcripts the drafts are not told apart, and the last one is taken.
    ours = [place for place in runs if trial.steps[place].arguments.get("sql") == trial.sql]
    found = ours or runs
    return found[-1] if found else None
