"""`bothends data tpch`: writes TPC-H as Parquet, on this machine or to S3."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from bothends.infra.parquet import TableSize
    from bothends.infra.tpch_generator import TableProgress, Watcher
    from bothends.infra.tpch_plan import TablePlan

__all__ = ["progress_bars", "table_watcher", "tpch"]


def tpch(
    scale_factor: Annotated[
        float, typer.Option(help="The scale factor; 1 is about 0.4 GB of Parquet.")
    ] = 1.0,
    to: Annotated[
        str, typer.Option(help="A directory, for --data of run; or s3://bucket/prefix.")
    ] = "data",
) -> None:
    """Generate TPC-H as Parquet; the same command goes on where it was stopped.

    A table gets one file for each 128 MB of it. Tables that are there and whole stay as they are.
    For S3, keys, region and endpoint come from the environment, as for AWS's own tools.
    """
    from rich.console import Console

    from bothends.infra.tpch_plan import plan_tables

    plans = plan_tables(scale_factor)
    console = Console(stderr=True)
    console.print(
        f"TPC-H at scale factor {scale_factor:g}: about "
        f"{_bytes(sum(plan.size_bytes for plan in plans))} of Parquet in "
        f"{sum(plan.parts for plan in plans):,} files",
        highlight=False,
    )
    try:
        with progress_bars(console) as bars:
            place, sizes = _make(scale_factor, to, table_watcher(console, bars, plans))
    except KeyboardInterrupt:
        typer.echo("\nStopped. Tables that are whole stay; the same command goes on.", err=True)
        raise typer.Exit(130) from None
    rows = sum(size.rows for size in sizes.values())
    size_bytes = sum(size.size_bytes for size in sizes.values())
    typer.echo(f"{place}: {len(sizes)} tables, {rows:,} rows, {_bytes(size_bytes)}")
    if "://" not in place:
        typer.echo(f"  next: --suite tpch --scale-factor {scale_factor:g} --data {to}")


def _make(scale_factor: float, to: str, watcher: Watcher) -> tuple[str, Mapping[str, TableSize]]:
    """Make the data; return where it is, and how large each table."""
    if to.startswith("s3://"):
        from bothends.infra.tpch_s3 import make_tpch_on_s3

        address, manifest = make_tpch_on_s3(scale_factor, to, watcher)
        return address, {table: record.size for table, record in manifest.tables.items()}
    from bothends.infra.parquet import size
    from bothends.infra.tpch import make_tpch

    dataset = make_tpch(scale_factor, Path(to), watcher)
    return str(dataset.directory), {name: size(path) for name, path in dataset.tables.items()}


def progress_bars(console: Console) -> Progress:
    """Return bars of bytes and files on a terminal; nothing in a log."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description:<8}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TextColumn("{task.fields[parts]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        disable=not console.is_terminal,
    )


def table_watcher(
    console: Console, bars: Progress, plans: Sequence[TablePlan]
) -> Callable[[TableProgress], None]:
    """Return what moves a bar for each table on a terminal, and says each in a log."""
    tasks = {
        plan.table: bars.add_task(plan.table, total=plan.size_bytes, parts=_parts(0, plan))
        for plan in plans
    }

    def watch(progress: TableProgress) -> None:
        plan = progress.plan
        bars.update(
            tasks[plan.table],
            # What it was taken to be was an estimate.
            total=progress.size_bytes if progress.done else max(plan.size_bytes, 1),
            completed=progress.size_bytes,
            parts=_parts(progress.parts, plan),
        )
        if progress.done and not console.is_terminal:
            console.print(
                f"{plan.table}: {_bytes(progress.size_bytes)}, {_parts(progress.parts, plan)}",
                highlight=False,
            )

    return watch


def _parts(made: int, plan: TablePlan) -> str:
    return f"{made:,} of {plan.parts:,} file{'' if plan.parts == 1 else 's'}"


def _bytes(size_bytes: int) -> str:
    unit, divisor = ("GB", 1e9) if size_bytes >= 1e9 else ("MB", 1e6)
    return f"{size_bytes / divisor:,.1f} {unit}"
