"""The runner: every question, model and replica of an experiment once, recorded as it goes."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bothends.engines import Engine, Limits
from bothends.eval.cost import describe_pricing
from bothends.eval.experiment import Experiment
from bothends.eval.grounds import Grounds, fingerprint_digest, question_terms
from bothends.eval.record import Trial, TrialKey
from bothends.eval.store import Manifest, ModelTerms, RunDirectory
from bothends.eval.suites.base import Question
from bothends.infra.errors import RefusedError, UsageError
from bothends.infra.prices import PriceBook
from bothends.infra.system import describe_hardware, package_versions

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.models.base import Case, Model

    HandlerFor = Callable[[Case], Sequence[BaseCallbackHandler]]

__all__ = ["Silent", "Watcher", "run_experiment"]


class Watcher(Protocol):
    """Somebody who is told how a run goes, such as a progress bar."""

    def phase(self, text: str) -> None:
        """Hear what the run is about to do, in a few words."""

    def begin(self, manifest: Manifest, done: Sequence[Trial], total: int) -> None:
        """Hear what is run, which trials were there already, and how many there will be."""

    def trial(self, trial: Trial) -> None:
        """Hear of a trial that was just recorded."""


class Silent:
    """A watcher that says nothing."""

    def phase(self, text: str) -> None:
        """Ignore it."""

    def begin(self, manifest: Manifest, done: Sequence[Trial], total: int) -> None:
        """Ignore it."""

    def trial(self, trial: Trial) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True)
class _Planned:
    key: TrialKey
    question: Question
    case: Case
    model: Model


def run_experiment(
    experiment: Experiment,
    out: Path,
    *,
    record: Path | None = None,
    served_by: str = "",
    watcher: Watcher | None = None,
) -> RunDirectory:
    """Run what of an experiment has not been run yet.

    Each trial is on disk before the next one starts: killing the process loses at most the trial
    in flight, and calling this again finishes the rest and repeats nothing.

    Args:
        experiment: What to run.
        out: The run directory; made where it does not exist.
        record: A file in which the model's replies are recorded, to be replayed later.
        served_by: What serves that model, in words, for the recording.
        watcher: Who is told how it goes.

    Returns:
        The run directory, complete.

    Raises:
        BothendsError: If something does not exist, does not fit or cannot be reached. What was
            recorded before is kept.
    """
    from bothends.agent.models.registry import load_model

    watcher = watcher or Silent()
    suite = experiment.load_suite()
    questions = experiment.select(suite)
    prices = PriceBook.load(experiment.prices)
    machine = prices.machine(experiment.machine)

    def load(spec: str) -> Model:
        return load_model(spec, prices=prices, base_url=experiment.base_url)

    models = [load(spec) for spec in experiment.models]
    _check_labels(models)
    checker = load(experiment.checker) if experiment.checker else None
    if record is not None and (len(models) != 1 or checker is not None):
        raise UsageError("--record keeps the replies of one model: give one --model, no --checker")

    directory = RunDirectory(out)
    if directory.holds(experiment, len(models) * len(questions) * experiment.replicas):
        trials = directory.trials()
        watcher.begin(directory.manifest, trials, len(trials))
        return directory
    with Grounds(experiment, suite, questions, watcher.phase) as grounds:
        engine = grounds.at(questions[0].database)
        ground = asdict(engine.fingerprint())
        databases = grounds.digests if len(grounds.digests) > 1 else {}
        manifest = Manifest(
            name=out.resolve().name,
            created_at=_now(),
            experiment=experiment,
            models=tuple(
                ModelTerms(
                    spec=model.spec,
                    label=model.label,
                    kind=model.kind,
                    description=model.description,
                    priced_by=describe_pricing(model.pricing, prices),
                )
                for model in models
            ),
            questions=question_terms(questions, engine.name),
            excluded=experiment.excluded(suite),
            fingerprint=fingerprint_digest(ground, databases),
            engine=ground,
            databases=databases,
            machine=machine.describe(),
            prices=prices.snapshot([model.pricing for model in models], [machine]),
            versions=package_versions(),
            hardware=describe_hardware(),
        )
        planned = _plan(experiment, engine, questions, models)
        with directory.alone():
            directory.start(manifest)
            done = directory.trials()
            watcher.begin(manifest, done, len(planned))
            had = {trial.key for trial in done}
            todo = [trial for trial in planned if trial.key not in had]
            for trial in todo:
                # A recording that does not fit says so here, before anything runs.
                trial.model.chat(trial.case)
            if todo:
                recorder = _recorder(record, models[0], experiment, engine.name, served_by)
                with recorder as handler_for:
                    for database, part in groupby(todo, lambda trial: trial.question.database):
                        engine = grounds.at(database)
                        _run(
                            tuple(part),
                            experiment,
                            engine,
                            checker,
                            directory,
                            prices,
                            handler_for,
                            watcher,
                        )
    return directory


def _run(
    todo: Sequence[_Planned],
    experiment: Experiment,
    engine: Engine,
    checker: Model | None,
    directory: RunDirectory,
    prices: PriceBook,
    handler_for: HandlerFor,
    watcher: Watcher,
) -> None:
    from bothends.agent.agent import Agent
    from bothends.eval.trial import GoldBook, Terms, run_trial

    limits = Limits(timeout_s=experiment.timeout_s, max_rows=experiment.max_rows)
    terms = Terms(
        engine=engine,
        fingerprint=directory.manifest.fingerprint,
        limits=limits,
        regimen=experiment.regimen,
        prices=prices,
        machine=prices.machine(experiment.machine),
        billing=experiment.billing,
    )
    golds = GoldBook(experiment.suite, experiment.scale_factor, terms, directory)
    agents = {
        planned.model.spec: Agent(
            engine, planned.model, checker=checker, recipe=experiment.recipe, limits=limits
        )
        for planned in todo
    }
    for planned in todo:
        key, case = planned.key, planned.case
        watcher.phase(f"question {key.question_id}: {planned.model.label}")
        gold = golds.outcome(planned.question)
        agent = agents[planned.model.spec]
        try:
            trial = run_trial(
                key,
                case,
                gold,
                agent,
                terms,
                handler_for(case),
                gold_nondeterministic=golds.nondeterministic(planned.question),
            )
        except RefusedError as error:
            raise RefusedError(
                f"{planned.model.label}: {error}. What was measured is in {directory.path}; "
                "the same command goes on from there"
            ) from error
        directory.append(trial)
        watcher.trial(trial)


def _plan(
    experiment: Experiment, engine: Engine, questions: Sequence[Question], models: Sequence[Model]
) -> list[_Planned]:
    """Order the trials so that whatever drifts over a run falls on all models alike."""
    from bothends.agent.models.base import Case

    return [
        _Planned(
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


@contextlib.contextmanager
def _recorder(
    path: Path | None, model: Model, experiment: Experiment, engine: str, served_by: str
) -> Iterator[HandlerFor]:
    """Give each case the callback handler that records its model's replies, if any is to."""
    if path is None:
        yield lambda _: ()
        return
    from bothends.agent.models.recording import RecordingWriter, make_header

    header = make_header(
        model,
        suite=experiment.suite,
        engine=engine,
        scale_factor=experiment.scale_factor,
        recipe=experiment.recipe.name,
        server=served_by,
    )
    with RecordingWriter(path, header) as writer:
        yield lambda case: (writer.handler(case),)


def _check_labels(models: Sequence[Model]) -> None:
    twice = [label for label, n in Counter(model.label for model in models).items() if n > 1]
    if twice:
        raise UsageError(f"two models are called {twice[0]!r}: tell them apart with ?label=NAME")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
