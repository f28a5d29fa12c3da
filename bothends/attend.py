"""Carries a long job out before a person: its bar, its interrupt, its tables, its exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from bothends.progress import RunProgress

__all__ = ["attended"]


def attended(directory: Path, act: Callable[[RunProgress], object], *, ask: bool = False) -> None:
    """Run what writes a directory of trials, show how it goes, and then its tables.

    Args:
        directory: The directory.
        act: What is done; it is given the bar.
        ask: Whether a person at the terminal is asked before money is spent.

    Raises:
        typer.Exit: With 130 where it was interrupted, 3 where it ended early, and 1 where nothing
            was measured.
    """
    from rich.console import Console

    from bothends.eval.metrics import counted
    from bothends.progress import RunProgress
    from bothends.show import show

    try:
        with RunProgress(Console(stderr=True), ask=ask) as progress:
            act(progress)
    except KeyboardInterrupt:
        kept = any(directory.rglob("trials.jsonl"))
        said = f" What was measured is in {directory}; the same command goes on." if kept else ""
        typer.echo(f"\nStopped.{said}", err=True)
        raise typer.Exit(130) from None
    shown = show([directory], directory)
    if progress.stopped_early:
        typer.echo(f"bothends: {progress.stopped_early}", err=True)
        raise typer.Exit(3)
    if not counted(shown.trials):
        typer.echo("bothends: nothing was measured; the outcomes above say why", err=True)
        raise typer.Exit(1)
