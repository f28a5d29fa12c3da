"""The command line. Heavy imports happen inside the commands, so that `--help` is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bothends.cluster import cluster_app
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
    validated,
)
from bothends.score_command import score

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
def run(
    model: Annotated[
        list[str], typer.Option(help="provider:model, replay:FILE or scripted:NAME; repeatable.")
    ],
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
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing before going on.")] = False,
) -> None:
    """Run a suite against models; the same command goes on where it was stopped.

    Exits with 3 where the budget ended it.
    """
    from bothends.agent.recipe import Recipe
    from bothends.agent.retry import RetryPolicy
    from bothends.agent.sampling import Sampling
    from bothends.eval.experiment import Experiment, Regimen

    experiment = validated(
        lambda: Experiment(
            suite=suite,
            question_ids=listed("question", question),
            databases=listed("database", database),
            difficulties=listed("difficulty", difficulty),
            sample=sample,
            sample_seed=sample_seed,
            engine=engine,
            scale_factor=scale_factor,
            data=data,
            models=tuple(model),
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
        )
    )
    recording = {"record": record, "record_append": record_append, "served_by": served_by}
    _run(experiment, out, recording, ask=not yes)


@app.command()
def ask(
    text: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="The question in words.")
    ] = None,
    model: Annotated[str, typer.Option(help="provider:model, replay:FILE or scripted:NAME.")] = ...,  # type: ignore[assignment]
    engine: Engine = "spark",
    suite: Annotated[str | None, typer.Option(help="Suite whose data is asked.")] = None,
    question: Annotated[str | None, typer.Option(help="Id of a question of the suite.")] = None,
    scale_factor: ScaleFactor = None,
    data: Data = Path("data"),
    rows: Annotated[int, typer.Option(min=0, help="Rows to print.")] = 10,
    checker: Checker = None,
    base_url: BaseUrl = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    reasoning_effort: ReasoningEffort = None,
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
    machine: Machine = "m7i.large",
    billing: BillingOption = Billing.busy,
    prices: Prices = None,
) -> None:
    """Answer one question: the SQL, the first rows, and what each stage took."""
    from rich.console import Console

    from bothends.agent.recipe import Recipe
    from bothends.agent.sampling import Sampling
    from bothends.engines.base import Limits
    from bothends.eval.ask import answer_question
    from bothends.eval.report.asked import print_answer

    sampling = validated(
        lambda: Sampling(
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            seed=seed,
            reasoning_effort=reasoning_effort,
        )
    )
    console = Console()
    with Console(stderr=True).status("") as status:
        answer = answer_question(
            text,
            model=model,
            engine=engine,
            suite=suite,
            question_id=question,
            scale_factor=scale_factor,
            data=data,
            checker=checker,
            base_url=base_url,
            sampling=sampling,
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
            limits=Limits(timeout_s=timeout, max_rows=max_rows),
            machine=machine,
            billing=billing.value,
            prices_file=prices,
            callbacks=(),
            phase=status.update,
        )
    print_answer(answer, console, rows=rows)
    if answer.status != "ok":
        raise typer.Exit(1)


@app.command()
def demo(
    smallest: Annotated[
        bool, typer.Option("--smallest", help="Two questions only, for a quick check.")
    ] = False,
) -> None:
    """Show the whole idea in about a minute: TPC-H on local Spark, no key, no cloud."""
    from bothends.demo import demo_directory, demo_experiment

    _run(demo_experiment(smallest=smallest), demo_directory(smallest=smallest))


app.command()(score)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="The run directory.")],
) -> None:
    """Print a run's tables, and write its report.html and CSV files anew."""
    _show(directory)


def _run(
    experiment: Any,
    out: Path | None,
    recording: dict[str, Any] | None = None,
    *,
    ask: bool = False,
) -> None:
    from rich.console import Console

    from bothends.api import default_directory
    from bothends.eval.metrics import counted
    from bothends.eval.runner import run_experiment
    from bothends.progress import RunProgress

    directory = out or default_directory(experiment)
    try:
        with RunProgress(Console(stderr=True), ask=ask) as progress:
            run_experiment(experiment, directory, **(recording or {}), watcher=progress)
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

    try:
        app()
    except BothendsError as error:
        sys.stderr.write(f"bothends: {error}\n")
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        sys.stderr.write("\nbothends: stopped\n")
        raise SystemExit(130) from None
