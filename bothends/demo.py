"""The demo: what the framework is for, in about a minute, without a key or a cloud."""

from __future__ import annotations

from pathlib import Path

from bothends.agent.recipe import Recipe
from bothends.eval.experiment import Experiment, Regimen

__all__ = ["demo_directory", "demo_experiment"]

_QUESTIONS = ("1", "3", "4", "6", "12", "17", "18", "21")
_SMALLEST = ("4", "6")


def demo_experiment(*, smallest: bool = False) -> Experiment:
    """Return the demo's experiment.

    An exact script at a dear model's price, a flaky one at a cheaper model's, one that always
    returns a column too many, and the recording of a small real model. All of them go through the
    real agent, on a real engine, over real data.

    Args:
        smallest: Whether to ask two questions only.
    """
    models = (
        "scripted:perfect?label=exact&price_as=anthropic:claude-haiku-4-5",
        "scripted:flaky?label=flaky&p=0.4&seed=7&price_as=google:gemini-3-flash-preview",
        "scripted:extra_column?label=wide&price_as=openai:gpt-4o",
        "replay:qwen2.5-coder-1.5b.tpch",
    )
    return Experiment(
        suite="tpch",
        question_ids=_SMALLEST if smallest else _QUESTIONS,
        engine="spark",
        scale_factor=0.01,
        models=models,
        # As it was recorded, since a replay must meet the same conversation.
        recipe=Recipe(sample_rows=0, max_turns=8),
        regimen=Regimen(warmups=0, repeats=1),
    )


def demo_directory(*, smallest: bool = False) -> Path:
    """Return the demo's run directory."""
    return Path("runs") / ("demo-smallest" if smallest else "demo")
