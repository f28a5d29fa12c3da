"""What a report is made from: the trials of runs and what their manifests say of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bothends.eval.manifest import ModelTerms, QuestionTerms
from bothends.eval.metrics import counted
from bothends.eval.record import Gold, Trial, TrialKey
from bothends.eval.summary import Summary, summarise
from bothends.eval.transcripts import Transcript
from bothends.infra.prices import EnginePrice

__all__ = ["Group", "ReportInput", "contenders", "groups", "merged", "split"]


def _no_transcripts(_: Collection[TrialKey]) -> Iterable[Transcript]:
    return ()


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Everything a report shows, read from one run directory, or from several.

    Attributes:
        name: The run's name.
        suite: The suite's name.
        engine: The engine, with its version.
        scale_factor: The scale factor of the data, or None where it has none, or several.
        models: The models, in the order in which tables list them.
        recipe: The agent recipe's name.
        replicas: Repetitions of each question by each model; the fewest of several runs.
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
        price: What the engine's work costs; None where the runs do not agree.
        timeout_s: The time limit of a query, in seconds; the shortest of several runs.
        checker: The checker, where it is not the controller's model.
        golds: The gold results that are recorded.
        transcripts: Returns the transcripts that are kept of the trials with these keys.
        parts: The runs that it was put together from; empty where it is of one.
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
    price: EnginePrice | None = None
    timeout_s: float = 300.0
    checker: str | None = None
    golds: Sequence[Gold] = ()
    transcripts: Callable[[Collection[TrialKey]], Iterable[Transcript]] = _no_transcripts
    parts: Sequence[ReportInput] = ()

    @property
    def runs(self) -> Sequence[ReportInput]:
        """The runs that it is of: its parts, or itself alone."""
        return self.parts or (self,)

    @property
    def scale_factors(self) -> tuple[float, ...]:
        """The scale factors of the data, from the smallest."""
        return tuple(sorted({r.scale_factor for r in self.runs if r.scale_factor is not None}))

    @property
    def missing(self) -> int:
        """How many trials the runs still lack."""
        return sum(
            len(run.models) * len(run.questions) * run.replicas - len(run.trials)
            for run in self.runs
        )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All trials by configuration."""
        return _grouped(self)


@dataclass(frozen=True, slots=True)
class Group:
    """The trials of one configuration, all of them or those of one question, and their summary.

    A configuration is one model on one engine, scale factor, recipe and checker.

    Attributes:
        name: The model's label, with what tells it apart from the report's other configurations.
        label: The same without the scale factor: configurations that differ in scale alone share
            it.
        model: The model.
        scale_factor: The scale factor of its data, or None where it has none.
        trials: Its trials.
        summary: Their metrics.
        valid: How many of the counted trials are valid.
    """

    name: str
    label: str
    model: ModelTerms
    scale_factor: float | None
    trials: tuple[Trial, ...]
    summary: Summary
    valid: int

    def by_label(self) -> Group:
        """Return the same group under its label, for where the scale factor is said or plain."""
        return replace(self, name=self.label)

    def of(self, trials: Iterable[Trial]) -> Group:
        """Return the same configuration with these trials of it only."""
        return _group(self.name, self.label, self.model, self.scale_factor, tuple(trials))


def groups(source: ReportInput) -> tuple[Group, ...]:
    """Return all trials by configuration.

    Every model of a manifest has a group, in the manifest's order, if an empty one.
    """
    return source.groups


def split(source: ReportInput, by: Callable[[Trial], str]) -> dict[str, list[Group]]:
    """Return the groups of each value that a trial has, without those that have no such trial.

    Args:
        source: The report's content.
        by: The value by which trials are split, as the id of their question.
    """
    found: dict[str, list[Group]] = defaultdict(list)
    for group in groups(source):
        of_value = defaultdict(list)
        for trial in group.trials:
            of_value[by(trial)].append(trial)
        for value, trials in of_value.items():
            found[value].append(group.of(trials))
    return found


def contenders(found: Sequence[Group]) -> tuple[Group, ...]:
    """Return the models that are compared with one another.

    These have a trial that counts. Scripts, which are told the SQL, step aside where two or more
    models are there to be compared.
    """
    scored = tuple(group for group in found if group.summary.counted)
    models = tuple(group for group in scored if group.model.kind != "scripted")
    return models if len({group.label for group in models}) > 1 else scored


def merged(name: str, runs: Sequence[ReportInput]) -> ReportInput:
    """Return what several runs hold together, as one report's content.

    Args:
        name: What the whole is called.
        runs: The runs, each as it was read; one alone is returned as it is.
    """
    if len(runs) == 1:
        return runs[0]
    scales = {run.scale_factor for run in runs}
    questions: dict[str, QuestionTerms] = {}
    for run in runs:
        for question in run.questions:
            questions.setdefault(question.id, question)

    def each(term: Callable[[ReportInput], str]) -> str:
        return "; ".join(dict.fromkeys(term(run) for run in runs))

    prices = {run.price for run in runs}

    return ReportInput(
        name=name,
        suite=each(lambda run: run.suite),
        engine=each(lambda run: run.engine),
        scale_factor=scales.pop() if len(scales) == 1 else None,
        models=list({model.spec: model for run in runs for model in run.models}.values()),
        recipe=each(lambda run: run.recipe),
        replicas=min(run.replicas for run in runs),
        billing=each(lambda run: run.billing),
        machine=each(lambda run: run.machine),
        prices=each(lambda run: run.prices),
        regimen=each(lambda run: run.regimen),
        hardware=each(lambda run: run.hardware),
        started=min(run.started for run in runs),
        finished=max((run.finished for run in runs if run.finished), default=None),
        questions=list(questions.values()),
        trials=[trial for run in runs for trial in run.trials],
        versions={package: version for run in runs for package, version in run.versions.items()},
        left_out={question: why for run in runs for question, why in run.left_out.items()},
        price=prices.pop() if len(prices) == 1 else None,
        timeout_s=min(run.timeout_s for run in runs),
        parts=tuple(runs),
    )


_Key = tuple[str, str, str, str, str | None, str]


def _grouped(source: ReportInput) -> tuple[Group, ...]:
    trials: dict[_Key, list[Trial]] = {}
    terms: dict[_Key, tuple[ModelTerms, float | None]] = {}
    for run in source.runs:
        of_model = defaultdict(list)
        for trial in run.trials:
            of_model[trial.key.model].append(trial)
        scale = "" if run.scale_factor is None else f"SF {run.scale_factor:g}"
        for model in run.models:
            key: _Key = (model.spec, run.suite, run.engine, run.recipe, run.checker, scale)
            terms.setdefault(key, (model, run.scale_factor))
            trials.setdefault(key, []).extend(of_model[model.spec])
    labels = Counter({model.spec: model.label for model, _ in terms.values()}.values())
    # What a name says besides the label: each term of which there are several.
    several = [i for i in range(1, 6) if len({key[i] for key in trials}) > 1]
    made = []
    for key, (model, scale_factor) in terms.items():
        apart = "" if labels[model.label] == 1 else f" [{model.spec}]"
        said = [f"checker {key[i]}" if i == 4 else str(key[i]) for i in several if key[i]]
        same = [text for text in said if text != key[5]]
        made.append(
            _group(
                ", ".join([f"{model.label}{apart}", *said]),
                ", ".join([f"{model.label}{apart}", *same]),
                model,
                scale_factor,
                tuple(trials[key]),
            )
        )
    return tuple(made)


def _group(
    name: str,
    label: str,
    model: ModelTerms,
    scale_factor: float | None,
    trials: tuple[Trial, ...],
) -> Group:
    valid = sum(t.verdict is not None and t.verdict.focus for t in counted(trials))
    return Group(name, label, model, scale_factor, trials, summarise(trials), valid)
