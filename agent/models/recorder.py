"""The callback handler that turns a trial's LLM calls into lines of a recording."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import LLMResult

from bothends.agent.meter import ROLE, usage_of
from bothends.agent.models.base import Case
from bothends.agent.models.recording import Message, RecordedCall, Role, question_digest
from bothends.agent.models.recording_writer import RecordingWriter
from bothends.agent.retry import fault_text
from bothends.infra.redact import redact

__all__ = ["TrialRecorder", "prompt_digest"]

_ERROR_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that is under way."""

    start_s: float
    role: Role
    sent: Sequence[BaseMessage]


class TrialRecorder(BaseCallbackHandler):
    """Records the LLM calls of one trial, every attempt a line.

    Args:
        writer: Where the lines go.
        case: The trial.
    """

    raise_error = True
    run_inline = True

    def __init__(self, writer: RecordingWriter, case: Case) -> None:
        self._writer = writer
        self._case = case
        self._index = 0
        self._known = 0  # messages of the controller's conversation that are recorded
        self._open: dict[UUID, _Call] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Start the clock of a call."""
        role: Role = "checker" if (metadata or {}).get(ROLE) == "checker" else "controller"
        self._open[run_id] = _Call(time.perf_counter(), role, tuple(messages[0]))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Record an attempt that failed."""
        said = redact(fault_text(error))[:_ERROR_CHARACTERS]
        self._write(self._open.pop(run_id), error=said)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Record a call that was answered."""
        call = self._open.pop(run_id)
        generations = [each for batch in response.generations for each in batch]
        message = getattr(generations[0], "message", None) if generations else None
        if not isinstance(message, AIMessage):
            self._write(call, error="the reply holds no assistant's message")
            return
        said = message.response_metadata
        self._write(
            call,
            text=message.text,
            tool_calls=tuple(_pick(call, "name", "args", "id") for call in message.tool_calls),
            invalid_tool_calls=tuple(
                _pick(call, "name", "args", "id", "error") for call in message.invalid_tool_calls
            ),
            refusal=message.additional_kwargs.get("refusal") or None,
            usage=_usage(message),
            estimated=bool(said.get("bothends", {}).get("estimated")),
            response_model=said.get("model_name") or said.get("model"),
            finish_reason=said.get("finish_reason")
            or said.get("stop_reason")
            or said.get("done_reason"),
        )
        if call.role == "controller":
            self._known = len(call.sent)

    def _write(self, call: _Call, **found: Any) -> None:
        new = call.sent[self._known :] if call.role == "controller" else call.sent
        self._writer.append(
            RecordedCall(
                question_id=self._case.question_id,
                question_sha256=question_digest(self._case.question),
                replica=self._case.replica,
                index=self._index,
                role=call.role,
                prompt_sha256=prompt_digest(call.sent),
                messages=tuple(Message(type=each.type, text=each.text) for each in new),
                seconds=time.perf_counter() - call.start_s,
                **found,
            )
        )
        self._index += 1


def _pick(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: mapping.get(key) for key in keys}


def _usage(message: AIMessage) -> dict[str, Any] | None:
    usage = usage_of(message)
    if usage is None or message.usage_metadata is None:
        return None
    return {**message.usage_metadata, "output_tokens": usage.output_tokens}


def prompt_digest(messages: Sequence[BaseMessage]) -> str:
    """Return the SHA-256 of a conversation; call ids, drawn anew each time, are left out."""
    said = [
        (message.type, message.text, [_pick(call, "name", "args") for call in _calls(message)])
        for message in messages
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def _calls(message: BaseMessage) -> list[Any]:
    return list(message.tool_calls) if isinstance(message, AIMessage) else []
