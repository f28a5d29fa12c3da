"""The callback handler that writes down what is said in a trial."""

from __future__ import annotations

# ruff: noqa: ARG002 - the callbacks' signatures are LangChain's
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult

from bothends.agent.meter import ROLE, usage_of
from bothends.agent.record import ToolCall, Usage
from bothends.eval.record import Trial, TrialKey
from bothends.eval.store import RunDirectory
from bothends.eval.transcripts import Call, Message, Transcript, untold
from bothends.infra.redact import redact

__all__ = ["Witness", "write_down"]

_ERROR_CHARACTERS = 2_000


@dataclass(slots=True)
class _Open:
    """A call while it is under way."""

    kind: Literal["llm", "tool"]
    name: str
    prompt: tuple[int, ...] = ()
    reply: int | None = None
    usage: Usage | None = None
    error: str | None = None


class Witness(BaseCallbackHandler):
    """Hears every message of one trial. Make one per trial and read it when the trial has ended."""

    raise_error = True
    run_inline = True

    def __init__(self) -> None:
        self._messages: list[Message] = []
        # The same object, or else the same text, is the same message.
        self._heard: dict[int, tuple[int, BaseMessage]] = {}
        self._places: dict[str, int] = {}
        self._calls: list[_Open] = []
        self._open: dict[UUID, _Open] = {}

    def transcript(self, key: TrialKey) -> Transcript:
        """Return what was said.

        Args:
            key: The trial.
        """
        return Transcript(
            key=key,
            messages=tuple(self._messages),
            calls=tuple(
                Call(
                    kind=call.kind,
                    name=call.name,
                    prompt=call.prompt,
                    reply=call.reply,
                    usage=call.usage,
                    error=call.error,
                )
                for call in self._calls
            ),
        )

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Hear what an LLM is sent."""
        role = str((metadata or {}).get(ROLE, "controller"))
        self._open[run_id] = _Open("llm", role, tuple(map(self._place, messages[0])))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Hear its reply."""
        call = self._end(run_id)
        generations = [each for batch in response.generations for each in batch]
        message = getattr(generations[0], "message", None) if generations else None
        if isinstance(message, AIMessage):
            call.reply, call.usage = self._place(message), usage_of(message)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Hear that it failed."""
        self._fail(run_id, error)

    def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Hear that a tool is called."""
        self._open[run_id] = _Open("tool", str(serialized.get("name", "")))

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Hear its observation."""
        call = self._end(run_id)
        if isinstance(output, ToolMessage):
            call.reply = self._place(output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Hear that it failed."""
        self._fail(run_id, error)

    def _end(self, run_id: UUID) -> _Open:
        self._calls.append(self._open.pop(run_id))
        return self._calls[-1]

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        said = redact(f"{type(error).__name__}: {error}")
        self._end(run_id).error = said[:_ERROR_CHARACTERS]

    def _place(self, message: BaseMessage) -> int:
        """Return a message's place, giving it one where it is new."""
        known = self._heard.get(id(message))
        if known is not None:
            return known[0]
        record = _record(message)
        place = self._places.setdefault(record.model_dump_json(), len(self._messages))
        if place == len(self._messages):
            self._messages.append(record)
        # With the message, lest another one gets its id.
        self._heard[id(message)] = place, message
        return place


def write_down(directory: RunDirectory, trial: Trial, witness: Witness | None) -> Trial:
    """Record a trial with what was said in it, or, where nobody heard it, without any of that.

    Returns:
        The trial as it was written.

    Raises:
        RecordError: If it cannot be written.
    """
    if witness is None:
        return directory.append(untold(trial))
    # Before the trial, which is not run again: none is without its transcript.
    if (transcript := witness.transcript(trial.key)).calls:
        directory.append_transcript(transcript)
    return directory.append(trial)


_ROLES: dict[str, Literal["system", "user", "assistant", "tool"]] = {
    "ai": "assistant",
    "human": "user",
    "system": "system",
    "tool": "tool",
}


def _record(message: BaseMessage) -> Message:
    calls: tuple[ToolCall, ...] = ()
    if isinstance(message, AIMessage):
        calls = (
            *(ToolCall(name=call["name"], arguments=call["args"]) for call in message.tool_calls),
            *(
                ToolCall(name=call["name"] or "", arguments={"invalid": call["args"]})
                for call in message.invalid_tool_calls
            ),
        )
    return Message(
        role=_ROLES.get(message.type, "user"),
        content=message.content,
        tool_calls=calls,
        name=message.name if isinstance(message, ToolMessage) else None,
    )
