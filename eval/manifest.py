"""The manifest: what a run was, and what two runs differ in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from bothends.agent.record import ModelKind
from bothends.eval.experiment import Experiment

__all__ = ["ForkOrigin", "Manifest", "ModelTerms", "QuestionTerms", "changes", "edits"]

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


def changes(old: Experiment, new: Experiment) -> list[str]:
    """Return what differs of what is measured, a field each, nested ones by their dotted path."""
    before, after = (dict(_flat(each.measured())) for each in (old, new))
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


def edits(old: Sequence[QuestionTerms], new: Sequence[QuestionTerms]) -> list[str]:
    """Return which questions are not what they were, a few of them, a sentence each."""
    before = {each.id: each for each in old}
    after = {each.id: each for each in new}
    edited = [
        f"question {name!r} {'is new' if name not in before else 'or its gold has changed'}"
        if name in after
        else f"question {name!r} is gone"
        for name in dict.fromkeys([*after, *before])
        if before.get(name) != after.get(name)
    ]
    more = len(edited) - _NAMED
    return [*edited[:_NAMED], *([f"and {more} more"] if more > 0 else [])]
