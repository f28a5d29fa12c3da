"""The command line. Heavy imports happen inside the commands, so that `--help` is quick."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from bothends.ask_command import ask
from bothends.attend import attended
from bothends.cluster import cluster_app
from bothends.compare_command import compare
from bothends.data import data_app
from bothends.forecast_command import forecast
from bothends.prices_command import prices_app
from bothends.report_command import report
from bothends.run_command import run
from bothends.score_command import score
from bothends.sweep_command import sweep
from bothends.transcript_command import transcript

__all__ = ["app", "main"]

app = typer.Typer(
    name="bothends",
    help="Evaluate LLM agents at text-to-SQL on big data, at both ends.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cluster_app, name="cluster")
app.add_typer(data_app, name="data")
app.add_typer(prices_app, name="prices")


def _print_version(wanted: bool) -> None:
    if wanted:
        from bothends.infra.system import bothends_version

        typer.echo(bothends_version())
        raise typer.Exit


@app.callback()
def _bothends(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Evaluate LLM agents at text-to-SQL on big data, at both ends."""


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("experiment.yaml"),
) -> None:
    """Write an experiment's file, every field with what it means, to be run as it is."""
    from bothends.eval.experiment_template import write_template

    write_template(file)
    typer.echo(f"Wrote {file}. Run it with: bothends run {file}")


@app.command()
def demo(
    smallest: Annotated[
        bool, typer.Option("--smallest", help="Two questions only, for a quick check.")
    ] = False,
) -> None:
    """Show the whole idea in about a minute: TPC-H on local Spark, no key, no cloud."""
    from bothends.demo import demo_directory, demo_experiment
    from bothends.eval.runner import run_experiment

    experiment, directory = demo_experiment(smallest=smallest), demo_directory(smallest=smallest)
    attended(directory, lambda progress: run_experiment(experiment, directory, watcher=progress))


app.command()(run)
app.command()(sweep)
app.command()(ask)
app.command()(compare)
app.command()(score)
app.command()(report)
app.command()(forecast)
app.command()(transcript)


def main() -> None:
    """Run the command line; a user's mistake is one sentence and a non-zero exit."""
    from bothends.infra.errors import BothendsError, UsageError
    from bothends.infra.redact import redact

    try:
        app()
    except BothendsError as error:
        sys.stderr.write(f"bothends: {redact(str(error))}\n")
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except Exception:  # a fault of ours: whole, for a report of it, but for the secrets
        sys.stderr.write(redact(traceback.format_exc()))
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        sys.stderr.write("\nbothends: stopped\n")
        raise SystemExit(130) from None
