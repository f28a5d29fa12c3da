"""`bothends ask`: one question, answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bothends.options import (
    BaseUrl,
    Billing,
    BillingOption,
    Check,
    Checker,
    CheckOption,
    Corrections,
    Data,
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
    ReasoningEffort,
    RecipeChoice,
    RecipeOption,
    Redact,
    RefuseCartesian,
    RequirePartitionFilter,
    RunAnswerSql,
    SampleRows,
    Samples,
    ScaleFactor,
    Seed,
    Temperature,
    Timeout,
    TopP,
    validated,
)

__all__ = ["ask"]


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
    max_scan_bytes: MaxScanBytes = None,
    max_plan_rows: MaxPlanRows = None,
    refuse_cartesian: RefuseCartesian = False,
    require_partition_filter: RequirePartitionFilter = False,
    machine: Machine = "m7i.large",
    billing: BillingOption = Billing.busy,
    prices: Prices = None,
    redact: Redact = None,
) -> None:
    """Answer one question: the SQL, the first rows, and what each stage took."""
    from rich.console import Console

    from bothends.agent.recipe import Recipe
    from bothends.agent.sampling import Sampling
    from bothends.engines.base import Limits
    from bothends.eval.ask import answer_question
    from bothends.eval.redaction import load_redaction
    from bothends.eval.report.asked import print_answer
    from bothends.tools.preflight import Preflight

    sampling = validated(
        lambda: Sampling(
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            seed=seed,
            reasoning_effort=reasoning_effort,
        )
    )
    preflight = validated(
        lambda: Preflight(
            max_scan_bytes=max_scan_bytes,
            max_plan_rows=max_plan_rows,
            refuse_cartesian=refuse_cartesian,
            require_partition_filter=require_partition_filter,
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
            preflight=preflight,
            machine=machine,
            billing=billing.value,
            prices_file=prices,
            callbacks=(),
            redaction=load_redaction(redact),
            phase=status.update,
        )
    print_answer(answer.without_secrets(), console, rows=rows)
    if answer.status != "ok":
        raise typer.Exit(1)
