"""From a run directory to what a report is made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bothends.eval.experiment import Regimen
from bothends.eval.report.source import ReportInput
from bothends.eval.store import RunDirectory

__all__ = ["load_report"]


def load_report(path: Path) -> ReportInput:
    """Read a run directory, finished or not.

    Args:
        path: The run directory.

    Raises:
        RecordError: If it is none, or cannot be read.
    """
    directory = RunDirectory(path)
    manifest, trials = directory.manifest, directory.trials()
    experiment = manifest.experiment
    return ReportInput(
        name=manifest.name,
        suite=experiment.suite,
        engine=f"{manifest.engine['engine']} {manifest.engine['version']}",
        scale_factor=manifest.engine["scale_factor"],
        models=manifest.models,
        recipe="none, predictions made elsewhere"
        if experiment.task == "score"
        else experiment.recipe.in_words(),
        replicas=experiment.replicas,
        billing=experiment.billing,
        machine=manifest.machine,
        prices=_prices_in_words(manifest.prices),
        regimen=_in_words(experiment.regimen),
        hardware=manifest.hardware,
        started=manifest.created_at,
        finished=max((trial.started_at for trial in trials), default=None),
        versions=manifest.versions,
        left_out=manifest.excluded,
        questions=manifest.questions,
        trials=trials,
    )


def _in_words(regimen: Regimen) -> str:
    if not regimen.repeats:
        return "queries were not timed"
    warmups = f"{regimen.warmups} warm-up{'' if regimen.warmups == 1 else 's'}"
    return f"{warmups}, then gold and generated in turn, median of {regimen.repeats}"


def _prices_in_words(snapshot: dict[str, Any]) -> str:
    sources = {model["source"] for model in snapshot["models"].values() if model}
    return "; ".join([*sorted(sources), f"in force on {snapshot['as_of'][:10]}"])
