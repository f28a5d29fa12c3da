"""Shows runs on the terminal, and writes their reports anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bothends.eval.report import ReportInput, print_report, write_files
from bothends.eval.report.load import load_reports

__all__ = ["show"]


def show(directories: Sequence[Path], out: Path) -> ReportInput:
    """Print the tables of a run, or of several as one report's, and write that report.

    Args:
        directories: Run directories, and directories that hold them, as a sweep's does.
        out: Where to write the report.

    Returns:
        What the report was made from.

    Raises:
        RecordError: If one is none, or cannot be read, or the report cannot be written.
    """
    from rich.console import Console

    source = load_reports(directories)
    written = write_files(source, out)
    console = Console()
    print_report(source, console)
    console.print(f"\nReport: {written}   CSV: {out / 'tables'}", soft_wrap=True)
    return source
