"""Options that several commands share, and how what they were given is checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Attempts",
    "BaseUrl",
    "Billing",
    "BillingOption",
    "Check",
    "CheckOption",
    "Checker",
    "Corrections",
    "Data",
    "Database",
    "Difficulty",
    "Embeddings",
    "Engine",
    "Linking",
    "LinkingOption",
    "LinkingTables",
    "Machine",
    "MaxPlanRows",
    "MaxRows",
    "MaxScanBytes",
    "MaxTokens",
    "MaxTurns",
    "ObservationChars",
    "Prices",
    "Question",
    "ReasoningEffort",
    "RecipeChoice",
    "RecipeOption",
    "Redact",
    "RefuseCartesian",
    "RequirePartitionFilter",
    "RetryWait",
    "RunAnswerSql",
    "Sample",
    "SampleRows",
    "SampleSeed",
    "Samples",
    "ScaleFactor",
    "Seed",
    "Suite",
    "Temperature",
    "Timeout",
    "TopP",
    "listed",
    "option_of",
    "validated",
    "with_options_of",
]


class Check(StrEnum):
    """What check_query does."""

    llm = "llm"
    explain = "explain"
    both = "both"
    off = "off"


class RecipeChoice(StrEnum):
    """How an agent goes about a question."""

    react = "react"
    single = "single"
    single_correct = "single+correct"
    self_consistency = "self-consistency"


class Linking(StrEnum):
    """Which tables a prompt without tools shows."""

    none = "none"
    lexical = "lexical"
    embedding = "embedding"


class Billing(StrEnum):
    """Which of the engine's seconds are charged."""

    busy = "busy"
    wall = "wall"


Engine = Annotated[
    str,
    typer.Option(
        help="spark, postgres or sqlite, or a database of yours: postgres://user@host/database, "
        "sqlite:///path/to/file.db, spark://host:port (a standalone cluster) or sc://host:port (a "
        "Spark Connect server)."
    ),
]
Suite = Annotated[
    str, typer.Option(help="tpch, bird, spider, or a .yaml or .jsonl file of questions.")
]
Question = Annotated[
    list[str] | None, typer.Option(help="Question ids, repeatable or 1,6,17. Default: all.")
]
Database = Annotated[
    list[str] | None, typer.Option(help="Only questions over this database; repeatable or a,b.")
]
Difficulty = Annotated[
    list[str] | None, typer.Option(help="Only questions this difficult; repeatable or a,b.")
]
Sample = Annotated[
    int | None, typer.Option(min=1, help="Draw so many of these questions. Default: all.")
]
SampleSeed = Annotated[int, typer.Option(help="The draw's seed: the same draws the same.")]
ScaleFactor = Annotated[
    float | None,
    typer.Option(help="Scale factor of the suite's data. Default: 0.01, where it has any."),
]
Data = Annotated[
    Path, typer.Option(help="Where the data is kept; the suite's data is generated if missing.")
]
Checker = Annotated[
    str | None, typer.Option(help="Model inside check_query. Default: the controller's own.")
]
BaseUrl = Annotated[
    str | None, typer.Option(help="Address of an OpenAI-compatible server, for openai:NAME.")
]
Temperature = Annotated[
    float | None,
    typer.Option(
        min=0, help="Sampling temperature. Default: the provider's; 0 on a server of one's own."
    ),
]
TopP = Annotated[
    float | None, typer.Option(help="Nucleus sampling's mass. Default: the provider's.")
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, help="Tokens of one reply. Default: the provider's.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of sampling, where the provider takes one.")]
ReasoningEffort = Annotated[
    str | None, typer.Option(help="How much a reasoning model thinks: low, medium, high, ...")
]
Attempts = Annotated[
    int, typer.Option(min=1, help="Attempts at each LLM call whose provider fails.")
]
RetryWait = Annotated[
    float, typer.Option(min=0, help="Seconds of waiting between them, altogether.")
]
RecipeOption = Annotated[
    RecipeChoice,
    typer.Option(
        help="react: four tools. single: one call with the schema in the prompt. single+correct: "
        "with the engine's error fed back. self-consistency: a vote over several drafts' results."
    ),
]
LinkingOption = Annotated[
    Linking,
    typer.Option(help="Tables that the prompt of recipes other than react shows; none: all."),
]
LinkingTables = Annotated[
    int, typer.Option(min=1, help="How many tables lexical and embedding linking choose.")
]
Embeddings = Annotated[
    str | None, typer.Option(help="provider:model of embedding linking, through LangChain.")
]
Samples = Annotated[int, typer.Option(min=1, max=100, help="Drafts of self-consistency.")]
Corrections = Annotated[
    int, typer.Option(min=0, max=10, help="Rounds of correction in single+correct at most.")
]
CheckOption = Annotated[Check, typer.Option(help="What check_query does, in react.")]
MaxTurns = Annotated[int, typer.Option(min=1, help="Turns after which an agent gives up.")]
SampleRows = Annotated[int, typer.Option(min=0, max=20, help="Sample rows in get_schema.")]
ObservationChars = Annotated[
    int, typer.Option(min=2_000, help="Characters that one tool call shows the model at most.")
]
RunAnswerSql = Annotated[
    bool, typer.Option("--run-answer-sql", help="Run SQL from a final answer without a tool call.")
]
Timeout = Annotated[float, typer.Option(help="Seconds that one query may take.")]
MaxScanBytes = Annotated[
    str | None,
    typer.Option(help="Reject a query that would read more of tables' files, such as 10GB."),
]
MaxPlanRows = Annotated[
    int | None,
    typer.Option(min=1, help="Reject a query with a step that is estimated to return more rows."),
]
RefuseCartesian = Annotated[
    bool, typer.Option("--refuse-cartesian", help="Reject a query with a cartesian product.")
]
RequirePartitionFilter = Annotated[
    bool,
    typer.Option(
        "--require-partition-filter", help="Reject a query that reads every partition of a table."
    ),
]
MaxRows = Annotated[int, typer.Option(min=1, help="Rows of a result that are kept and judged.")]
Machine = Annotated[
    str,
    typer.Option(
        help="What the engine's work is charged at: a machine's name, dollars/hour, a cluster's "
        "nodes (emr:m5.xlarge+8xm5.xlarge?ebs_gb=64), or a name for such (paper-emr)."
    ),
]
BillingOption = Annotated[
    Billing, typer.Option(help="busy: seconds the engine worked; wall: question to answer.")
]
Redact = Annotated[
    str | None,
    typer.Option(
        help="module:function, given each result cell's column and value before a model sees it "
        "or it is kept; what it returns takes its place. `ask` still prints the true rows."
    ),
]
Prices = Annotated[Path | None, typer.Option(help="YAML file of prices that override the bundled.")]


def listed(option: str, values: list[str] | None) -> tuple[str, ...] | None:
    """Return what a repeatable option names, commas being as good as repeating it."""
    if not values:
        return None
    named = tuple(part for value in values for item in value.split(",") if (part := item.strip()))
    if not named:
        from bothends.infra.errors import UsageError

        raise UsageError(f"--{option} names nothing: give ids or names, such as a,b")
    return named


# Options that are spelt otherwise than the settings that they fill.
_OPTIONS = {
    "name": "recipe",
    "timeout_s": "timeout",
    "total_wait_s": "retry-wait",
    "models": "model",
    "question_ids": "question",
    "databases": "database",
    "difficulties": "difficulty",
}


def option_of(field: str) -> str:
    """Return the name of the option that fills a setting, without its dashes in front."""
    return _OPTIONS.get(field, field.replace("_", "-"))


def validated(make: Callable[[], Any]) -> Any:
    """Make a pydantic model of arguments; what is wrong with them is one sentence."""
    from pydantic import ValidationError

    from bothends.infra.errors import UsageError

    try:
        return make()
    except ValidationError as error:
        first = error.errors()[0]
        option = option_of(str(first["loc"][0]))
        raise UsageError(f"--{option}: {first['msg']}") from None


def with_options_of(
    command: Callable[..., None], *, but: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command another one's parameters beside its own.

    The command takes them as keyword arguments.

    Args:
        command: The other one.
        but: Those of its parameters that the command has no use for.
    """

    def decorate(own: Callable[..., None]) -> Callable[..., None]:
        parameters = {
            name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in (own, command)
            for name, parameter in inspect.signature(each, eval_str=True).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD and name not in but
        }
        own.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
        own.__annotations__ = {name: each.annotation for name, each in parameters.items()}
        return own

    return decorate
