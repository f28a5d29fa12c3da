"""The command `bothends cluster`: a Spark cluster on this machine, or on EMR, up and down."""

from __future__ import annotations

import re
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bothends.emr_command import emr_app

if TYPE_CHECKING:
    from bothends.engines.spark_cluster_keeper import ClusterState

__all__ = ["cluster_app"]

_LEAST_MB = 1024

cluster_app = typer.Typer(
    help="Spark clusters to run queries on.", no_args_is_help=True, rich_markup_mode=None
)
_local = typer.Typer(
    help="A standalone cluster on this machine, with a Spark Connect server.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
cluster_app.add_typer(_local, name="local")
cluster_app.add_typer(emr_app, name="emr")


@_local.command()
def up(
    workers: Annotated[int, typer.Option(min=1, help="Workers.")] = 2,
    cores: Annotated[
        int, typer.Option(min=1, help="Cores that one application gets on each worker.")
    ] = 1,
    memory: Annotated[
        str, typer.Option(help="Memory that one application gets on each worker; at least 1g.")
    ] = "1g",
) -> None:
    """Start it; it runs until `down`. Two applications fit: its Connect server, and one beside."""
    from rich.console import Console

    from bothends.engines.spark_cluster import cluster_directory, start_cluster

    # What asks this command to end ends what it has begun to start, as Ctrl+C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with Console(stderr=True).status("starting a cluster") as status:
        state, fresh = start_cluster(
            cluster_directory(),
            workers=workers,
            cores=cores,
            memory_mb=_megabytes(memory),
            phase=lambda what: status.update(f"starting a cluster: waiting for {what}"),
        )
    typer.echo("The cluster is up." if fresh else "A cluster is up already.")
    _print(state)
    asked = workers, cores, _megabytes(memory)
    if not fresh and asked != (_workers(state), state.cores, state.memory_mb):
        typer.echo("It is not as asked for: to change it, take it down first.", err=True)
    typer.echo(
        f"\nNext:\n  bothends run --engine {state.connect} --model scripted:perfect\n"
        f"  bothends run --engine {state.master} --model scripted:perfect\n"
        "  bothends cluster local down"
    )


@_local.command()
def down() -> None:
    """Stop it."""
    from bothends.engines.spark_cluster import cluster_directory, stop_cluster

    state = stop_cluster(cluster_directory())
    if state is None:
        typer.echo("No cluster is up.")
        return
    stopped = ", ".join(f"{name} ({pid})" for name, pid in state.pids.items())
    typer.echo(f"Stopped the cluster: {stopped}.")


@_local.command()
def status() -> None:
    """Tell its addresses and processes."""
    from bothends.engines.spark_cluster import cluster_directory, cluster_state

    state = cluster_state(cluster_directory())
    if state is None:
        typer.echo("No cluster is up. Start one with: bothends cluster local up")
        return
    typer.echo(f"A cluster is starting: {state.phase}." if state.phase else "A cluster is up.")
    _print(state)


def _print(state: ClusterState) -> None:
    typer.echo(
        f"  master   {state.master}\n"
        f"  connect  {state.connect}\n"
        f"  workers  {_workers(state)}, with {state.cores} cores and {state.memory_mb} MB each for "
        "an application\n"
        f"  pids     {', '.join(f'{name} {pid}' for name, pid in state.pids.items())}"
    )


def _workers(state: ClusterState) -> int:
    return sum(name.startswith("worker") for name in state.pids)


def _megabytes(memory: str) -> int:
    from bothends.infra.errors import UsageError

    match = re.fullmatch(r"(\d{1,6})([mg])b?", memory.strip().lower())
    size = int(match[1]) * (1024 if match[2] == "g" else 1) if match else 0
    if size < _LEAST_MB:
        raise UsageError(f"--memory {memory!r}: give at least 1g, as 2g or 1536m")
    return size
