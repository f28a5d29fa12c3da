"""From a run directory to what a report is made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bothends.eval.experiment import Regimen
from bothends.eval.manifest import Manifest
from bothends.eval.report.source import ReportInput, merged
from bothends.eval.store import RunDirectory
from bothends.infra.errors import RecordError
from bothends.infra.prices import EnginePrice, Machine, ScanPrice

__all__ = ["load_report", "load_reports", "run_directories"]


def load_reports(paths: Sequence[Path]) -> ReportInput:
    """Read several run directories as one report's content, and sweeps' as those they hold.

    Args:
        paths: Run directories, and directories that hold them, as a sweep's does; one named twice
            is read once.

    Raises:
        RecordError: If one is neither, or cannot be read.
    """
    found = list(dict.fromkeys(run.resolve() for path in paths for run in run_directories(path)))
    runs = sorted((load_report(run) for run in found), key=lambda run: run.scale_factor or 0.0)
    whole = [path.resolve().name for path in paths]
    return merged(", ".join(dict.fromkeys(whole)), runs)


def run_directories(path: Path) -> list[Path]:
    """Return the run directories that a directory holds, or itself where it is one.

    Raises:
        RecordError: If it is none and holds none.
    """
    if (path / "manifest.json").exists():
        return [path]
    inside = sorted(each.parent for each in path.glob("*/manifest.json"))
    lost = {each.parent for each in path.glob("*/trials.jsonl")} - set(inside)
    if lost and inside:
        raise RecordError(
            f"{min(lost)} holds trials of a run whose manifest.json is gone: put that back, or "
            "remove the directory"
        )
    if not inside:
        raise RecordError(
            f"{path} is not a run directory: neither it nor a directory in it holds a manifest.json"
        )
    return inside


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
        price=_engine_price(manifest),
        timeout_s=experiment.timeout_s,
        checker=experiment.checker,
        golds=directory.golds(),
        transcripts=directory.transcripts,
    )


def _engine_price(manifest: Manifest) -> EnginePrice | None:
    """Return what the engine was priced as, from the manifest's snapshot alone."""
    for name, price in manifest.prices["machines"].items():
        kind = ScanPrice if "usd_per_tb" in price else Machine
        made: EnginePrice = kind(name=name, **price)
        if made.describe() == manifest.machine:
            return made
    return None


def _in_words(regimen: Regimen) -> str:
    if not regimen.repeats:
        return "queries were not timed"
    warmups = f"{regimen.warmups} warm-up{'' if regimen.warmups == 1 else 's'}"
    return f"{warmups}, then gold and generated in turn, median of {regimen.repeats}"


def _prices_in_words(snapshot: dict[str, Any]) -> str:
    sources = {model["source"] for model in snapshot["models"].values() if model}
    return "; ".join([*sorted(sources), f"in force on {snapshot['as_of'][:10]}"])
