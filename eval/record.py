"""The record: everything known about one attempt, as one line of `trials.jsonl`."""

from __future__ import annotations

from statistics import median
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bothends.agent.record import ModelKind, Stage, Step, Usage
from bothends.engines.facts import EngineFacts

__all__ = [
    "Cost",
    "ErrorClass",
    "Executed",
    "Gold",
    "StageCost",
    "Status",
    "Timing",
    "Tolerance",
    "Trial",
    "TrialKey",
    "Verdict",
]

Status = Literal[
    "ok",
    "failed",
    "timeout",
    "rejected",
    "no_query",
    "gave_up",
    "provider_error",
    "gold_failed",
    "unjudged",
    "skipped",
]
ErrorClass = Literal["A", "B", "C", "D"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tolerance(_Record):
    """How far two numbers may lie apart and still be equal."""

    relative: float = Field(1e-9, description="Relative difference allowed between floats.")
    half_unit: bool = Field(
        True,
        description="Where one side is a decimal, allow half a unit in the last place of the "
        "coarser decimal scale as well.",
    )


class Verdict(_Record):
    """Whether an executed query's result is right, by four named rules, and what is wrong."""

    focus: bool = Field(description="Gold is contained in the result (valid, equation 2).")
    exact: bool = Field(description="Equal multisets of rows, columns in any order (equation 7).")
    ordered: bool = Field(description="Exact, and in gold's order where gold has an ORDER BY.")
    bird_set: bool | None = Field(
        description="BIRD's own rule: equal sets of row tuples. Null where it cannot be told, "
        "since not all of a result was kept."
    )
    error_class: ErrorClass | None = Field(
        description="A row count, B missing columns, C superfluous columns (still valid), D right "
        "shape but wrong values; null where exact."
    )
    gold_columns: int = Field(description="Columns of gold.")
    predicted_columns: int = Field(description="Columns of the result.")
    columns_found: int = Field(description="Columns of gold that were found in the result.")
    precision: float = Field(description="P_i: columns found over predicted columns.")
    gold_rows: int = Field(description="Rows of gold.")
    predicted_rows: int = Field(description="Rows of the result.")
    empty_gold: bool = Field(
        False, description="Gold has no rows, or nothing but NULL: the verdict proves little."
    )
    gold_nondeterministic: bool = Field(
        False, description="Gold's own result is one of several right ones; see the gold record."
    )
    tolerance: Tolerance = Field(description="The tolerance in force.")
    reason: str = Field("", description="Why it is not exact, in a sentence.")


class Timing(_Record):
    """Raw engine seconds of gold and of the generated query under one regimen.

    Each is warmed up first; then the two are executed alternately, gold first.
    """

    gold_s: tuple[float, ...] = Field(description="Each timed execution of gold, in seconds.")
    generated_s: tuple[float, ...] = Field(description="Each of the generated query, in seconds.")
    gold_median_s: float = Field(description="T_gold: the median of gold_s.")
    generated_median_s: float | None = Field(
        description="T_gen: the median of generated_s; null where a repeat did not execute."
    )

    @property
    def spread(self) -> float:
        """The wider of the two ranges of timings, as a part of its median."""
        both = [each for each in (self.gold_s, self.generated_s) if each and median(each) > 0]
        return max(((max(each) - min(each)) / median(each) for each in both), default=0.0)


class Executed(_Record):
    """What became of a query that was run at a scale factor, beside its gold there."""

    status: Literal["ok", "failed", "timeout", "rejected", "unjudged"] = Field(
        description="How it ended."
    )
    error: str | None = Field(None, description="Why it ended otherwise than ok, in a sentence.")
    seconds: float = Field(
        description="Seconds in which the engine worked: for its first execution, and before that "
        "for its estimate, where pre-flight limits are in force."
    )
    row_count: int | None = Field(None, description="Rows of its result.")
    columns: tuple[str, ...] = Field((), description="The result's column names.")
    first_rows: tuple[tuple[Any, ...], ...] = Field(
        (), description="The first rows of its result, cells as text or null."
    )
    verdict: Verdict | None = Field(None, description="Right or wrong; null if not executed.")
    timing: Timing | None = Field(None, description="Engine timings; null if not executed.")
    exact_match: bool | None = Field(None, description="The same query as gold.")
    soft_f1: float | None = Field(None, description="BIRD's Soft-F1 of the result.")
    facts: EngineFacts | None = Field(None, description="What the engine tells of its execution.")


class StageCost(_Record):
    """What one stage took. The sum over the stages and the overhead is the whole trial."""

    seconds: float = Field(description="LLM turns and tools of this stage, in seconds.")
    llm_s: float = Field(description="Of these, seconds in LLM calls, retries included.")
    engine_s: float = Field(description="Of these, seconds in which the engine worked.")
    usage: Usage | None = Field(description="Tokens; null where any call did not report them.")
    llm_usd: float | None = Field(description="Dollars for the LLM; null where unknown.")
    engine_usd: float | None = Field(description="Dollars for the engine; null where unknown.")
    usd: float | None = Field(description="Both; null where either is unknown.")


class Cost(_Record):
    """C_e2e: what one trial cost, in dollars."""

    llm_usd: float | None = Field(description="Dollars for the LLM; null where unknown.")
    engine_usd: float | None = Field(description="Dollars for the engine; null where unknown.")
    usd: float | None = Field(description="C_e2e, both; null where either is unknown.")
    billing: Literal["busy", "wall"] = Field(
        description="busy: the seconds the engine worked; wall: from question to answer."
    )
    llm_priced_by: str = Field(description="What the LLM was priced by, in words.")
    engine_priced_by: str = Field(description="What the engine was priced by, in words.")
    estimated: bool = Field(False, description="Tokens were counted here, not reported.")


class TrialKey(_Record):
    """What makes one trial: the same key is never run twice in a run directory."""

    suite: str = Field(description="The suite's name.")
    question_id: str = Field(description="The question's id.")
    engine: str = Field(description="The engine's name.")
    scale_factor: float | None = Field(description="The data's scale factor, where it has one.")
    model: str = Field(description="The controller, as it was named.")
    checker: str | None = Field(description="The checker, where it is not the controller's model.")
    recipe: str = Field(description="The recipe's name.")
    replica: int = Field(description="Which repetition, from 0.")


class Trial(_Record):
    """One attempt at one question, whole."""

    record_version: Literal[1] = Field(1, description="The version of this record's shape.")
    key: TrialKey = Field(description="What was tried.")
    model_kind: ModelKind = Field(description="What the controller is.")
    model_label: str = Field(description="The controller's name in tables.")
    status: Status = Field(description="How it ended.")
    error: str | None = Field(None, description="Why it ended otherwise than ok, in a sentence.")
    sql: str | None = Field(None, description="The SQL that the agent ran.")
    row_count: int | None = Field(None, description="Rows of its result, where it executed.")
    first_rows: tuple[tuple[Any, ...], ...] = Field(
        (), description="The first rows of its result, cells as text or null."
    )
    columns: tuple[str, ...] = Field((), description="The result's column names.")
    verdict: Verdict | None = Field(None, description="Right or wrong; null if not executed.")
    timing: Timing | None = Field(None, description="Engine timings; null if not executed.")
    exact_match: bool | None = Field(
        None, description="The same query as gold, after sqlglot's reading; null if not looked at."
    )
    soft_f1: float | None = Field(
        None, description="BIRD's Soft-F1 of the result; null if not executed or not looked at."
    )
    e2e_s: float | None = Field(
        description="T_e2e, in seconds; null where a prediction made elsewhere does not tell."
    )
    queue_s: float = Field(
        0.0, description="Seconds that its calls waited for an engine slot; not in e2e_s."
    )
    overhead_s: float = Field(description="T_e2e minus the stages: the harness's own seconds.")
    stages: dict[Stage, StageCost] = Field(description="Seconds, tokens and dollars by stage.")
    usage: Usage | None = Field(description="All tokens; null where any call did not report them.")
    cost: Cost = Field(description="Dollars.")
    steps: tuple[Step, ...] = Field(description="Every LLM and tool call.")
    step_usd: tuple[float | None, ...] = Field(
        (),
        description="Dollars of each step, for the LLM and the engine; null where unknown, empty "
        "in an older record. They add up to the stages' dollars.",
    )
    ignored_calls: int = Field(0, description="Tool calls after the first run_query in its turn.")
    calls_from_text: int = Field(0, description="Tool calls that were read out of text.")
    retries: int = Field(0, description="LLM attempts that a provider fault made necessary.")
    retry_s: float = Field(0.0, description="Seconds in failed attempts and back-off.")
    replayed: bool = Field(False, description="LLM seconds and tokens are a recording's.")
    translated_at: float | None = Field(
        None,
        description="The scale factor at which the agent wrote the SQL, where that is not this "
        "trial's: of what it says only the run of the query was measured here.",
    )
    fingerprint: str = Field(description="Digest of the engine's fingerprint in the manifest.")
    bothends_version: str = Field(description="The version that wrote this.")
    started_at: str = Field(description="When it started, ISO 8601, UTC.")


class Gold(_Record):
    """One gold query's result and timings on one engine and scale factor: a line of gold.jsonl."""

    suite: str = Field(description="The suite's name.")
    question_id: str = Field(description="The question's id.")
    engine: str = Field(description="The engine's name.")
    scale_factor: float | None = Field(description="The data's scale factor, where it has one.")
    fingerprint: str = Field(description="Digest of the engine's fingerprint in the manifest.")
    sql: str = Field(description="The gold SQL that was run.")
    status: Literal["ok", "failed", "timeout", "rejected"] = Field(description="How it ended.")
    error: str | None = Field(None, description="Why it did not execute.")
    columns: tuple[str, ...] = Field((), description="Column names.")
    row_count: int | None = Field(None, description="Rows.")
    first_rows: tuple[tuple[Any, ...], ...] = Field(
        (), description="The first rows, cells as text or null, redacted as a trial's are."
    )
    digest: str | None = Field(
        None,
        description="SHA-256 of the sorted normalised rows, in hexadecimal digits. Where not all "
        "of the result was kept, the engine's own digest of it, which begins with the engine's "
        "name and the number of rows, as in spark:6001215:...; null where there is neither.",
    )
    deterministic: bool | None = Field(
        None,
        description="Whether the data and the SQL allow this result alone: false where another "
        "was shown to be right as well, null where neither was shown.",
    )
    determinism: str = Field("", description="What was found or not found, in a sentence.")
    seconds: float = Field(0.0, description="Its first execution, which warms the engine up.")
    facts: EngineFacts | None = Field(
        None, description="What that execution took of the engine; null where it does not tell."
    )
