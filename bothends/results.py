"""What has been run: a run directory with its trials and metrics, and its reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bothends.eval.record import Trial
    from bothends.eval.report.source import ReportInput
    from bothends.eval.summary import Summary

__all__ = ["Run", "Sweep", "load_run", "load_sweep", "write_reports"]


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Attributes:
        directory: The run directory, with `trials.jsonl`, `manifest.json` and the reports.
        trials: Every trial.
        summaries: The metrics of each model, by its label, in the order they were named.
        missing: How many trials are not in, since a budget or an interrupt ended the run.
    """

    directory: Path
    trials: tuple[Trial, ...]
    summaries: dict[str, Summary]
    missing: int = 0

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep over scale factors, finished or not.

    Attributes:
        directory: Its directory, with a run directory for each scale factor and the reports.
        trials: Every trial, by ascending scale factors.
        summaries: The metrics of each model, by its label, at each scale factor.
        missing: How many trials are not in, since a budget or an interrupt ended the sweep.
    """

    directory: Path
    trials: tuple[Trial, ...]
    summaries: dict[float, dict[str, Summary]]
    missing: int = 0

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.directory / "report.html"


def load_run(out: Path | str) -> Run:
    """Read a run directory, finished or not, and write its reports anew.

    Args:
        out: The run directory.

    Raises:
        RecordError: If it is none, or cannot be read.
    """
    from bothends.eval.report.load import load_report

    return write_reports(load_report(Path(out)), Path(out))


def write_reports(source: ReportInput, out: Path) -> Run:
    """Write the reports of a run that was read.

    Args:
        source: The run.
        out: Its directory.

    Raises:
        RecordError: If they cannot be written.
    """
    from bothends.eval.report import write_files

    write_files(source, out)
    return Run(
        directory=out,
        trials=tuple(source.trials),
        summaries=_summaries(source),
        missing=source.missing,
    )


def load_sweep(out: Path | str) -> Sweep:
    """Read a sweep's directory, finished or not, and write its reports anew.

    Args:
        out: The directory.

    Raises:
        RecordError: If it is none, or cannot be read or written.
    """
    from bothends.eval.report import write_files
    from bothends.eval.report.load import load_reports
    from bothends.eval.sweep_directory import SweepDirectory

    directory = Path(out)
    runs = SweepDirectory(directory).runs()
    source = load_reports([run.path for run in runs.values()])
    write_files(source, directory)
    return Sweep(
        directory=directory,
        trials=tuple(source.trials),
        summaries={run.scale_factor or 0.0: _summaries(run) for run in source.runs},
        missing=source.missing,
    )


def _summaries(source: ReportInput) -> dict[str, Summary]:
    from bothends.eval.summary import summarise

    return {
        model.label: summarise([trial for trial in source.trials if trial.key.model == model.spec])
        for model in source.models
    }
