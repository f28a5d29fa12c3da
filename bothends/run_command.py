"""`bothends run`, and what its options say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bothends.attend import attended
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
    MaxPlanRows,
    MaxRows,
    MaxScanBytes,
    MaxTokens,
    MaxTurns,
    ObservationChars,
    Prices,
    Question,
    ReasoningEffort,
    RecipeChoice,
    RecipeOption,
    Redact,
    RefuseCartesian,
    RequirePartitionFilter,
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
from bothends.resolve import resolved

if TYPE_CHECKING:
    from bothends.eval.experiment import Experiment

__all__ = ["experiment_of", "recording_of", "run"]


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
    max_scan_bytes: MaxScanBytes = None,
    max_plan_rows: MaxPlanRows = None,
    refuse_cartesian: RefuseCartesian = False,
    require_partition_filter: RequirePartitionFilter = False,
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
    options = locals()
    from bothends.eval.runner import run_experiment
    from bothends.launch import place

    resolved_experiment = experiment_of(context, experiment, options)
    directory, family = place(resolved_experiment, experiment, out, fork=fork)
    attended(
        directory,
        lambda progress: run_experiment(
            resolved_experiment,
            directory,
            **recording_of(options),
            fork_from=family,
            watcher=progress,
        ),
        ask=not yes,
    )


def experiment_of(
    context: typer.Context, file: Path | None, options: Mapping[str, Any]
) -> Experiment:
    """Return the experiment of a file, or of the options alone; options go before the file.

    Args:
        context: The command's.
        file: The file.
        options: What the options of `run` are, by the names of its parameters.

    Raises:
        UsageError: If the file, or an option, is not as it should be.
    """
    from bothends.agent.recipe import Recipe
    from bothends.agent.retry import RetryPolicy
    from bothends.agent.sampling import Sampling
    from bothends.eval.experiment import Regimen
    from bothends.tools.preflight import Preflight

    return resolved(
        context,
        file,
        suite=options["suite"],
        question_ids=listed("question", options["question"]),
        databases=listed("database", options["database"]),
        difficulties=listed("difficulty", options["difficulty"]),
        sample=options["sample"],
        sample_seed=options["sample_seed"],
        engine=options["engine"],
        scale_factor=options["scale_factor"],
        data=options["data"],
        models=tuple(options["model"] or ()),
        checker=options["checker"],
        base_url=options["base_url"],
        sampling=Sampling(
            temperature=options["temperature"],
            top_p=options["top_p"],
            max_tokens=options["max_tokens"],
            seed=options["seed"],
            reasoning_effort=options["reasoning_effort"],
        ),
        retry=RetryPolicy(attempts=options["attempts"], total_wait_s=options["retry_wait"]),
        recipe=Recipe(
            name=options["recipe"].value,
            check=options["check"].value,
            max_turns=options["max_turns"],
            sample_rows=options["sample_rows"],
            observation_chars=options["observation_chars"],
            run_answer_sql=options["run_answer_sql"],
            linking=options["linking"].value,
            linking_tables=options["linking_tables"],
            embeddings=options["embeddings"],
            samples=options["samples"],
            corrections=options["corrections"],
        ),
        replicas=options["replicas"],
        concurrency=options["concurrency"],
        engine_slots=options["engine_slots"],
        budget_usd=options["budget_usd"],
        budget_tokens=options["budget_tokens"],
        timeout_s=options["timeout"],
        max_rows=options["max_rows"],
        preflight=validated(
            lambda: Preflight(
                max_scan_bytes=options["max_scan_bytes"],
                max_plan_rows=options["max_plan_rows"],
                refuse_cartesian=options["refuse_cartesian"],
                require_partition_filter=options["require_partition_filter"],
            )
        ),
        regimen=Regimen(warmups=options["warmups"], repeats=options["repeats"]),
        machine=options["machine"],
        billing=options["billing"].value,
        prices=options["prices"],
        redact=options["redact"],
        transcripts=options["transcripts"],
    )


def recording_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the options say of where replies are recorded, as `run_experiment` takes it."""
    return {name: options[name] for name in ("record", "record_append", "served_by")}
