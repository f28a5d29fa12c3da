"""Shows a run directory on the terminal, and writes its reports anew."""

from __future__ import annotations

from pathlib import Path

from bothends.eval.report import print_report
from bothends.eval.report.load import load_report
from bothends.results import Run, write_reports

__all__ = ["show"]


def show(directory: Path) -> Run:
    """Print a run's tables, and write its `report.html` and CSV files.

    Args:
        directory: The run directory.

    Raises:
        RecordError: If it is none, or cannot be read or written.
    """
    from rich.console import Console

    source = load_report(directory)
    finished = write_reports(source, directory)
    console = Console()
    print_report(source, console)
    console.print(f"\nReport: {finished.report}   CSV: {directory / 'tables'}", soft_wrap=True)
    return finished
