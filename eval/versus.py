"""Two runs on the same questions: what may be compared of them, and what differs besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

from bothends.eval.experiment import Experiment
from bothends.eval.manifest import Manifest, ModelTerms, QuestionTerms, changes
from bothends.eval.report.load import load_report
from bothends.eval.report.source import Group, ReportInput, contenders, groups
from bothends.eval.stats import Comparison, Contender, compare_family
from bothends.eval.store import RunDirectory
from bothends.infra.errors import UsageError

__all__ = ["Comparisons", "compare"]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What two runs, or the models of one, say of one another.

    Attributes:
        comparisons: Each pair that was compared; together they are the family of Holm's correction.
        family: Which pairs these are, in words.
        questions: The ids of the questions that were compared on.
        left_out: Questions that were not, with the reasons, by id.
        notes: What differs between the runs besides, a sentence without its stop each.
    """

    comparisons: tuple[Comparison, ...]
    family: str
    questions: tuple[str, ...]
    left_out: dict[str, str]
    notes: tuple[str, ...]


def compare(
    first: Path | str, second: Path | str | None = None, *, models: Sequence[str] = ()
) -> Comparisons:
    """Compare two runs, or the models of one, on the same questions.

    Of one run, every model is compared with every other. Of two, each model that is in both is
    compared with itself; where none is, each of the first with each of the second. Scripts step
    aside as they do in reports. A question is the same where its id and text are, and, on the same
    engine, its gold.

    Args:
        first: A run directory.
        second: Another; None to compare the models of the first.
        models: Only these models, by their names or labels.

    Raises:
        RecordError: If one is not a run directory or cannot be read.
        UsageError: If there is nothing to compare, or no question in common.
    """
    paths = [Path(each) for each in (first, second) if each is not None]
    runs = [load_report(path) for path in paths]
    chosen = [_chosen(run, models) for run in runs]
    unknown = set(models) - {name for run in runs for each in run.models for name in _names(each)}
    if unknown:
        named = ", ".join(dict.fromkeys(each.label for run in runs for each in run.models))
        raise UsageError(f"no model is called {', '.join(sorted(unknown))}; there are {named}")
    if len(runs) == 1:
        return _within(paths[0], runs[0], chosen[0])
    manifests = [RunDirectory(path).manifest for path in paths]
    same, left_out = _same_questions(*manifests)
    if not same:
        reasons = "; ".join(f"{each} ({count})" for each, count in _reasons(left_out))
        raise UsageError(f"{paths[0]} and {paths[1]} have no question in common: {reasons}")
    pairs, family = _pairs(paths, chosen)
    kept = [(_only(a, same), _only(b, same)) for a, b in pairs]
    databases = {each.id: each.database for each in manifests[0].questions}
    return Comparisons(
        comparisons=compare_family(kept, databases),
        family=family,
        questions=tuple(same),
        left_out=left_out,
        notes=(*_unfinished(paths, runs), *_differing(*manifests)),
    )


def _within(path: Path, run: ReportInput, found: Sequence[Group]) -> Comparisons:
    if len(found) < 2:
        raise UsageError(
            f"{path} has {len(found)} scored model{'' if len(found) == 1 else 's'} to compare: "
            "name a second run directory, or other models"
        )
    pairs = [(_contender(a, a.name), _contender(b, b.name)) for a, b in combinations(found, 2)]
    databases = {each.id: each.database for each in run.questions}
    return Comparisons(
        comparisons=compare_family(pairs, databases),
        family="every pair of the run's models",
        questions=tuple(each.id for each in run.questions),
        left_out={},
        notes=tuple(_unfinished([path], [run])),
    )


def _names(model: ModelTerms) -> tuple[str, str]:
    return model.spec, model.label


def _chosen(run: ReportInput, models: Sequence[str]) -> tuple[Group, ...]:
    found = groups(run)
    if models:
        found = tuple(each for each in found if set(models) & set(_names(each.model)))
        return tuple(each for each in found if each.summary.counted)
    return contenders(found)


def _contender(group: Group, name: str) -> Contender:
    return Contender(name, tuple(group.trials))


def _pairs(
    paths: Sequence[Path], chosen: Sequence[Sequence[Group]]
) -> tuple[list[tuple[Contender, Contender]], str]:
    for path, found in zip(paths, chosen, strict=True):
        if not found:
            raise UsageError(f"{path} has no scored trial of a model to compare")
    labels = Counter(each.name for found in chosen for each in found)
    runs = [path.resolve().name for path in paths]
    if runs[0] == runs[1]:
        runs = [str(path) for path in paths]

    def named(group: Group, side: int) -> Contender:
        known = labels[group.name] == 1
        return _contender(group, group.name if known else f"{group.name} in {runs[side]}")

    both = [(a, b) for a in chosen[0] for b in chosen[1] if a.model.spec == b.model.spec]
    family = "each model with itself in the other run"
    if not both:
        both = list(product(chosen[0], chosen[1]))
        family = "each model of the first run with each of the second"
    return [(named(a, 0), named(b, 1)) for a, b in both], family


def _same_questions(first: Manifest, second: Manifest) -> tuple[list[str], dict[str, str]]:
    """Return the ids of the questions that are the same in both, and why the others are not."""
    others = {each.id: each for each in second.questions}
    alike = first.engine["engine"] == second.engine["engine"]
    same, left_out = [], {}
    for each in first.questions:
        reason = _why_not(each, others.get(each.id), golds=alike)
        if reason:
            left_out[each.id] = reason
        else:
            same.append(each.id)
    known = {each.id for each in first.questions}
    left_out |= {each: "only in the second" for each in others if each not in known}
    return same, left_out


def _why_not(one: QuestionTerms, other: QuestionTerms | None, *, golds: bool) -> str:
    if other is None:
        return "only in the first"
    if (one.text, one.database) != (other.text, other.database):
        return "another question under the same id"
    return "another gold" if golds and one.gold_sql != other.gold_sql else ""


def _reasons(left_out: dict[str, str]) -> list[tuple[str, int]]:
    return Counter(left_out.values()).most_common()


def _only(contender: Contender, questions: Collection[str]) -> Contender:
    kept = frozenset(questions)
    return Contender(
        contender.name, tuple(each for each in contender.trials if each.key.question_id in kept)
    )


def _unfinished(paths: Sequence[Path], runs: Sequence[ReportInput]) -> Iterator[str]:
    for path, run in zip(paths, runs, strict=True):
        if run.missing > 0:
            yield f"{path} is not finished: {run.missing} of its trials are missing"


def _differing(first: Manifest, second: Manifest) -> Iterator[str]:
    """Yield what differs between two runs, first what bears on the verdicts."""
    one, other = first.engine, second.engine
    engines = [f"{each['engine']} {each['version']}" for each in (one, other)]
    if engines[0] != engines[1]:
        yield f"the engines differ: {engines[0]} and {engines[1]}"
    if one["scale_factor"] != other["scale_factor"]:
        yield f"the scale factors differ: {one['scale_factor']} and {other['scale_factor']}"
    elif engines[0] == engines[1] and first.fingerprint != second.fingerprint:
        yield "the engine's settings or the data differ"
    if first.hardware != second.hardware:
        yield f"the harness ran on unlike machines: {first.hardware}, and {second.hardware}"
    if first.machine != second.machine:
        yield f"the engine is priced unlike: {first.machine}, and {second.machine}"
    if first.versions.get("bothends") != second.versions.get("bothends"):
        yield "the versions of bothends differ"
    told = Experiment.SELECTION | Experiment.SCORING | {"engine", "scale_factor", "machine"}
    for each in changes(first.experiment, second.experiment):
        if each.partition(" ")[0].partition(".")[0] not in told:
            yield each.replace(" was ", " is ", 1).replace(" and is ", " and ", 1)
