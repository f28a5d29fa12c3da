"""`bothends report`: the reports of a run, or of several together, made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run directories, or ones that hold them, as a sweep's does."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write. Default: the directory, where it is one; report/ for several."
        ),
    ] = None,
) -> None:
    """Print the tables of runs, and write their report.html, report.md, tables and figures anew."""
    from bothends.show import show

    alone = directories[0] if len(directories) == 1 else Path("report")
    show(directories, out or alone)
