"""The runner: every question, model and replica of an experiment once, recorded as it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from bothends.engines import Capability, Engine, Limits
from bothends.engines.registry import engine_name
from bothends.engines.slots import EngineSlots
from bothends.eval.budget import Budget
from bothends.eval.cost import describe_pricing
from bothends.eval.experiment import Experiment
from bothends.eval.fork import start_fork
from bothends.eval.grounds import Grounds, data_changed, fingerprint_digest, question_terms
from bothends.eval.manifest import Manifest, ModelTerms, QuestionTerms
from bothends.eval.record import TrialKey
from bothends.eval.recording import recording, recording_files
from bothends.eval.redaction import load_redaction, tried
from bothends.eval.store import RunDirectory
from bothends.eval.suites.base import Question, Suite
from bothends.eval.watcher import Silent, Watcher
from bothends.eval.work import Planned, Work
from bothends.infra.errors import UsageError
from bothends.infra.prices import (
    EnginePrice,
    NoPricing,
    PriceBook,
    Pricing,
    ScanPrice,
    TokenPricing,
)
from bothends.infra.system import describe_hardware, package_versions

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.models.base import Case, Model
    from bothends.eval.trial import Terms
    from bothends.tools.text import Redaction

__all__ = ["run_experiment"]


def run_experiment(
    experiment: Experiment,
    out: Path,
    *,
    record: Path | None = None,
    record_append: bool = False,
    served_by: str = "",
    callbacks: Sequence[BaseCallbackHandler] = (),
    fork_from: Sequence[Path] = (),
    redaction: Redaction | None = None,
    watcher: Watcher | None = None,
) -> RunDirectory:
    """Run what of an experiment has not been run yet.

    Each trial is on disk as soon as it has ended: killing the process loses at most those under
    way, and calling this again finishes the rest and repeats nothing.

    Args:
        experiment: What to run.
        out: The run directory; made where it does not exist.
        record: A file in which the model's replies are recorded, to be replayed later; where
            there are several models, a directory of such files.
        record_append: Whether that may be another run's recording, which is added to.
        served_by: What serves the model, in words, for the recording.
        callbacks: LangChain callback handlers that see every call of every trial as well; where
            trials overlap, from several threads.
        fork_from: Run directories whose trials a new one may begin with, where they still hold.
        redaction: What each result cell goes through before a model sees it or it is kept; what
            the experiment names for None.
        watcher: Who is told how it goes.

    Returns:
        The run directory, complete unless the budget did not allow it; the watcher is told.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached. What was
            recorded before is kept.
    """
    from bothends.agent.models.registry import load_model
    from bothends.agent.telemetry import tracing

    watcher = watcher or Silent()
    redaction = tried(redaction) if redaction else load_redaction(experiment.redact)
    suite = experiment.load_suite()
    questions = experiment.select(suite)
    prices = PriceBook.load(experiment.prices)
    machine = prices.engine(experiment.machine)

    def load(spec: str) -> Model:
        return load_model(
            spec, prices=prices, base_url=experiment.base_url, sampling=experiment.sampling
        )

    models = [load(spec) for spec in experiment.models]
    _check_labels(models)
    checker = load(experiment.checker) if experiment.checker else None
    if record is not None and not experiment.transcripts:
        raise UsageError(
            "a recording keeps the conversations, and --no-transcripts is to keep none: give "
            "--record or --no-transcripts, not both"
        )
    if record is not None:
        recording_files(record, models)  # what cannot hold them is said before anything runs

    directory = RunDirectory(out)
    asked = question_terms(questions, engine_name(experiment.engine))
    if directory.holds(experiment, asked, len(models) * len(questions) * experiment.replicas):
        if data_changed(directory.manifest, experiment, suite):
            directory.refuse(["the data are not the same"], experiment.task)
        trials = directory.trials()
        watcher.begin(directory.manifest, trials, len(trials))
        return directory
    _check_budget(experiment, models, checker)
    with Grounds(experiment, suite, questions, watcher.phase) as grounds:
        engine = grounds.at(questions[0].database).engines[0]
        _check_scans(experiment, engine, machine)
        manifest = _manifest(
            experiment, out.resolve().name, suite, asked, models, engine, grounds, prices, machine
        )
        planned = _plan(experiment, engine, questions, models)
        with directory.alone():
            start_fork(directory, manifest, fork_from, {trial.key for trial in planned})
            directory.start(manifest)
            done = directory.trials()
            watcher.begin(manifest, done, len(planned))
            had = {trial.key for trial in done}
            todo = [trial for trial in planned if trial.key not in had]
            budget = Budget(experiment.budget_usd, experiment.budget_tokens, done)
            forecast = budget.forecast([each.model.spec for each in todo])
            if not todo or not watcher.go_on(forecast):
                return directory
            for trial in todo:
                # A recording that does not fit says so here, before anything runs.
                trial.model.chat(trial.case)
            recorder = recording(
                record,
                models,
                checker,
                directory.manifest,
                engine.name,
                served_by=served_by,
                append=record_append,
            )
            with recorder as recorders_for, tracing() as tracers_for:

                def handlers_for(model: Model, case: Case) -> Sequence[BaseCallbackHandler]:
                    return (*recorders_for(model, case), *tracers_for(case), *callbacks)

                for database, part in groupby(todo, lambda trial: trial.question.database):
                    slots = grounds.at(database)
                    terms = _terms(experiment, slots, manifest, prices, machine, redaction)
                    work = Work(
                        experiment, terms, checker, directory, budget, handlers_for, watcher
                    )
                    work.do(tuple(part))
            if budget.exhausted:
                watcher.stopped(f"{budget.why()}; the same command with a larger budget goes on")
    return directory


def _manifest(
    experiment: Experiment,
    name: str,
    suite: Suite,
    asked: tuple[QuestionTerms, ...],
    models: Sequence[Model],
    engine: Engine,
    grounds: Grounds,
    prices: PriceBook,
    machine: EnginePrice,
) -> Manifest:
    ground = asdict(engine.fingerprint())
    databases = grounds.digests if len(grounds.digests) > 1 else {}
    return Manifest(
        name=name,
        created_at=_now(),
        experiment=experiment,
        models=tuple(
            ModelTerms(
                spec=model.spec,
                label=model.label,
                kind=model.kind,
                description=model.description,
                priced_by=describe_pricing(model.pricing, prices),
                sampling=dict(model.sampling),
            )
            for model in models
        ),
        questions=asked,
        excluded=experiment.excluded(suite),
        fingerprint=fingerprint_digest(ground, databases),
        engine=ground,
        databases=databases,
        machine=machine.describe(),
        prices=prices.snapshot(
            [*(model.pricing for model in models), *_embedding_pricing(experiment)], [machine]
        ),
        versions=package_versions(),
        hardware=describe_hardware(),
    )


def _embedding_pricing(experiment: Experiment) -> Iterator[Pricing]:
    embeddings = experiment.recipe.embeddings
    if embeddings is not None and embeddings.priced_as is not None:
        provider, _, model = embeddings.priced_as.partition(":")
        yield TokenPricing(provider, model)


def _terms(
    experiment: Experiment,
    slots: EngineSlots,
    manifest: Manifest,
    prices: PriceBook,
    machine: EnginePrice,
    redaction: Redaction | None,
) -> Terms:
    from bothends.eval.trial import Terms

    return Terms(
        slots=slots,
        fingerprint=manifest.fingerprint,
        limits=Limits(timeout_s=experiment.timeout_s, max_rows=experiment.max_rows),
        regimen=experiment.regimen,
        prices=prices,
        machine=machine,
        billing=experiment.billing,
        redaction=redaction,
        keeps_gold=experiment.transcripts,
    )


def _check_budget(experiment: Experiment, models: Sequence[Model], checker: Model | None) -> None:
    """Refuse a bound of dollars where those of the models will not be known."""
    if experiment.budget_usd is None:
        return
    for model in (*models, *([checker] if checker else ())):
        if isinstance(model.pricing, NoPricing):
            raise UsageError(
                f"--budget-usd cannot be kept: {model.label} has no price "
                f"({model.pricing.reason}); give --prices, or --budget-tokens"
            )


def _check_scans(experiment: Experiment, engine: Engine, machine: EnginePrice) -> None:
    """Refuse a bound of dollars where those of the engine will not be known."""
    lack = engine.lacks.get(Capability.facts)
    if experiment.budget_usd is not None and isinstance(machine, ScanPrice) and lack is not None:
        raise UsageError(
            f"--budget-usd cannot be kept: {engine.title} does not tell what it scanned, which "
            f"--machine {experiment.machine} charges ({lack}); give --budget-tokens, or another "
            "machine"
        )


def _plan(
    experiment: Experiment, engine: Engine, questions: Sequence[Question], models: Sequence[Model]
) -> list[Planned]:
    """Order the trials so that whatever drifts over a run falls on all models alike."""
    from bothends.agent.models.base import Case

    return [
        Planned(
            TrialKey(
                suite=experiment.suite,
                question_id=question.id,
                engine=engine.name,
                scale_factor=experiment.scale_factor,
                model=model.spec,
                checker=experiment.checker,
                recipe=experiment.recipe.name,
                replica=replica,
            ),
            question,
            Case(
                question.id,
                question.prompt,
                replica,
                question.gold_sql(engine.name),
                engine.dialect,
            ),
            model,
        )
        for database in dict.fromkeys(question.database for question in questions)
        for replica in range(experiment.replicas)
        for question in questions
        if question.database == database
        for model in models
    ]


def _check_labels(models: Sequence[Model]) -> None:
    twice = [label for label, n in Counter(model.label for model in models).items() if n > 1]
    if twice:
        raise UsageError(f"two models are called {twice[0]!r}: tell them apart with ?label=NAME")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
