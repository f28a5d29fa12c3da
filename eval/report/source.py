"""What a report is made from: the trials of a run and what its manifest says of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bothends.eval.manifest import ModelTerms, QuestionTerms
from bothends.eval.metrics import Summary, counted, summarise
from bothends.eval.record import Trial

__all__ = ["Group", "ReportInput", "contenders", "groups"]


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Everything a report shows, read from one run directory.

    Attributes:
        name: The run's name.
        suite: The suite's name.
        engine: The engine, with its version.
        scale_factor: The scale factor of the data, or None where it has none.
        models: The models, in the order in which tables list them.
        recipe: The agent recipe's name.
        replicas: Repetitions of each question by each model.
        billing: Which engine seconds are charged, `busy` or `wall`.
        machine: The machine that the engine is priced as, in words.
        prices: Where prices come from, with their date.
        regimen: How engine seconds were measured, in words.
        hardware: What the run ran on.
        started: When it started, ISO 8601.
        finished: When its last trial ended, or None.
        versions: Versions of what bears on the figures, by name.
        left_out: Questions of the suite that were not asked, with the reasons, by id.
        questions: The questions, in the suite's order.
        trials: Every trial of the run.
    """

    name: str
    suite: str
    engine: str
    scale_factor: float | None
    models: Sequence[ModelTerms]
    recipe: str
    replicas: int
    billing: str
    machine: str
    prices: str
    regimen: str
    hardware: str
    started: str
    finished: str | None
    questions: Sequence[QuestionTerms]
    trials: Sequence[Trial]
    versions: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """How many trials the run still lacks."""
        return len(self.models) * len(self.questions) * self.replicas - len(self.trials)

    @cached_property
    def by_model(self) -> tuple[Group, ...]:
        """All of the run's trials by model."""
        return _grouped(self, self.trials)


@dataclass(frozen=True, slots=True)
class Group:
    """One model's trials, all of them or those of one question, and their summary.

    Attributes:
        name: The model's label, told apart from others of the same label.
        model: The model.
        trials: Its trials.
        summary: Their metrics.
        valid: How many of the counted trials are valid.
    """

    name: str
    model: ModelTerms
    trials: tuple[Trial, ...]
    summary: Summary
    valid: int


def groups(source: ReportInput, trials: Iterable[Trial] | None = None) -> tuple[Group, ...]:
    """Return the run's trials by model, or those of its trials that are given.

    Every model of the manifest has a group, in the manifest's order, if an empty one.
    """
    return source.by_model if trials is None else _grouped(source, trials)


def _grouped(source: ReportInput, trials: Iterable[Trial]) -> tuple[Group, ...]:
    labels = Counter(model.label for model in source.models)
    of_model = defaultdict(list)
    for trial in trials:
        of_model[trial.key.model].append(trial)
    return tuple(
        Group(
            name=model.label if labels[model.label] == 1 else f"{model.label} [{model.spec}]",
            model=model,
            trials=tuple(of_model[model.spec]),
            summary=summarise(of_model[model.spec]),
            valid=sum(
                trial.verdict is not None and trial.verdict.focus
                for trial in counted(of_model[model.spec])
            ),
        )
        for model in source.models
    )


def contenders(found: Sequence[Group]) -> tuple[Group, ...]:
    """Return the models that are compared with one another.

    These have a trial that counts. Scripts, which are told the SQL, step aside where two or more
    models are there to be compared.
    """
    scored = tuple(group for group in found if group.summary.counted)
    models = tuple(group for group in scored if group.model.kind != "scripted")
    return models if len(models) > 1 else scored
