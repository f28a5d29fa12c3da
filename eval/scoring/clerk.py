"""Writes down what became of golds and of predictions, as the records of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bothends.agent.record import Step, Usage
from bothends.eval.cost import Priced, describe_engine, describe_pricing, price_steps
from bothends.eval.experiment import Experiment
from bothends.eval.manifest import ModelTerms
from bothends.eval.predictions import Prediction, PredictionSet
from bothends.eval.record import Cost, Gold, Status, Trial, TrialKey, Verdict
from bothends.eval.scoring.task import GoldResult, Judged, Result, Task, folded
from bothends.eval.suites.base import Question
from bothends.infra.errors import UsageError
from bothends.infra.prices import NoPricing, PriceBook, Pricing, TokenPricing
from bothends.infra.system import bothends_version

__all__ = ["Clerk", "Entrant", "entrants", "model_terms"]

_RECIPE: Final = "none"


@dataclass(frozen=True, slots=True)
class Entrant:
    """One file of predictions, and what it is called and priced by.

    Attributes:
        spec: What stands for it in the record, in the place of a model.
        label: Its name in tables.
        predictions: What it holds.
        pricing: What its tokens are priced by.
    """

    spec: str
    label: str
    predictions: PredictionSet
    pricing: Pricing


def entrants(
    experiment: Experiment, sets: Sequence[PredictionSet], prices: PriceBook
) -> list[Entrant]:
    """Return the predictions with their names and prices.

    Raises:
        UsageError: If a price is not known.
    """
    stems = [each.path.name if each.path.is_dir() else each.path.stem for each in sets]
    often = Counter(stems)
    pricings = [_pricing(name, prices) for name in experiment.priced_as]
    if not pricings:
        pricings = [NoPricing("no --model says whose prices its tokens are charged")]
    if len(pricings) == 1:
        pricings *= len(sets)
    return [
        # Files of the same name are told apart by where they lie.
        Entrant(spec, stem if often[stem] == 1 else str(each.path), each, pricing)
        for spec, stem, each, pricing in zip(experiment.models, stems, sets, pricings, strict=True)
    ]


def _pricing(name: str, prices: PriceBook) -> Pricing:
    provider, _, model = name.partition(":")
    if not prices.known(provider, model):
        raise UsageError(
            f"no price is known for {name}; name another model as provider:name, or give its price "
            "in a file with --prices"
        )
    return TokenPricing(provider, model)


def model_terms(
    entrant: Entrant,
    questions: Sequence[Question],
    everything: Sequence[Question],
    prices: PriceBook,
) -> ModelTerms:
    """Return what a manifest says of an entrant.

    Args:
        entrant: The entrant.
        questions: The questions that are scored.
        everything: All of the suite's.
        prices: What tokens cost.
    """
    of = entrant.predictions
    return ModelTerms(
        spec=entrant.spec,
        label=entrant.label,
        kind="predictions",
        description=f"predictions made elsewhere, read from {of.path.name} (SHA-256 "
        f"{of.digest[:12]}): {len(questions) - len(of.missing(questions))} of {len(questions)} "
        f"questions, {len(of.unknown(everything))} unknown ids left out",
        priced_by=describe_pricing(entrant.pricing, prices),
    )


class Clerk:
    """Writes down what became of golds and predictions.

    Args:
        experiment: What is scored.
        engine: The engine's name.
        fingerprint: The digest of what it ran on.
        prices: What tokens and machines cost.
    """

    def __init__(
        self, experiment: Experiment, engine: str, fingerprint: str, prices: PriceBook
    ) -> None:
        self._experiment = experiment
        self._engine = engine
        self._fingerprint = fingerprint
        self._prices = prices
        self._machine = prices.engine(experiment.machine)
        self._version = bothends_version()
        self._now = datetime.now(UTC).isoformat(timespec="milliseconds")

    def gold(self, task: Task, gold: GoldResult) -> Gold:
        """Return the record of a gold result."""
        return Gold(
            suite=self._experiment.suite,
            question_id=task.question_id,
            engine=self._engine,
            scale_factor=self._experiment.scale_factor,
            fingerprint=self._fingerprint,
            sql=task.gold_sql,
            status=gold.status,
            error=gold.error,
            columns=gold.columns,
            row_count=gold.row_count,
            digest=gold.digest,
            deterministic=gold.soundness.deterministic,
            determinism=gold.soundness.reason,
            seconds=gold.seconds,
            facts=gold.facts,
        )

    def trial(self, question: Question, entrant: Entrant, result: Result) -> Trial:
        """Return the record of a prediction."""
        given = entrant.predictions.of.get(question.id)
        prediction = given or Prediction("")
        judged = result.judged.get(folded(prediction.sql, self._engine)) if prediction.sql else None
        status, error = _ended(entrant, given, judged, result.gold)
        judged = judged or Judged("failed", None)
        steps = _steps(entrant.label, prediction, judged)
        e2e_s = None if prediction.seconds is None else prediction.seconds + judged.seconds
        priced = self._cost(entrant, steps)
        return Trial(
            key=TrialKey(
                suite=self._experiment.suite,
                question_id=question.id,
                engine=self._engine,
                scale_factor=self._experiment.scale_factor,
                model=entrant.spec,
                checker=None,
                recipe=_RECIPE,
                replica=0,
            ),
            model_kind="predictions",
            model_label=entrant.label,
            status=status,
            error=error,
            sql=prediction.sql or None,
            row_count=judged.row_count,
            first_rows=judged.first_rows,
            columns=judged.columns,
            verdict=_flagged(judged, result.gold),
            timing=judged.timing,
            exact_match=judged.exact_match,
            soft_f1=judged.soft_f1,
            e2e_s=e2e_s,
            overhead_s=0.0,
            stages=priced.stages,
            usage=_usage(prediction),
            cost=priced.cost,
            steps=steps,
            step_usd=priced.step_usd,
            fingerprint=self._fingerprint,
            bothends_version=self._version,
            started_at=self._now,
        )

    def again(self, trial: Trial, result: Result) -> Trial:
        """Return a trial with its SQL judged once more; one without SQL stays as it is."""
        if not trial.sql:
            return trial
        judged = result.judged.get(folded(trial.sql, self._engine))
        gold = result.gold
        if judged is None:
            judged, status = Judged("failed", f"gold {gold.status}: {gold.error}"), "gold_failed"
        else:
            status = judged.status
        # Rows that the run was not to keep are not kept now either.
        kept = self._experiment.transcripts and self._experiment.redact is None
        return trial.model_copy(
            update={
                "status": status,
                "error": judged.error,
                "row_count": judged.row_count,
                "first_rows": judged.first_rows if kept else (),
                "columns": judged.columns,
                "verdict": _flagged(judged, gold),
                "timing": judged.timing or (trial.timing if judged.verdict else None),
                "exact_match": judged.exact_match,
                "soft_f1": judged.soft_f1,
                "fingerprint": self._fingerprint,
            }
        )

    def _cost(self, entrant: Entrant, steps: tuple[Step, ...]) -> Priced:
        if steps:
            return price_steps(
                steps,
                sum(step.seconds for step in steps),
                0.0,
                pricing=entrant.pricing,
                checker_pricing=entrant.pricing,
                prices=self._prices,
                machine=self._machine,
                billing=self._experiment.billing,
            )
        nothing = Cost(
            llm_usd=None,
            engine_usd=None,
            usd=None,
            billing=self._experiment.billing,
            llm_priced_by="not priced: the prediction tells neither tokens nor seconds",
            engine_priced_by=describe_engine(self._machine, self._experiment.billing),
        )
        return Priced({}, nothing, ())


def _flagged(judged: Judged, gold: GoldResult) -> Verdict | None:
    if judged.verdict is None or gold.soundness.deterministic is not False:
        return judged.verdict
    return judged.verdict.model_copy(update={"gold_nondeterministic": True})


def _ended(
    entrant: Entrant, given: Prediction | None, judged: Judged | None, gold: GoldResult
) -> tuple[Status, str | None]:
    if gold.status != "ok":
        return "gold_failed", f"gold {gold.status}: {gold.error}"
    if given is None:
        return "no_query", f"{entrant.predictions.path.name} has no prediction for it"
    if judged is None:
        return "no_query", "the prediction is empty"
    return judged.status, judged.error


def _usage(prediction: Prediction) -> Usage | None:
    if prediction.input_tokens is None and prediction.output_tokens is None:
        return None
    return Usage(input_tokens=prediction.input_tokens, output_tokens=prediction.output_tokens)


def _steps(model: str, prediction: Prediction, judged: Judged) -> tuple[Step, ...]:
    """Return what the prediction tells of its making, and its execution here."""
    usage = _usage(prediction)
    if usage is None and prediction.seconds is None:
        return ()
    asked_s = prediction.seconds or 0.0
    calls = "" if prediction.calls is None else f"{prediction.calls} LLM calls, as it says"
    asked = Step(
        index=0,
        kind="llm",
        name=model,
        role="controller",
        turn=0,
        start_s=0.0,
        seconds=asked_s,
        usage=usage,
        text=calls,
    )
    if not prediction.sql:
        return (asked,)
    scanned_bytes = judged.facts.read_bytes if judged.facts is not None else None
    ran = Step(
        index=1,
        kind="tool",
        name="run_query",
        turn=1,
        start_s=asked_s,
        seconds=judged.seconds,
        engine_s=judged.seconds,
        facts=judged.facts,
        scanned_bytes=scanned_bytes,
        scans_bytes=() if judged.status == "rejected" else (scanned_bytes,),
        arguments={"query": prediction.sql},
        error=judged.error,
    )
    return asked, ran
