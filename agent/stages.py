"""Which stage each step's seconds and tokens belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bothends.agent.record import STAGE_OF_TOOL, STAGES, Stage, Step, Usage

__all__ = ["Share", "stage_shares", "top_level_seconds", "total_usage"]


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a step that belongs to a stage.

    Attributes:
        step: The step.
        fraction: How much of it, above 0 and up to 1. A step's fractions add up to 1.
    """

    step: Step
    fraction: float


def stage_shares(steps: Sequence[Step]) -> dict[Stage, list[Share]]:
    """Share the steps of one trial out among the stages.

    An Observation-Thought-Action iteration belongs to the stage of the tool that it calls: the
    LLM turn that chose the tool, with every attempt at it, and the tool's own time. A turn that
    calls several tools is shared among the calls equally; a turn that calls none, or a call to
    a tool that does not exist, belongs to `answer`. An LLM call inside a tool belongs to the tool's
    stage; its seconds are already in the tool's.

    Args:
        steps: Every step of the trial.

    Returns:
        The shares of each stage, every stage present.
    """
    weights: dict[int, dict[Stage, float]] = {}
    for step in steps:
        if step.role == "controller" and step.tool_calls:
            called = Counter(_stage_of(call.name) for call in step.tool_calls)
            weights[step.turn] = {
                stage: count / len(step.tool_calls) for stage, count in called.items()
            }
    shares: dict[Stage, list[Share]] = {stage: [] for stage in STAGES}
    by_index = {step.index: step for step in steps}
    for step in steps:
        if step.kind == "tool":
            shares[_stage_of(step.name)].append(Share(step, 1.0))
        elif step.parent is not None:
            shares[_stage_of(by_index[step.parent].name)].append(Share(step, 1.0))
        else:
            for stage, fraction in weights.get(step.turn, {"answer": 1.0}).items():
                shares[stage].append(Share(step, fraction))
    return shares


def top_level_seconds(steps: Sequence[Step]) -> float:
    """Return the seconds of all steps and waits, counting a nested call once, in its parent."""
    return sum(step.seconds + step.wait_s for step in steps if step.parent is None)


def total_usage(steps: Sequence[Step]) -> Usage | None:
    """Return the tokens of all LLM calls that answered, or None where one did not report its own.

    Attempts that failed answered nothing and are left out.
    """
    total: Usage | None = None
    for step in steps:
        if step.kind == "llm" and step.error is None:
            if step.usage is None:
                return None
            total = step.usage if total is None else total + step.usage
    return total


def _stage_of(tool: str) -> Stage:
    return STAGE_OF_TOOL.get(tool, "answer")
