"""What is to be done of a sweep at one scale factor, whatever runs it, and how it is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bothends.engines import Fingerprint
from bothends.engines.registry import engine_name
from bothends.engines.slots import EngineSlots
from bothends.eval.budget import Budget
from bothends.eval.experiment import Experiment
from bothends.eval.grounds import question_terms
from bothends.eval.manifest import Manifest
from bothends.eval.preparation import describe_run, load_models, terms_of
from bothends.eval.record import Executed, Trial, TrialKey
from bothends.eval.redaction import load_redaction
from bothends.eval.runner import planned_keys
from bothends.eval.suites.base import Question
from bothends.eval.sweep_directory import SweepDirectory, unscaled
from bothends.eval.transcripts import untold
from bothends.eval.watcher import Watcher
from bothends.infra.errors import RecordError, UsageError
from bothends.infra.prices import PriceBook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bothends.agent.models.base import Model
    from bothends.eval.assessment import Terms

__all__ = ["NAMED_BY_SCALE", "Planned", "ScalePlan"]

NAMED_BY_SCALE: Final = "write {sf} into its address where the scale factor stands"
"""What to do where one address would be of the same data at every scale factor."""


@dataclass(frozen=True, slots=True)
class Planned:
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


class ScalePlan:
    """The trials at one scale factor other than that of the translations.

    Args:
        experiment: The experiment there.
        sweep: The sweep.
        translations: The trials in which the queries were written.

    Attributes:
        scale_factor: The scale factor.
        directory: Where its trials are kept.
        suite: The suite.
        questions: The questions.
        prices: What tokens and machines cost.
        planned: The trials, whether they were run or not.
    """

    def __init__(
        self, experiment: Experiment, sweep: SweepDirectory, translations: Sequence[Trial]
    ) -> None:
        assert experiment.scale_factor is not None  # noqa: S101 - at_scale gave it
        self.experiment, self.scale_factor = experiment, experiment.scale_factor
        self.sweep, self.directory = sweep, sweep.at(self.scale_factor)
        self.suite = experiment.load_suite()
        self.questions = experiment.select(self.suite)
        self.prices = PriceBook.load(experiment.prices)
        self._models, self._checker = load_models(experiment, self.prices)
        self._asked = question_terms(self.questions, engine_name(experiment.engine))
        translated = {unscaled(trial.key): trial for trial in translations}
        self.planned = tuple(
            Planned(key, question, model, translated[unscaled(key)])
            for key, question, model in planned_keys(experiment, self.questions, self._models)
            if unscaled(key) in translated
        )

    def held(self, watcher: Watcher, changed: Callable[[Manifest], bool]) -> bool:
        """Whether all of it was run before; the watcher is told so.

        Args:
            watcher: Who is told.
            changed: Tells whether the data are other than those of the run.

        Raises:
            RecordError: If another run is there, or one of other data.
        """
        self._check_queries()
        keys = [planned.key for planned in self.planned]
        if not self.directory.holds(self.experiment, self._asked, keys, grow=True):
            return False
        if changed(self.directory.manifest):
            self.directory.refuse(["the data are not the same"], "sweep")
        trials = self.directory.trials()
        watcher.begin(self.directory.manifest, trials, len(trials))
        return True

    def _check_queries(self) -> None:
        """Refuse trials that ran other queries than the translations that are there now."""
        queries = {planned.key: planned.translated.sql for planned in self.planned}
        for trial in self.directory.trials():
            if queries.get(trial.key, trial.sql) != trial.sql and trial.status != "gold_failed":
                raise RecordError(
                    f"{self.directory.path} ran another query for question "
                    f"{trial.key.question_id} of {trial.model_label} than the one that was "
                    f"translated at scale factor {trial.translated_at:g}: remove the directory, so "
                    "that it is run anew, or put the translations back"
                )

    def manifest(self, fingerprint: Fingerprint, databases: Mapping[str, str]) -> Manifest:
        """Return the manifest of the run there.

        Args:
            fingerprint: The engine's.
            databases: The digest of each database, where there are several.

        Raises:
            UsageError: If the engine has the same data whatever the scale factor.
        """
        manifest = describe_run(
            self.experiment,
            f"{self.sweep.path.resolve().name}/{self.directory.path.name}",
            self.suite,
            self._asked,
            self._models,
            fingerprint,
            databases,
            self.prices,
            self.prices.engine(self.experiment.machine),
        )
        for scale_factor, run in self.sweep.runs().items():
            if scale_factor == self.scale_factor:
                continue
            if run.manifest.engine["data"] == manifest.engine["data"]:
                raise UsageError(
                    f"the engine has the same data at scale factors {scale_factor:g} and "
                    f"{self.scale_factor:g}, {manifest.engine['data']}: {NAMED_BY_SCALE}"
                )
        return manifest

    def terms(self, slots: EngineSlots, manifest: Manifest) -> Terms:
        """Return what the trials there have in common.

        Args:
            slots: The engines that run them.
            manifest: The run's manifest.
        """
        experiment, prices = self.experiment, self.prices
        machine, redaction = prices.engine(experiment.machine), load_redaction(experiment.redact)
        return terms_of(experiment, slots, manifest, prices, machine, redaction)

    def budget(self) -> Budget:
        """Return the sweep's budget, of which what was recorded is spent."""
        experiment = self.experiment
        return Budget(experiment.budget_usd, experiment.budget_tokens, self.sweep.trials())

    def late(self) -> dict[TrialKey, Trial]:
        """Return what is not run there, as `SweepDirectory.timeouts` does."""
        return self.sweep.timeouts(below=self.scale_factor)

    def keep(
        self,
        planned: Planned,
        executed: Executed | None,
        terms: Terms,
        *,
        gold_failed: str | None,
        smaller: Trial | None,
    ) -> Trial:
        """Record a trial, and return its record; the arguments are those of `carry`."""
        from bothends.eval.carry import carry

        carried = carry(
            planned.translated,
            self.scale_factor,
            executed,
            terms,
            model=planned.model,
            checker=self._checker,
            gold_failed=gold_failed,
            smaller=smaller,
        )
        return self.directory.append(carried if self.experiment.transcripts else untold(carried))
