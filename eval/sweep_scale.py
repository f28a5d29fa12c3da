"""A sweep's work at one scale factor: the queries that were written elsewhere, executed there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bothends.engines.registry import engine_name
from bothends.eval.budget import Budget, kind_of
from bothends.eval.crew import work_through
from bothends.eval.experiment import Experiment
from bothends.eval.grounds import Grounds, data_changed, question_terms
from bothends.eval.manifest import Manifest
from bothends.eval.preparation import describe_run, load_models, terms_of
from bothends.eval.record import Trial, TrialKey
from bothends.eval.redaction import load_redaction
from bothends.eval.runner import planned_keys
from bothends.eval.suites.base import Question
from bothends.eval.sweep_directory import SweepDirectory, unscaled
from bothends.eval.transcripts import untold
from bothends.eval.watcher import Watcher
from bothends.infra.errors import UsageError
from bothends.infra.prices import PriceBook

if TYPE_CHECKING:
    from bothends.agent.models.base import Model
    from bothends.eval.assessment import Terms
    from bothends.eval.gold_book import GoldBook

__all__ = ["NAMED_BY_SCALE", "ScaleWork"]

NAMED_BY_SCALE: Final = "write {sf} into its address where the scale factor stands"
"""What to do where one address would be of the same data at every scale factor."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A trial that is to be run.

    Attributes:
        key: What is tried.
        question: The question.
        model: The controller.
        translated: The trial in which the query was written.
    """

    key: TrialKey
    question: Question
    model: Model
    translated: Trial


class ScaleWork:
    """The work at one scale factor other than that of the translations.

    Args:
        experiment: The experiment there.
        sweep: The sweep.
        translations: The trials in which the queries were written.
        watcher: Who is told how it goes.
    """

    def __init__(
        self,
        experiment: Experiment,
        sweep: SweepDirectory,
        translations: Sequence[Trial],
        watcher: Watcher,
    ) -> None:
        assert experiment.scale_factor is not None  # noqa: S101 - at_scale gave it
        self._experiment, self._scale_factor = experiment, experiment.scale_factor
        self._sweep, self._watcher = sweep, watcher
        self._directory = sweep.at(self._scale_factor)
        self._telling = threading.Lock()
        self._suite = experiment.load_suite()
        self._questions = experiment.select(self._suite)
        self._prices = PriceBook.load(experiment.prices)
        self._models, self._checker = load_models(experiment, self._prices)
        translated = {unscaled(trial.key): trial for trial in translations}
        self._planned = tuple(
            _Planned(key, question, model, translated[unscaled(key)])
            for key, question, model in planned_keys(experiment, self._questions, self._models)
            if unscaled(key) in translated
        )

    def do(self) -> None:
        """Run what is missing there."""
        experiment, directory = self._experiment, self._directory
        asked = question_terms(self._questions, engine_name(experiment.engine))
        keys = [planned.key for planned in self._planned]
        if directory.holds(experiment, asked, keys, grow=True):
            if data_changed(directory.manifest, experiment, self._suite):
                directory.refuse(["the data are not the same"], "sweep")
            trials = directory.trials()
            self._watcher.begin(directory.manifest, trials, len(trials))
            return
        with (
            Grounds(experiment, self._suite, self._questions, self._watcher.phase) as grounds,
            directory.alone(),
        ):
            manifest = describe_run(
                experiment,
                f"{self._sweep.path.resolve().name}/{directory.path.name}",
                self._suite,
                asked,
                self._models,
                grounds.at(self._questions[0].database).engines[0],
                grounds,
                self._prices,
                self._prices.engine(experiment.machine),
            )
            self._check_data(manifest)
            directory.start(manifest, grow=True)
            self._run(grounds, manifest)

    def _run(self, grounds: Grounds, manifest: Manifest) -> None:
        experiment, watcher = self._experiment, self._watcher
        done = self._directory.trials()
        had = {trial.key for trial in done}
        todo = [planned for planned in self._planned if planned.key not in had]
        watcher.begin(manifest, done, len(done) + len(todo))
        budget = Budget(experiment.budget_usd, experiment.budget_tokens, self._sweep.trials())
        kinds = [kind_of(planned.key, carried=True) for planned in todo]
        if not todo or not watcher.go_on(budget.forecast(kinds)):
            return
        for database, part in groupby(todo, lambda planned: planned.question.database):
            terms = terms_of(
                experiment,
                grounds.at(database),
                manifest,
                self._prices,
                self._prices.engine(experiment.machine),
                load_redaction(experiment.redact),
            )
            begin = partial(self._doing, terms, budget, self._golds(terms))
            work_through(tuple(part), experiment.engine_slots, begin)
        if budget.exhausted:
            watcher.stopped(f"{budget.why()}; the same command with a larger budget goes on")

    def _golds(self, terms: Terms) -> GoldBook:
        from bothends.eval.gold_book import GoldBook

        return GoldBook(self._experiment.suite, self._scale_factor, terms.bench, self._directory)

    def _doing(self, terms: Terms, budget: Budget, golds: GoldBook) -> Callable[[_Planned], bool]:
        """Return what does one trial."""
        from bothends.agent.models.base import Case
        from bothends.eval.carry import carry
        from bothends.eval.execution import execute

        engine, directory, scale = terms.bench.slots.engines[0], self._directory, self._scale_factor
        late = self._sweep.timeouts(below=scale)

        def do(planned: _Planned) -> bool:
            key, question = planned.key, planned.question
            expected = budget.admit(kind_of(key, carried=True))
            if expected is None:
                return False
            with self._telling:
                self._watcher.phase(
                    f"scale factor {scale:g}, question {question.id}: {planned.model.label}"
                )
            trial = None
            try:
                gold, smaller = golds.outcome(question), late.get(unscaled(key))
                failed = None if gold.status == "ok" else f"gold {gold.status}: {gold.error}"
                sql, executed = planned.translated.sql, None
                if failed is None and smaller is None and sql is not None:
                    executed = execute(
                        Case(
                            question.id,
                            question.prompt,
                            key.replica,
                            question.gold_sql(engine.name),
                            engine.dialect,
                        ),
                        gold,
                        sql,
                        terms.bench,
                        gold_nondeterministic=golds.nondeterministic(question),
                    )
                carried = carry(
                    planned.translated,
                    scale,
                    executed,
                    terms,
                    model=planned.model,
                    checker=self._checker,
                    gold_failed=failed,
                    smaller=smaller,
                )
                kept = carried if self._experiment.transcripts else untold(carried)
                trial = directory.append(kept)
            finally:
                budget.settle(expected, trial)
            with self._telling:
                self._watcher.trial(trial)
            return True

        return do

    def _check_data(self, manifest: Manifest) -> None:
        """Refuse an engine that has the same data whatever the scale factor."""
        for scale_factor, run in self._sweep.runs().items():
            if scale_factor == self._scale_factor:
                continue
            if run.manifest.engine["data"] == manifest.engine["data"]:
                raise UsageError(
                    f"the engine has the same data at scale factors {scale_factor:g} and "
                    f"{self._scale_factor:g}, {manifest.engine['data']}: {NAMED_BY_SCALE}"
                )
