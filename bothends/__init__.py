"""Evaluate LLM agents at text-to-SQL on big data, at both ends.

What the agent did (stages, seconds, tokens, dollars) and what the engine did with the query it
wrote, in one record, with verdicts and the metrics that see both: EX, VES, VES*, VCES, CVQ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bothends.agent.recipe import Recipe
    from bothends.agent.retry import RetryPolicy
    from bothends.agent.sampling import Sampling
    from bothends.api import Run, ask, load_run, run, score
    from bothends.eval.ask import Answer
    from bothends.eval.experiment import Experiment
    from bothends.eval.record import Trial, Verdict
    from bothends.eval.versus import Comparisons, compare
    from bothends.infra.errors import BothendsError
    from bothends.results import Sweep, load_sweep
    from bothends.sweep_api import sweep
    from bothends.tools.preflight import Preflight

__all__ = [
    "Answer",
    "BothendsError",
    "Comparisons",
    "Experiment",
    "Preflight",
    "Recipe",
    "RetryPolicy",
    "Run",
    "Sampling",
    "Sweep",
    "Trial",
    "Verdict",
    "ask",
    "compare",
    "load_run",
    "load_sweep",
    "run",
    "score",
    "sweep",
]

_HOMES = {
    "Answer": "bothends.eval.ask",
    "BothendsError": "bothends.infra.errors",
    "Comparisons": "bothends.eval.versus",
    "Experiment": "bothends.eval.experiment",
    "Preflight": "bothends.tools.preflight",
    "Recipe": "bothends.agent.recipe",
    "RetryPolicy": "bothends.agent.retry",
    "Run": "bothends.api",
    "Sampling": "bothends.agent.sampling",
    "Sweep": "bothends.results",
    "Trial": "bothends.eval.record",
    "Verdict": "bothends.eval.record",
    "ask": "bothends.api",
    "compare": "bothends.eval.versus",
    "load_run": "bothends.api",
    "load_sweep": "bothends.results",
    "run": "bothends.api",
    "score": "bothends.api",
    "sweep": "bothends.sweep_api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `--help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bothends' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
