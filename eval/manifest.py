"""The manifest: what a run was, and what two runs differ in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from bothends.agent.record import ModelKind
from bothends.eval.experiment import Experiment

__all__ = ["ForkOrigin", "Manifest", "ModelTerms", "QuestionTerms", "changes", "edits", "grown"]

_NAMED: Final = 3


class _Terms(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelTerms(_Terms):
    """What a model was, as the run saw it."""

    spec: str = Field(description="As the user named it.")
    label: str = Field(description="Its name in tables.")
    kind: ModelKind = Field(description="hosted, self_hosted, replay or scripted.")
    description: str = Field(description="What it is, in a plain sentence.")
    priced_by: str = Field(description="What its calls were priced by.")
    sampling: dict[str, float | int | str | None] = Field(
        default_factory=dict,
        description="The sampling parameters that were sent, null for those that were left to the "
        "provider; empty for a model that samples nothing.",
    )


class QuestionTerms(_Terms):
    """A question as it was asked."""

    id: str = Field(description="The question's id.")
    title: str = Field(description="A few words for tables.")
    text: str = Field(description="The question's text.")
    gold_sql: str = Field(description="Its gold on this run's engine.")
    database: str = Field("", description="The database it is asked of, where there are several.")
    difficulty: str = Field("", description="How hard its suite says it is.")
    evidence: str = Field("", description="What the agent was told besides the question.")


class ForkOrigin(_Terms):
    """Where a run began that another one's changed experiment led to."""

    run: str = Field(description="The name of the run whose trials were taken over.")
    trials: int = Field(description="How many: those that this run would have measured alike.")


class Manifest(_Terms):
    """What a run was: its resolved configuration and everything that bears on its figures."""

    run_version: int = Field(1, description="The version of the run directory's layout.")
    name: str = Field(description="The run's name: its directory's.")
    created_at: str = Field(description="When it was first started, ISO 8601, UTC.")
    experiment: Experiment = Field(description="The resolved configuration.")
    models: tuple[ModelTerms, ...] = Field(description="The controllers.")
    questions: tuple[QuestionTerms, ...] = Field(description="The questions that are asked.")
    excluded: dict[str, str] = Field(
        default_factory=dict,
        description="Questions that are not, since their gold does not hold on this engine: why.",
    )
    fingerprint: str = Field(description="Digest of the engine's fingerprint and the databases.")
    engine: dict[str, Any] = Field(
        description="The engine's fingerprint, over the first database where there are several."
    )
    databases: dict[str, str] = Field(
        default_factory=dict, description="Digest of each database, where there are several."
    )
    machine: str = Field(description="The machine that the engine is priced as, with its price.")
    prices: dict[str, Any] = Field(description="The price snapshot.")
    versions: dict[str, str] = Field(description="Versions of the packages that bear on results.")
    hardware: str = Field(description="The machine that ran the harness.")
    forked_from: ForkOrigin | None = Field(
        None, description="The run that this one was forked from; null for most."
    )


def changes(old: Experiment, new: Experiment, *, grow: bool = False) -> list[str]:
    """Return what differs of what is measured, a field each, nested ones by their dotted path.

    Args:
        old: The one that was run.
        new: The one that is to be run.
        grow: Whether other trials may be added, so that it does not matter which there are.
    """
    apart = Experiment.SELECTION if grow else frozenset[str]()
    before, after = (
        {path: value for path, value in _flat(each.measured()) if path not in apart}
        for each in (old, new)
    )
    return [
        f"{path} was {json.dumps(before.get(path))} and is {json.dumps(after.get(path))}"
        for path in dict.fromkeys([*after, *before])
        if before.get(path) != after.get(path)
    ]


def _flat(values: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{outer}{name}.")
        else:
            yield f"{outer}{name}", value


def edits(
    old: Sequence[QuestionTerms], new: Sequence[QuestionTerms], *, grow: bool = False
) -> list[str]:
    """Return which questions are not what they were, a few of them, a sentence each.

    Args:
        old: Those that were asked.
        new: Those that are to be asked.
        grow: Whether others may be added, so that only those are compared that both have.
    """
    before = {each.id: each for each in old}
    after = {each.id: each for each in new}
    if grow:
        both = before.keys() & after.keys()
        before = {name: each for name, each in before.items() if name in both}
        after = {name: each for name, each in after.items() if name in both}
    edited = [
        f"question {name!r} {'is new' if name not in before else 'or its gold has changed'}"
        if name in after
        else f"question {name!r} is gone"
        for name in dict.fromkeys([*after, *before])
        if before.get(name) != after.get(name)
    ]
    more = len(edited) - _NAMED
    return [*edited[:_NAMED], *([f"and {more} more"] if more > 0 else [])]


def grown(old: Manifest, new: Manifest) -> Manifest:
    """Return the manifest of a run to which other questions, models or replicas are added.

    Args:
        old: The run's, of which nothing is lost.
        new: What is to be run, which may be of other trials; all else is equal.
    """
    models = {each.spec: each for each in (*old.models, *new.models)}
    questions = {each.id: each for each in (*old.questions, *new.questions)}
    choice = Experiment.SELECTION - {"models", "replicas"}
    before, after = old.experiment, new.experiment
    chosen = {name: getattr(before, name) for name in choice}
    if chosen != {name: getattr(after, name) for name in choice}:
        # What two choices add up to is said by its questions alone.
        chosen = {name: Experiment.model_fields[name].default for name in choice}
        chosen["question_ids"] = tuple(questions)
    prices = {
        name: {**old.prices.get(name, {}), **value} if isinstance(value, dict) else value
        for name, value in new.prices.items()
    }
    return new.model_copy(
        update={
            "created_at": old.created_at,
            "forked_from": old.forked_from,
            "experiment": after.model_copy(
                update={
                    **chosen,
                    "models": tuple(models),
                    "replicas": max(before.replicas, after.replicas),
                }
            ),
            "models": tuple(models.values()),
            "questions": tuple(questions.values()),
            "excluded": {**old.excluded, **new.excluded},
            "databases": {**old.databases, **new.databases},
            "prices": prices,
        }
    )
