"""Shows a run directory on the terminal, and writes its reports anew."""

from __future__ import annotations

from pathlib import Path

from bothends.eval.report import print_report
from bothends.eval.report.load import load_report
from bothends.eval.report.scale import by_scale
from bothends.eval.report.terminal import print_table
from bothends.eval.sweep_directory import SweepDirectory
from bothends.results import Run, Sweep, load_sweep, write_reports

__all__ = ["show"]


def show(directory: Path) -> Run | Sweep:
    """Print the tables of a run or a sweep, and write its `report.html` and CSV files.

    Args:
        directory: The run's or the sweep's directory.

    Raises:
        RecordError: If it is none, or cannot be read or written.
    """
    from rich.console import Console

    console = Console()
    if SweepDirectory(directory).is_there:
        sweep = load_sweep(directory)
        print_table(by_scale(sweep.sources), console)
        reports = ", ".join(str(run.report) for run in sweep.runs.values())
        console.print(f"\nReports: {reports}   CSV: {directory / 'tables'}", soft_wrap=True)
        return sweep
    source = load_report(directory)
    finished = write_reports(source, directory)
    print_report(source, console)
    console.print(f"\nReport: {finished.report}   CSV: {directory / 'tables'}", soft_wrap=True)
    return finished
