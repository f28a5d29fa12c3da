"""Scores predictions made elsewhere, or a run's stored SQL, without an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bothends.engines import Limits
from bothends.engines.registry import engine_name
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.predictions import PredictionSet
from bothends.eval.scoring.pool import results
from bothends.eval.scoring.task import Bench, Task, folded
from bothends.eval.suites.base import Question, Suite
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError
from bothends.infra.system import usable_cores

if TYPE_CHECKING:
    from bothends.eval.store import RunDirectory

__all__ = ["Listener", "Silent", "rescore", "score_experiment", "score_predictions"]

# Most of what writes the record is imported only once the work has begun.


class Listener(Protocol):
    """Somebody who is told how scoring goes, such as a progress bar."""

    def begin(self, notes: Sequence[str], total: int) -> None:
        """Hear what is odd about the predictions, and how many questions there are."""

    def done(self) -> None:
        """Hear that one more question is judged."""


class Silent:
    """A listener that says nothing."""

    def begin(self, notes: Sequence[str], total: int) -> None:
        """Ignore it."""

    def done(self) -> None:
        """Ignore it."""


def score_predictions(
    experiment: Experiment,
    suite: Suite,
    sets: Sequence[PredictionSet],
    out: Path,
    *,
    listener: Listener | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> RunDirectory:
    """Judge every prediction against its question's gold, and write a run directory.

    Gold is executed once for each question, and answers that are the same once for all of them.

    Args:
        experiment: What is scored, and how; its task is `score`.
        suite: Its suite.
        sets: The predictions, one set for each of its models.
        out: The run directory; written whole, once everything is judged.
        listener: Who is told how it goes.
        meanwhile: Called once, after other processes have begun to work.

    Returns:
        The run directory: its trials are by file, and in the suite's order.

    Raises:
        BothendsError: If something does not exist, does not fit, or cannot be read or written.
    """
    listener = listener or Silent()
    everything = suite.questions
    questions = experiment.select(suite)
    for each in sets:
        each.check(everything)
    datasets = _datasets(experiment, suite, questions)
    engine = engine_name(experiment.engine)
    tasks = [
        Task(
            question.id,
            question.database,
            question.gold_sql(engine),
            _answers((each.of[question.id].sql for each in sets if question.id in each.of), engine),
        )
        for question in questions
    ]
    notes = [note for each in sets for note in _notes(each, questions, everything)]
    with results(tasks, _bench(experiment, datasets), experiment.workers, listener.done) as found:
        # Not before: what draws a bar may start a thread, and processes are forked before any.
        listener.begin(notes, len(tasks))
        from bothends.eval.grounds import question_terms
        from bothends.eval.manifest import Manifest
        from bothends.eval.scoring.clerk import Clerk, entrants, model_terms
        from bothends.eval.store import RunDirectory
        from bothends.infra.prices import PriceBook
        from bothends.infra.system import describe_hardware, package_versions

        directory = RunDirectory(out)
        prices = PriceBook.load(experiment.prices)
        machine = prices.engine(experiment.machine)
        entered = entrants(experiment, sets, prices)
        manifest = Manifest(
            name=out.resolve().name,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            experiment=experiment,
            models=tuple(model_terms(each, questions, everything, prices) for each in entered),
            questions=question_terms(questions, engine),
            excluded=experiment.excluded(suite),
            **_ground(experiment, datasets),
            machine=machine.describe(),
            prices=prices.snapshot([each.pricing for each in entered], [machine]),
            versions=package_versions(),
            hardware=describe_hardware(),
        )
        with directory.alone():
            directory.check(manifest)
            meanwhile()
            clerk = Clerk(experiment, engine, manifest.fingerprint, prices)
            golds, trials = [], []
            for question, task, result in zip(questions, tasks, found, strict=True):
                golds.append(clerk.gold(task, result.gold))
                trials.append([clerk.trial(question, each, result) for each in entered])
            directory.write(
                manifest, golds, [row[i] for i in range(len(entered)) for row in trials]
            )
    return directory


def score_experiment(
    sets: Sequence[PredictionSet], *, workers: int | None, **settings: Any
) -> Experiment:
    """Return what scores these predictions.

    Args:
        sets: The predictions.
        workers: Processes that execute queries at the same time; None for the default.
        settings: Other fields of the experiment.

    Raises:
        UsageError: If there are none, or one twice, or not as many models as files.
    """
    if not sets:
        raise UsageError("give at least one file of predictions")
    specs = tuple(f"predictions:{each.path}" for each in sets)
    twice = [spec for spec in dict.fromkeys(specs) if specs.count(spec) > 1]
    if twice:
        raise UsageError(f"{twice[0].partition(':')[2]} is given twice")
    if len(settings["priced_as"]) not in (0, 1, len(sets)):
        raise UsageError(
            f"there are {len(sets)} files of predictions and {len(settings['priced_as'])} models: "
            "give one for all, or one for each"
        )
    if workers is None:
        alone = settings["regimen"].repeats or engine_name(settings["engine"]) != "sqlite"
        workers = 1 if alone else usable_cores()
    return Experiment(
        task="score",
        models=specs,
        digests=tuple(each.digest for each in sets),
        workers=workers,
        **settings,
    )


def rescore(
    source: RunDirectory,
    experiment: Experiment,
    out: Path,
    *,
    timed: bool = False,
    listener: Listener | None = None,
) -> RunDirectory:
    """Judge the SQL that a run has stored once more, and write another run directory.

    What the agent did stays as it was recorded: its steps, seconds, tokens and dollars, and what
    ended without SQL. Timings stay too, unless new ones are asked for.

    Args:
        source: The run; it is only read.
        experiment: The run's own, with the limits, regimen and data for this time.
        out: The new run directory.
        timed: Whether queries are timed anew.
        listener: Who is told how it goes.

    Raises:
        BothendsError: If something does not exist, does not fit, or cannot be read or written.
    """
    from bothends.eval.grounds import question_terms
    from bothends.eval.scoring.clerk import Clerk
    from bothends.eval.store import RunDirectory
    from bothends.infra.prices import PriceBook

    if out.resolve() == source.path.resolve():
        raise UsageError(f"{out} holds the run itself: give another directory with --out")
    listener = listener or Silent()
    manifest = source.manifest
    suite = experiment.load_suite()
    questions = experiment.select(suite)
    trials = source.trials()
    datasets = _datasets(experiment, suite, questions)
    engine = engine_name(experiment.engine)
    sqls: dict[str, list[str]] = {question.id: [] for question in questions}
    for trial in trials:
        sqls[trial.key.question_id].append(trial.sql or "")
    tasks = [
        Task(
            question.id,
            question.database,
            question.gold_sql(engine),
            _answers(sqls[question.id], engine),
        )
        for question in questions
    ]
    bench = _bench(experiment, datasets)
    if not timed:
        bench = replace(bench, regimen=Regimen(repeats=0))
    with results(tasks, bench, experiment.workers, listener.done) as found:
        listener.begin([], len(tasks))
        manifest = manifest.model_copy(
            update={
                "name": out.resolve().name,
                "experiment": experiment,
                "questions": question_terms(questions, engine),
                **_ground(experiment, datasets),
            }
        )
        directory = RunDirectory(out)
        with directory.alone():
            directory.check(manifest)
            clerk = Clerk(
                experiment, engine, manifest.fingerprint, PriceBook.load(experiment.prices)
            )
            result_of = dict(zip((task.question_id for task in tasks), found, strict=True))
            golds = [clerk.gold(task, result_of[task.question_id].gold) for task in tasks]
            directory.write(
                manifest,
                golds,
                [clerk.again(trial, result_of[trial.key.question_id]) for trial in trials],
            )
    return directory


def _datasets(
    experiment: Experiment, suite: Suite, questions: Sequence[Question]
) -> dict[str, Dataset | None]:
    return {
        database: experiment.dataset(suite, database)
        for database in dict.fromkeys(question.database for question in questions)
    }


def _answers(sqls: Iterable[str], engine: str) -> dict[str, str]:
    answers: dict[str, str] = {}
    for sql in sqls:
        if sql:
            answers.setdefault(folded(sql, engine), sql)
    return answers


def _bench(experiment: Experiment, datasets: Mapping[str, Dataset | None]) -> Bench:
    rows = experiment.max_rows
    return Bench(
        engine=experiment.engine,
        datasets=datasets,
        limits=Limits(timeout_s=experiment.timeout_s, max_rows=rows),
        gold_limits=Limits(
            timeout_s=experiment.gold_timeout_s or experiment.timeout_s, max_rows=rows
        ),
        regimen=experiment.regimen,
    )


def _ground(experiment: Experiment, datasets: Mapping[str, Dataset | None]) -> dict[str, Any]:
    """Return what a manifest says of what queries ran on."""
    from bothends.engines import open_engine
    from bothends.eval.grounds import fingerprint_digest

    with open_engine(experiment.engine, next(iter(datasets.values()))) as opened:
        ground = asdict(opened.fingerprint())
    digests = {name: dataset.digest for name, dataset in datasets.items() if dataset}
    databases = digests if len(digests) > 1 else {}
    fingerprint = fingerprint_digest(ground, databases)
    return {"fingerprint": fingerprint, "engine": ground, "databases": databases}


def _notes(
    each: PredictionSet, questions: Sequence[Question], everything: Sequence[Question]
) -> list[str]:
    """Say what of a file has no counterpart."""
    missing, unknown = each.missing(questions), each.unknown(everything)
    notes = []
    if missing:
        notes.append(
            f"{each.path.name}: no prediction for {len(missing)} of {len(questions)} questions, "
            f"which count as wrong: {_few(missing)}"
        )
    if unknown:
        notes.append(
            f"{each.path.name}: {len(unknown)} prediction{'' if len(unknown) == 1 else 's'} for no "
            f"question of the suite, left out: {_few(unknown)}"
        )
    return notes


def _few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
