"""Transcripts: what was said in a trial, message by message, one compressed line a trial."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bothends.agent.record import ToolCall, Usage
from bothends.eval.record import Trial, TrialKey

__all__ = ["Call", "Message", "Transcript", "untold"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(_Record):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"] = Field(description="Whose it is.")
    content: str | list[Any] = Field(
        description="Its text, whole, or its blocks where the provider's reply has several."
    )
    tool_calls: tuple[ToolCall, ...] = Field((), description="The tool calls that a reply makes.")
    name: str | None = Field(None, description="The tool whose observation it is.")


class Call(_Record):
    """One call, of an LLM (each attempt is one) or of a tool."""

    kind: Literal["llm", "tool"] = Field(description="What was called.")
    name: str = Field(description="The tool's name; controller or checker of an LLM.")
    prompt: tuple[int, ...] = Field(
        (), description="What an LLM was sent: the places of the messages, in their order."
    )
    reply: int | None = Field(
        None, description="The place of the reply or the observation; null where it failed."
    )
    usage: Usage | None = Field(None, description="Tokens, where they were reported.")
    error: str | None = Field(None, description="Why it failed, without secrets.")


class Transcript(_Record):
    """What was said in one trial: each message once, and each call that it was part of."""

    transcript_version: Literal[1] = Field(1, description="The version of this record's shape.")
    key: TrialKey = Field(description="The trial.")
    messages: tuple[Message, ...] = Field(description="Every message, in order of appearance.")
    calls: tuple[Call, ...] = Field(description="Every call, in order of ending.")


def untold(trial: Trial) -> Trial:
    """Return a trial of whose conversation and result nothing is kept but the SQL.

    What is counted, timed and judged stays, and so do the engine's and the provider's errors.
    """
    error = trial.error
    if trial.status == "no_query" and error is not None:
        error = error.partition(": ")[0]  # what follows are the model's words
    steps = tuple(
        step.model_copy(
            update={
                "text": "",
                "arguments": {},
                "tool_calls": tuple(ToolCall(name=call.name) for call in step.tool_calls),
            }
        )
        for step in trial.steps
    )
    return trial.model_copy(update={"steps": steps, "error": error, "first_rows": ()})
