"""All forms of a report as files."""

from __future__ import annotations

from pathlib import Path

from bothends.eval.report.csv import write_csv
from bothends.eval.report.figures import write_figures
from bothends.eval.report.html import write_html
from bothends.eval.report.markdown import write_markdown
from bothends.eval.report.parquet import write_parquet
from bothends.eval.report.source import ReportInput

__all__ = ["write_files"]


def write_files(source: ReportInput, directory: Path) -> Path:
    """Write a report in all its forms; the same content gives the same bytes.

    These are `report.html`, `report.md`, `tables/*.csv`, `tables/*.parquet`, `figures/*.svg` and
    `figures/*.png`.

    Args:
        source: The report's content.
        directory: Where to write; made if it is missing.

    Returns:
        The HTML file.

    Raises:
        RecordError: If a file cannot be written.
    """
    report = write_html(source, directory / "report.html")
    write_markdown(source, directory / "report.md")
    write_csv(source, directory / "tables")
    write_parquet(source, directory / "tables")
    write_figures(source, directory / "figures")
    return report
