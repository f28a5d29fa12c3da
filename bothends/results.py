"""What has been run: a run directory with its trials and metrics, and its reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bothends.eval.metrics import Summary
    from bothends.eval.record import Trial
    from bothends.eval.report.source import ReportInput

__all__ = ["Run", "load_run", "write_reports"]


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
    from bothends.eval.metrics import summarise
    from bothends.eval.report import write_files

    write_files(source, out)
    return Run(
        directory=out,
        trials=tuple(source.trials),
        summaries={
            model.label: summarise(
                [trial for trial in source.trials if trial.key.model == model.spec]
            )
            for model in source.models
        },
        missing=source.missing,
    )
