"""A sweep's work at one scale factor: the queries that were written elsewhere, executed there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from bothends.eval.budget import Budget, kind_of
from bothends.eval.crew import work_through
from bothends.eval.grounds import Grounds, data_changed
from bothends.eval.manifest import Manifest
from bothends.eval.sweep_directory import unscaled
from bothends.eval.sweep_plan import Planned, ScalePlan
from bothends.eval.watcher import Watcher

if TYPE_CHECKING:
    from bothends.eval.assessment import Terms
    from bothends.eval.gold_book import GoldBook

__all__ = ["ScaleWork"]


class ScaleWork:
    """The work at one scale factor other than that of the translations, done in this process.

    Args:
        plan: What is to be done.
        watcher: Who is told how it goes.
    """

    def __init__(self, plan: ScalePlan, watcher: Watcher) -> None:
        self._plan, self._watcher = plan, watcher
        self._telling = threading.Lock()

    def do(self) -> None:
        """Run what is missing there."""
        plan = self._plan
        experiment, suite = plan.experiment, plan.suite
        if plan.held(self._watcher, lambda manifest: data_changed(manifest, experiment, suite)):
            return
        with (
            Grounds(experiment, suite, plan.questions, self._watcher.phase) as grounds,
            plan.directory.alone(),
        ):
            engine = grounds.at(plan.questions[0].database).engines[0]
            manifest = plan.manifest(engine.fingerprint(), grounds.digests)
            plan.directory.start(manifest, grow=True)
            self._run(grounds, manifest)

    def _run(self, grounds: Grounds, manifest: Manifest) -> None:
        plan, watcher = self._plan, self._watcher
        done = plan.directory.trials()
        had = {trial.key for trial in done}
        todo = [planned for planned in plan.planned if planned.key not in had]
        watcher.begin(manifest, done, len(done) + len(todo))
        budget = plan.budget()
        kinds = [kind_of(planned.key, carried=True) for planned in todo]
        if not todo or not watcher.go_on(budget.forecast(kinds)):
            return
        for database, part in groupby(todo, lambda planned: planned.question.database):
            terms = plan.terms(grounds.at(database), manifest)
            begin = partial(self._doing, terms, budget, self._golds(terms))
            work_through(tuple(part), plan.experiment.engine_slots, begin)
        if budget.exhausted:
            watcher.stopped(f"{budget.why()}; the same command with a larger budget goes on")

    def _golds(self, terms: Terms) -> GoldBook:
        from bothends.eval.gold_book import GoldBook

        plan = self._plan
        return GoldBook(plan.experiment.suite, plan.scale_factor, terms.bench, plan.directory)

    def _doing(self, terms: Terms, budget: Budget, golds: GoldBook) -> Callable[[Planned], bool]:
        """Return what does one trial."""
        from bothends.agent.models.base import Case
        from bothends.eval.execution import execute

        engine, plan = terms.bench.slots.engines[0], self._plan
        late = plan.late()

        def do(planned: Planned) -> bool:
            key, question = planned.key, planned.question
            expected = budget.admit(kind_of(key, carried=True))
            if expected is None:
                return False
            with self._telling:
                self._watcher.phase(
                    f"scale factor {plan.scale_factor:g}, question {question.id}: "
                    f"{planned.model.label}"
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
                trial = plan.keep(planned, executed, terms, gold_failed=failed, smaller=smaller)
            finally:
                budget.settle(expected, trial)
            with self._telling:
                self._watcher.trial(trial)
            return True

        return do
