"""Shows a run directory on the terminal, and writes its reports anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bothends.eval.report import print_report, write_files
from bothends.eval.report.load import load_report, load_reports
from bothends.results import Run, write_reports

__all__ = ["show", "show_together"]


def show(directory: Path) -> Run:
    """Print a run's tables, and write its reports.

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


def show_together(directories: Sequence[Path], out: Path) -> None:
    """Print the tables of several runs as one report's, and write that report.

    Args:
        directories: Run directories, and directories that hold them.
        out: Where to write the report.

    Raises:
        RecordError: If one is none, or cannot be read, or the report cannot be written.
    """
    from rich.console import Console

    source = load_reports(directories)
    written = write_files(source, out)
    console = Console()
    print_report(source, console)
    console.print(f"\nReport: {written}   CSV: {out / 'tables'}", soft_wrap=True)
