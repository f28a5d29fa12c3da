"""The runner: every question, model and replica of an experiment once, recorded as it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING

from bothends.engines import Capability, Engine
from bothends.engines.registry import engine_name
from bothends.eval.budget import Budget
from bothends.eval.experiment import Experiment
from bothends.eval.fork import start_fork
from bothends.eval.grounds import Grounds, data_changed, question_terms
from bothends.eval.preparation import describe_run, load_models, terms_of
from bothends.eval.record import Trial, TrialKey
from bothends.eval.recording import recording, recording_files
from bothends.eval.redaction import load_redaction, tried
from bothends.eval.store import RunDirectory
from bothends.eval.suites.base import Question
from bothends.eval.watcher import Silent, Watcher
from bothends.eval.work import Planned, Work
from bothends.infra.errors import UsageError
from bothends.infra.prices import (
    EnginePrice,
    NoPricing,
    PriceBook,
    ScanPrice,
)

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.models.base import Case, Model
    from bothends.tools.text import Redaction

__all__ = ["planned_keys", "run_experiment"]


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
    grow: bool = False,
    elsewhere: Sequence[Trial] = (),
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
        grow: Whether the directory may hold a run of other questions, models or replicas, to
            which these are added.
        elsewhere: Trials of other directories that count against the budget.

    Returns:
        The run directory, complete unless the budget did not allow it; the watcher is told.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached. What was
            recorded before is kept.
    """
    from bothends.agent.telemetry import tracing

    watcher = watcher or Silent()
    redaction = tried(redaction) if redaction else load_redaction(experiment.redact)
    suite = experiment.load_suite()
    questions = experiment.select(suite)
    prices = PriceBook.load(experiment.prices)
    machine = prices.engine(experiment.machine)
    models, checker = load_models(experiment, prices)
    if record is not None and not experiment.transcripts:
        raise UsageError(
            "a recording keeps the conversations, and --no-transcripts is to keep none: give "
            "--record or --no-transcripts, not both"
        )
    if record is not None:
        recording_files(record, models)  # what cannot hold them is said before anything runs

    directory = RunDirectory(out)
    asked = question_terms(questions, engine_name(experiment.engine))
    keys = [key for key, _, _ in planned_keys(experiment, questions, models)]
    if directory.holds(experiment, asked, keys, grow=grow):
        if data_changed(directory.manifest, experiment, suite):
            directory.refuse(["the data are not the same"], "sweep" if grow else experiment.task)
        trials = directory.trials()
        watcher.begin(directory.manifest, trials, len(trials))
        return directory
    _check_budget(experiment, models, checker)
    with Grounds(experiment, suite, questions, watcher.phase) as grounds:
        engine = grounds.at(questions[0].database).engines[0]
        _check_scans(experiment, engine, machine)
        manifest = describe_run(
            experiment,
            out.resolve().name,
            suite,
            asked,
            models,
            engine.fingerprint(),
            grounds.digests,
            prices,
            machine,
        )
        planned = _plan(experiment, engine, questions, models)
        with directory.alone():
            start_fork(directory, manifest, fork_from, {trial.key for trial in planned})
            directory.start(manifest, grow=grow)
            done = directory.trials()
            had = {trial.key for trial in done}
            todo = [trial for trial in planned if trial.key not in had]
            watcher.begin(manifest, done, len(done) + len(todo))
            budget = Budget(experiment.budget_usd, experiment.budget_tokens, [*done, *elsewhere])
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
                    terms = terms_of(experiment, slots, manifest, prices, machine, redaction)
                    work = Work(
                        experiment, terms, checker, directory, budget, handlers_for, watcher
                    )
                    work.do(tuple(part))
            if budget.exhausted:
                watcher.stopped(f"{budget.why()}; the same command with a larger budget goes on")
    return directory


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
    from bothends.agent.models.base import Case

    return [
        Planned(
            key,
            question,
            Case(
                question.id,
                question.prompt,
                key.replica,
                question.gold_sql(engine.name),
                engine.dialect,
            ),
            model,
        )
        for key, question, model in planned_keys(experiment, questions, models)
    ]


def planned_keys(
    experiment: Experiment, questions: Sequence[Question], models: Sequence[Model]
) -> Iterator[tuple[TrialKey, Question, Model]]:
    """Return the trials in such an order that whatever drifts over a run falls on all models alike.

    Args:
        experiment: What is run.
        questions: Its questions.
        models: Its models.
    """
    for database in dict.fromkeys(question.database for question in questions):
        asked = [question for question in questions if question.database == database]
        for replica, question, model in product(range(experiment.replicas), asked, models):
            key = TrialKey(
                suite=experiment.suite,
                question_id=question.id,
                engine=engine_name(experiment.engine),
                scale_factor=experiment.scale_factor,
                model=model.spec,
                checker=experiment.checker,
                recipe=experiment.recipe.name,
                replica=replica,
            )
            yield key, question, model
