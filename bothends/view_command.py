"""`bothends view`: a run's report in the browser, while the run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["view"]


def view(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run directories, or ones that hold them, as a sweep's does."
        ),
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 0,
) -> None:
    """Serve a report on this machine alone, made anew while its runs go on; Ctrl-C ends it."""
    from bothends.view import Viewer

    viewer = Viewer(directories, port)
    typer.echo(f"The report is at {viewer.address} until Ctrl-C.")
    try:
        viewer.serve()
    except KeyboardInterrupt:
        typer.echo("")
