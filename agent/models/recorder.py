"""The callback handler that turns a trial's LLM calls into lines of a recording."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import LLMResult

from bothends.agent.meter import ROLE
from bothends.agent.models.base import Case
from bothends.agent.models.recording import RecordedCall, RecordingWriter, Role, question_digest
from bothends.infra.redact import redact

__all__ = ["TrialRecorder"]

_ERROR_CHARACTERS = 500


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
        self._open: dict[UUID, tuple[float, Role, str]] = {}

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
        self._open[run_id] = (time.perf_counter(), role, _prompt_digest(messages[0]))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Record an attempt that failed."""
        start_s, role, prompt = self._open.pop(run_id)
        said = redact(str(error))[:_ERROR_CHARACTERS]
        self._write(role, prompt, start_s, error=said)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Record a call that was answered."""
        start_s, role, prompt = self._open.pop(run_id)
        generations = [each for batch in response.generations for each in batch]
        message = getattr(generations[0], "message", None) if generations else None
        if not isinstance(message, AIMessage):
            return
        said = message.response_metadata
        self._write(
            role,
            prompt,
            start_s,
            text=message.text,
            tool_calls=tuple(_pick(call, "name", "args", "id") for call in message.tool_calls),
            invalid_tool_calls=tuple(
                _pick(call, "name", "args", "id", "error") for call in message.invalid_tool_calls
            ),
            usage=dict(message.usage_metadata) if message.usage_metadata else None,
            response_model=said.get("model_name") or said.get("model"),
            finish_reason=said.get("finish_reason")
            or said.get("stop_reason")
            or said.get("done_reason"),
        )

    def _write(self, role: Role, prompt: str, start_s: float, **found: Any) -> None:
        self._writer.append(
            RecordedCall(
                question_id=self._case.question_id,
                question_sha256=question_digest(self._case.question),
                replica=self._case.replica,
                index=self._index,
                role=role,
                prompt_sha256=prompt,
                seconds=time.perf_counter() - start_s,
                **found,
            )
        )
        self._index += 1


def _pick(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: mapping.get(key) for key in keys}


def _prompt_digest(messages: list[BaseMessage]) -> str:
    """Return the SHA-256 of a conversation; call ids, drawn anew each time, are left out."""
    said = [
        (message.type, message.text, [_pick(call, "name", "args") for call in _calls(message)])
        for message in messages
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def _calls(message: BaseMessage) -> list[Any]:
    return list(message.tool_calls) if isinstance(message, AIMessage) else []
