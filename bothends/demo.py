"""The demo: what the framework is for, in about a minute, without a key or a cloud."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from bothends.eval.experiment import Experiment, Regimen

__all__ = ["demo_directory", "demo_experiment"]

RECORDING = "qwen2.5-coder-1.5b.tpch.jsonl"

_QUESTIONS = ("1", "3", "6", "12", "14", "17", "18", "21")
_SMALLEST = ("1", "6")


def demo_experiment(*, smallest: bool = False) -> Experiment:
    """Return the demo's experiment.

    An exact script at a dear model's price, a flaky one at a cheaper model's, one that always
    returns a column too many, and the recording of a small real model. All of them go through the
    real agent, on a real engine, over real data.

    Args:
        smallest: Whether to ask two questions only.
    """
    with as_file(files("bothends") / "recordings" / RECORDING) as recording:
        models = (
            "scripted:perfect?label=exact script&price_as=anthropic:claude-haiku-4-5",
            "scripted:flaky?label=flaky script&p=0.4&seed=7&price_as=openai:gpt-5-mini",
            "scripted:extra_column?label=wide script&price_as=openai:gpt-4o",
            f"replay:{recording}?machine=m7i.large",
        )
    return Experiment(
        suite="tpch",
        question_ids=_SMALLEST if smallest else _QUESTIONS,
        engine="spark",
        scale_factor=0.01,
        models=models,
        regimen=Regimen(warmups=0, repeats=2),
    )


def demo_directory(*, smallest: bool = False) -> Path:
    """Return the demo's run directory."""
    return Path("runs") / ("demo-smallest" if smallest else "demo")
