"""The command line. Heavy imports happen inside the commands, so that `--help` is quick."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bothends.ask_command import ask
from bothends.cluster import cluster_app
from bothends.compare_command import compare
from bothends.data import data_app
from bothends.options import (
    Attempts,
    BaseUrl,
    Billing,
    BillingOption,
    Check,
    Checker,
    CheckOption,
    Corrections,
    Data,
    Database,
    Difficulty,
    Embeddings,
    Engine,
    Linking,
    LinkingOption,
    LinkingTables,
    Machine,
    MaxRows,
    MaxTokens,
    MaxTurns,
    ObservationChars,
    Prices,
    Question,
    ReasoningEffort,
    RecipeChoice,
    RecipeOption,
    Redact,
    RetryWait,
    RunAnswerSql,
    Sample,
    SampleRows,
    Samples,
    SampleSeed,
    ScaleFactor,
    Seed,
    Suite,
    Temperature,
    Timeout,
    TopP,
    listed,
)
from bothends.prices_command import prices_app
from bothends.report_command import report
from bothends.resolve import resolved
from bothends.score_command import score
from bothends.transcript_command import transcript
from bothends.view_command import view

if TYPE_CHECKING:
    from bothends.api import Run

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
def run(
    context: typer.Context,
    experiment: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="An experiment's YAML file; options go before what it says."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="provider:model, replay:FILE or scripted:NAME; repeatable."),
    ] = None,
    suite: Suite = "tpch",
    engine: Engine = "spark",
    scale_factor: ScaleFactor = None,
    question: Question = None,
    database: Database = None,
    difficulty: Difficulty = None,
    sample: Sample = None,
    sample_seed: SampleSeed = 0,
    replicas: Annotated[int, typer.Option(min=1, help="Times each question is asked.")] = 1,
    data: Data = Path("data"),
    out: Annotated[
        Path | None, typer.Option(help="Run directory. Default: runs/, named by what is run.")
    ] = None,
    fork: Annotated[
        bool,
        typer.Option(
            "--fork",
            help="Where the run directory holds another run: go on in a new one beside it, with "
            "those of its trials that still hold.",
        ),
    ] = False,
    checker: Checker = None,
    base_url: BaseUrl = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    reasoning_effort: ReasoningEffort = None,
    attempts: Attempts = 6,
    retry_wait: RetryWait = 300.0,
    recipe: RecipeOption = RecipeChoice.react,
    check: CheckOption = Check.llm,
    max_turns: MaxTurns = 12,
    sample_rows: SampleRows = 3,
    observation_chars: ObservationChars = 32_000,
    run_answer_sql: RunAnswerSql = False,
    linking: LinkingOption = Linking.none,
    linking_tables: LinkingTables = 8,
    embeddings: Embeddings = None,
    samples: Samples = 5,
    corrections: Corrections = 2,
    timeout: Timeout = 300.0,
    max_rows: MaxRows = 100_000,
    warmups: Annotated[int, typer.Option(min=0, help="Untimed executions of each query.")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="Timed executions of each query.")] = 3,
    machine: Machine = "m7i.large",
    billing: BillingOption = Billing.busy,
    prices: Prices = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Record the model's replies in this file, for replay:FILE; several models' in a "
            "directory."
        ),
    ] = None,
    record_append: Annotated[
        bool, typer.Option("--record-append", help="Add to another run's recording.")
    ] = False,
    served_by: Annotated[
        str, typer.Option(help="With --record: what serves the model, in words.")
    ] = "",
    concurrency: Annotated[
        int, typer.Option(min=1, help="Trials that are under way at the same time.")
    ] = 1,
    engine_slots: Annotated[
        int, typer.Option(min=1, help="Queries that run at the same time, each on its own engine.")
    ] = 1,
    budget_usd: Annotated[
        float | None, typer.Option(help="Stop before the trials would cost more dollars.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Stop before the trials would take more tokens.")
    ] = None,
    redact: Redact = None,
    transcripts: Annotated[
        bool,
        typer.Option(
            "--transcripts/--no-transcripts",
            help="Keep the conversations, compressed; if not, only the SQL is kept.",
        ),
    ] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing before going on.")] = False,
) -> None:
    """Run a suite against models; the same command goes on where it was stopped.

    Exits with 3 where the budget ended it.
    """
    from bothends.agent.recipe import Recipe
    from bothends.agent.retry import RetryPolicy
    from bothends.agent.sampling import Sampling
    from bothends.eval.experiment import Regimen

    _run(
        resolved(
            context,
            experiment,
            suite=suite,
            question_ids=listed("question", question),
            databases=listed("database", database),
            difficulties=listed("difficulty", difficulty),
            sample=sample,
            sample_seed=sample_seed,
            engine=engine,
            scale_factor=scale_factor,
            data=data,
            models=tuple(model or ()),
            checker=checker,
            base_url=base_url,
            sampling=Sampling(
                temperature=temperature,
                top_p=top_p,
                max_tokens=max_tokens,
                seed=seed,
                reasoning_effort=reasoning_effort,
            ),
            retry=RetryPolicy(attempts=attempts, total_wait_s=retry_wait),
            recipe=Recipe(
                name=recipe.value,
                check=check.value,
                max_turns=max_turns,
                sample_rows=sample_rows,
                observation_chars=observation_chars,
                run_answer_sql=run_answer_sql,
                linking=linking.value,
                linking_tables=linking_tables,
                embeddings=embeddings,
                samples=samples,
                corrections=corrections,
            ),
            replicas=replicas,
            concurrency=concurrency,
            engine_slots=engine_slots,
            budget_usd=budget_usd,
            budget_tokens=budget_tokens,
            timeout_s=timeout,
            max_rows=max_rows,
            regimen=Regimen(warmups=warmups, repeats=repeats),
            machine=machine,
            billing=billing.value,
            prices=prices,
            redact=redact,
            transcripts=transcripts,
        ),
        out,
        {"record": record, "record_append": record_append, "served_by": served_by},
        file=experiment,
        fork=fork,
        ask=not yes,
    )


@app.command()
def demo(
    smallest: Annotated[
        bool, typer.Option("--smallest", help="Two questions only, for a quick check.")
    ] = False,
) -> None:
    """Show the whole idea in about a minute: TPC-H on local Spark, no key, no cloud."""
    from bothends.demo import demo_directory, demo_experiment

    _run(demo_experiment(smallest=smallest), demo_directory(smallest=smallest))


app.command()(ask)
app.command()(compare)
app.command()(score)
app.command()(report)
app.command()(transcript)
app.command()(view)


def _run(
    experiment: Any,
    out: Path | None,
    recording: dict[str, Any] | None = None,
    *,
    file: Path | None = None,
    fork: bool = False,
    ask: bool = False,
) -> None:
    from rich.console import Console

    from bothends.eval.metrics import counted
    from bothends.eval.runner import run_experiment
    from bothends.launch import place
    from bothends.progress import RunProgress

    directory, family = place(experiment, file, out, fork=fork)
    try:
        with RunProgress(Console(stderr=True), ask=ask) as progress:
            run_experiment(
                experiment, directory, **(recording or {}), fork_from=family, watcher=progress
            )
    except KeyboardInterrupt:
        kept = (directory / "trials.jsonl").exists()
        said = f" What was measured is in {directory}; the same command goes on." if kept else ""
        typer.echo(f"\nStopped.{said}", err=True)
        raise typer.Exit(130) from None
    shown = _show(directory)
    if progress.stopped_early:
        typer.echo(f"bothends: {progress.stopped_early}", err=True)
        raise typer.Exit(3)
    if not counted(shown.trials):
        typer.echo("bothends: nothing was measured; the outcomes above say why", err=True)
        raise typer.Exit(1)


def _show(directory: Path) -> Run:
    from bothends.show import show

    return show(directory)


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
