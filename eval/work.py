"""The work on trials: several threads, each with an engine and agents of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bothends.engines.slots import QueuedEngine
from bothends.eval.budget import Budget
from bothends.eval.crew import work_through
from bothends.eval.experiment import Experiment
from bothends.eval.record import Trial, TrialKey
from bothends.eval.store import RunDirectory
from bothends.eval.suites.base import Question
from bothends.eval.watcher import Watcher
from bothends.infra.errors import RefusedError

if TYPE_CHECKING:
    from bothends.agent.agent import Agent
    from bothends.agent.models.base import Case, Model
    from bothends.eval.assessment import Terms
    from bothends.eval.recording import HandlersFor

__all__ = ["Planned", "Work"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial that is to be run.

    Attributes:
        key: What is tried.
        question: The question.
        case: The question as the agent is asked it.
        model: The controller.
    """

    key: TrialKey
    question: Question
    case: Case
    model: Model


class Work:
    """The trials over one database, of which several may be under way.

    Args:
        experiment: What is run.
        terms: What the trials have in common.
        checker: The checker, where it is a model of its own.
        directory: Where they are recorded.
        budget: What they may cost.
        handlers_for: The callback handlers of a model's case.
        watcher: Who is told of each.
    """

    def __init__(
        self,
        experiment: Experiment,
        terms: Terms,
        checker: Model | None,
        directory: RunDirectory,
        budget: Budget,
        handlers_for: HandlersFor,
        watcher: Watcher,
    ) -> None:
        from bothends.eval.gold_book import GoldBook

        self._experiment = experiment
        self._terms = terms
        self._checker = checker
        self._directory = directory
        self._budget = budget
        self._handlers_for = handlers_for
        self._watcher = watcher
        self._golds = GoldBook(experiment.suite, experiment.scale_factor, terms.bench, directory)
        self._telling = threading.Lock()
        self._interrupted = False

    def do(self, todo: Sequence[Planned]) -> None:
        """Run trials, until all are recorded or the budget allows no other.

        Raises:
            BothendsError: If a provider refuses a model, or something else is amiss that other
                trials would meet as well.
        """
        try:
            work_through(todo, self._experiment.concurrency, self._begin)
        except BaseException:
            # What is still under way runs on engines that are about to be closed.
            self._interrupted = True
            raise

    def _begin(self) -> Callable[[Planned], bool]:
        """Return what a thread does with each trial: it has an engine and agents of its own."""
        from bothends.agent.agent import Agent

        engine = QueuedEngine(self._terms.bench.slots)
        agents: dict[str, Agent] = {}

        def do(planned: Planned) -> bool:
            model = planned.model
            if model.spec not in agents:
                agents[model.spec] = Agent(
                    engine,
                    model,
                    checker=self._checker,
                    recipe=self._experiment.recipe,
                    limits=self._terms.bench.limits,
                    retry=self._experiment.retry,
                    redaction=self._terms.bench.redaction,
                    preflight=self._terms.bench.preflight,
                )
            expected = self._budget.admit(model.spec)
            if expected is None:
                return False
            trial = None
            try:
                trial = self._run(planned, agents[model.spec])
            finally:
                self._budget.settle(expected, trial)
            return trial is not None

        return do

    def _run(self, planned: Planned, agent: Agent) -> Trial | None:
        from bothends.eval.trial import run_trial
        from bothends.eval.witness import Witness, write_down

        witness = Witness() if self._experiment.transcripts else None
        key, case = planned.key, planned.case
        with self._telling:
            self._watcher.phase(f"question {key.question_id}: {planned.model.label}")
        gold = self._golds.outcome(planned.question)
        try:
            trial = run_trial(
                key,
                case,
                gold,
                agent,
                self._terms,
                (*self._handlers_for(planned.model, case), *([witness] if witness else ())),
                gold_nondeterministic=self._golds.nondeterministic(planned.question),
            )
        except RefusedError as error:
            raise RefusedError(
                f"{planned.model.label}: {error}. What was measured before is kept in "
                f"{self._directory.path}, and the same command goes on from there"
            ) from error
        if self._interrupted:
            return None
        trial = write_down(self._directory, trial, witness)
        with self._telling:
            self._watcher.trial(trial)
        return trial
