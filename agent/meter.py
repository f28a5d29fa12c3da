"""The meter: every LLM and tool call, as LangChain's callbacks see them."""

from __future__ import annotations

# ruff: noqa: ARG002 - the callbacks' signatures are LangChain's
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult

from bothends.agent.record import Step, ToolCall, Usage
from bothends.engines import Outcome
from bothends.infra.redact import redact
from bothends.tools import ToolReport

__all__ = ["ROLE", "Meter", "usage_of"]

ROLE = "bothends_role"
"""Key of a run's metadata that says which LLM it is: `controller` or `checker`."""

_ERROR_CHARACTERS = 500


@dataclass(slots=True)
class _Entry:
    """A step while it is under way."""

    kind: Literal["llm", "tool"]
    name: str
    turn: int
    start_s: float
    real_start_s: float
    role: Literal["controller", "checker"] | None = None
    parent: int | None = None
    seconds: float = 0.0
    wait_s: float = 0.0
    engine_s: float = 0.0
    usage: Usage | None = None
    priced_as: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    calls_from_text: int = 0
    text: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    replayed: bool = False
    ran: Outcome | None = None
    sampled: tuple[Outcome, ...] = ()


class Meter(BaseCallbackHandler):
    """Times and counts one trial. Make one per trial and read it when the trial has ended.

    The meter's clock runs with the wall, but for replayed LLM calls: these return at once and
    move the clock on by their recorded seconds, so that every figure of the trial is what it
    would be had the model answered as fast as it was recorded.

    Args:
        clock_s: The clock that it runs with, in seconds.

    Attributes:
        turn: The controller's turn under way, from 0; the agent moves it on.
    """

    raise_error = True
    run_inline = True

    def __init__(self, clock_s: Callable[[], float] = time.perf_counter) -> None:
        self.turn = 0
        self._now_s = clock_s
        self._entries: list[_Entry] = []
        self._open: dict[UUID, int] = {}
        self._skew_s = 0.0
        self._origin_s = clock_s()

    def clock_s(self) -> float:
        """Return the trial's seconds so far, T_e2e once it has ended."""
        return self._now_s() - self._origin_s + self._skew_s

    def steps(self) -> tuple[Step, ...]:
        """Return every step, in order of starting.

        What the queries took is asked of the engine here, which may take seconds: call it once,
        when the trial's clock has been read for the last time.
        """
        return tuple(_step(index, entry) for index, entry in enumerate(self._entries))

    def called(self, calls: Sequence[ToolCall], *, from_text: int) -> None:
        """Note what the controller's last reply asked for.

        Args:
            calls: The tool calls.
            from_text: How many of them stood in its text.
        """
        entry = next(entry for entry in reversed(self._entries) if entry.role == "controller")
        entry.tool_calls = tuple(calls)
        entry.calls_from_text = from_text

    def waited(self, seconds: float) -> None:
        """Add back-off to the LLM call that failed last."""
        entry = next(entry for entry in reversed(self._entries) if entry.kind == "llm")
        entry.wait_s += seconds

    def refused(self, name: str, arguments: dict[str, Any], error: str) -> None:
        """Note a tool call that could not be made, as a step without duration."""
        index = self._start("tool", name, parent=None)
        self._entries[index].arguments = arguments
        self._fail(index, error)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start an LLM step."""
        role: Literal["controller", "checker"] = (
            "checker" if (metadata or {}).get(ROLE) == "checker" else "controller"
        )
        # The checker runs inside the tool that is still open, whatever lies between in the graph.
        parent = None
        if role == "checker":
            parent = next(
                (i for i in reversed(self._open.values()) if self._entries[i].kind == "tool"), None
            )
        name = str((metadata or {}).get("ls_model_name") or (serialized or {}).get("name") or "")
        index = self._start("llm", name, parent=parent)
        self._entries[index].role = role
        self._open[run_id] = index

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """End an LLM step with its usage, moving the clock on where the reply is a recording's."""
        index = self._open.pop(run_id)
        entry = self._entries[index]
        real_s = self._now_s() - entry.real_start_s
        entry.seconds = real_s
        generations = [each for batch in response.generations for each in batch]
        message = getattr(generations[0], "message", None) if generations else None
        if not isinstance(message, AIMessage):
            self._fail(index, "the reply holds no assistant's message")
            return
        entry.text = message.text
        entry.usage = usage_of(message)
        ours = message.response_metadata.get("bothends", {})
        if ours.get("replayed"):
            entry.replayed = True
            entry.seconds = float(ours["seconds"])
            self._skew_s += entry.seconds - real_s

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End an LLM step that failed."""
        index = self._open.pop(run_id)
        self._entries[index].seconds = self.clock_s() - self._entries[index].start_s
        self._fail(index, f"{type(error).__name__}: {error}")

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start a tool step."""
        index = self._start("tool", str(serialized.get("name", "")), parent=None)
        self._entries[index].arguments = inputs or {}
        self._open[run_id] = index

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End a tool step with what the engine took of it."""
        entry = self._entries[self._open.pop(run_id)]
        entry.seconds = self.clock_s() - entry.start_s
        if isinstance(output, ToolMessage):
            entry.text = str(output.content)
            if isinstance(output.artifact, ToolReport):
                entry.engine_s = output.artifact.engine_s
                entry.error = output.artifact.error
                entry.priced_as = output.artifact.priced_as
                entry.ran, entry.sampled = output.artifact.outcome, output.artifact.sampled
                if output.artifact.tokens is not None:
                    entry.usage = Usage(
                        input_tokens=output.artifact.tokens, output_tokens=0, estimated=True
                    )
            elif output.status == "error":
                entry.error = entry.text

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End a tool step that failed."""
        index = self._open.pop(run_id)
        self._entries[index].seconds = self.clock_s() - self._entries[index].start_s
        self._fail(index, f"{type(error).__name__}: {error}")

    def _start(self, kind: Literal["llm", "tool"], name: str, parent: int | None) -> int:
        self._entries.append(
            _Entry(kind, name, self.turn, self.clock_s(), self._now_s(), parent=parent)
        )
        return len(self._entries) - 1

    def _fail(self, index: int, error: str) -> None:
        # A provider's message may quote the key that it refused; retry.py redacts what it raises,
        # and the same is done here, since steps are written to disk.
        self._entries[index].error = redact(error)[:_ERROR_CHARACTERS]


def _step(index: int, entry: _Entry) -> Step:
    facts = entry.ran.facts() if entry.ran is not None else None
    scans_bytes = None
    if entry.kind == "tool":
        told = [each.facts() for each in entry.sampled]
        # What was rejected never came to the engine.
        told += [facts] if entry.ran is not None and entry.ran.status != "rejected" else []
        scans_bytes = tuple(each.read_bytes if each is not None else None for each in told)
    known = [each for each in scans_bytes or () if each is not None]
    whole = scans_bytes is not None and len(known) == len(scans_bytes)
    return Step(
        index=index,
        kind=entry.kind,
        name=entry.name,
        role=entry.role,
        turn=entry.turn,
        parent=entry.parent,
        start_s=entry.start_s,
        seconds=entry.seconds,
        wait_s=entry.wait_s,
        engine_s=entry.engine_s,
        facts=facts,
        scanned_bytes=sum(known) if whole else None,
        scans_bytes=scans_bytes,
        usage=entry.usage,
        priced_as=entry.priced_as,
        tool_calls=entry.tool_calls,
        calls_from_text=entry.calls_from_text,
        text=entry.text,
        arguments=entry.arguments,
        error=entry.error,
        replayed=entry.replayed,
    )


def usage_of(message: AIMessage) -> Usage | None:
    """Return the tokens that a reply reports, or None where it reports none."""
    reported = message.usage_metadata
    if reported is None:
        return None
    inputs = reported.get("input_token_details") or {}
    outputs = reported.get("output_token_details") or {}
    return Usage(
        # No prompt has no tokens: a 0 stands for a count that was not made.
        input_tokens=reported["input_tokens"] or None,
        output_tokens=_reported_output(message, reported["output_tokens"]),
        cache_read_tokens=inputs.get("cache_read"),
        cache_write_tokens=inputs.get("cache_creation"),
        reasoning_tokens=outputs.get("reasoning"),
        estimated=bool(message.response_metadata.get("bothends", {}).get("estimated")),
    )


def _reported_output(message: AIMessage, tokens: int) -> int | None:
    """Return a reply's tokens, or None where OpenAI's client made a 0 of a null or of nothing."""
    raw = message.response_metadata.get("token_usage")
    if tokens == 0 and isinstance(raw, dict) and raw.get("completion_tokens") is None:
        return None
    return tokens
