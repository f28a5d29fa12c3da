"""What an agent leaves behind: steps with their seconds and tokens. A part of the trial record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bothends.engines import Outcome
from bothends.engines.facts import EngineFacts

__all__ = [
    "STAGES",
    "STAGE_OF_TOOL",
    "AgentRun",
    "AgentStatus",
    "ModelKind",
    "Stage",
    "Step",
    "ToolCall",
    "Usage",
]

Stage = Literal["list", "schema", "check", "run", "answer"]
STAGES: tuple[Stage, ...] = ("list", "schema", "check", "run", "answer")
STAGE_OF_TOOL: dict[str, Stage] = {
    "list_tables": "list",
    "link_tables": "schema",
    "get_schema": "schema",
    "check_query": "check",
    "run_query": "run",
}

ModelKind = Literal["hosted", "self_hosted", "replay", "scripted", "predictions"]

AgentStatus = Literal[
    "ok", "failed", "timeout", "rejected", "no_query", "gave_up", "provider_error"
]


class Usage(BaseModel):
    """Tokens of one LLM call, or of several added up. A count that is not known is null, never 0.

    `input_tokens` includes the cached ones and `output_tokens` the reasoning ones, as providers
    report them; the parts are kept apart because they are priced apart.
    """

    model_config = ConfigDict(frozen=True)

    input_tokens: int | None = Field(None, description="Prompt tokens, cached ones included.")
    output_tokens: int | None = Field(None, description="Reply tokens, reasoning included.")
    cache_read_tokens: int | None = Field(None, description="Prompt tokens read from a cache.")
    cache_write_tokens: int | None = Field(None, description="Prompt tokens written to a cache.")
    reasoning_tokens: int | None = Field(None, description="Reply tokens spent on reasoning.")
    estimated: bool = Field(
        False, description="Counted with a tokenizer here, not reported by a provider."
    )

    def __add__(self, other: Usage) -> Usage:
        """Add count by count.

        The two totals are null as soon as one side's is; a part (cached, reasoning) is null only
        where neither side reports it.
        """
        return Usage(
            input_tokens=_both(self.input_tokens, other.input_tokens),
            output_tokens=_both(self.output_tokens, other.output_tokens),
            cache_read_tokens=_either(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_either(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens=_either(self.reasoning_tokens, other.reasoning_tokens),
            estimated=self.estimated or other.estimated,
        )


def _both(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _either(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


class ToolCall(BaseModel):
    """A tool call as the model asked for it."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="The tool's name as the model wrote it.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Its arguments.")


class Step(BaseModel):
    """One LLM call (each attempt is one) or one tool call, as the callbacks saw it."""

    model_config = ConfigDict(frozen=True)

    index: int = Field(description="Position in the trial, in order of starting, from 0.")
    kind: Literal["llm", "tool"] = Field(description="An LLM call or a tool call.")
    name: str = Field(description="The tool's name, or the model's.")
    role: Literal["controller", "checker"] | None = Field(
        None, description="Which LLM it was; null for a tool."
    )
    turn: int = Field(description="The controller's turn that it belongs to, from 0.")
    parent: int | None = Field(
        None, description="Index of the tool step inside which this LLM call ran."
    )
    start_s: float = Field(description="Seconds from the trial's start.")
    seconds: float = Field(description="Its duration, with the LLM calls inside it.")
    wait_s: float = Field(0.0, description="Back-off waited after it, before the next attempt.")
    engine_s: float = Field(0.0, description="Seconds of it in which the engine worked.")
    facts: EngineFacts | None = Field(
        None, description="What its query took of the engine, for run_query; null if not told."
    )
    scanned_bytes: int | None = Field(
        None, description="Bytes that its queries scanned; null where the engine does not tell."
    )
    scans_bytes: tuple[int | None, ...] | None = Field(
        None,
        description="The same of each of them, since a price may be at least so much for each: of "
        "a run_query one, of a get_schema one for each sample, of others none; null for an LLM.",
    )
    usage: Usage | None = Field(
        None, description="Tokens; null when not reported, and for a tool that embeds nothing."
    )
    priced_as: str | None = Field(
        None,
        description="The `provider:model` whose prices the tokens of a tool, which embeds, are "
        "charged; null for LLM calls, and for embeddings on a machine of one's own.",
    )
    tool_calls: tuple[ToolCall, ...] = Field((), description="What the LLM asked for.")
    calls_from_text: int = Field(
        0, description="How many of those calls it wrote as JSON in its text."
    )
    text: str = Field("", description="The LLM's reply text, or the tool's observation.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="The tool's arguments.")
    error: str | None = Field(None, description="Why it failed, shortened; null if it did not.")
    replayed: bool = Field(
        False, description="The seconds and tokens are a recording's, not this machine's."
    )


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What an agent did with one question.

    Attributes:
        status: How it ended; the first four are the outcome of its `run_query`.
        sql: The SQL that it ran, or None where it ran none.
        outcome: What became of its `run_query`, or None where there was none.
        steps: Every LLM and tool call, in order of starting.
        seconds: End-to-end seconds, T_e2e: from the question to the outcome, retries included;
            a replayed LLM call counts its recorded seconds, and waiting for the engine behind
            others counts nothing.
        error: Why it ended otherwise than `ok`, in a sentence.
        ignored_calls: Tool calls that stood after the first `run_query` in its turn.
        queue_s: Seconds of waiting for the engine behind others.
    """

    status: AgentStatus
    sql: str | None
    outcome: Outcome | None
    steps: tuple[Step, ...]
    seconds: float
    error: str | None = None
    ignored_calls: int = 0
    queue_s: float = 0.0
