"""A model that answers from a recording, with the tokens and seconds that were recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from bothends.agent.models.base import Case, Model
from bothends.agent.models.difference import first_difference
from bothends.agent.models.pricing import stated_pricing
from bothends.agent.models.recorder import prompt_digest
from bothends.agent.models.recording import (
    Message,
    RecordedCall,
    RecordedChecker,
    RecordingHeader,
    find_recording,
    read_recording,
)
from bothends.agent.models.role import role_of
from bothends.infra.errors import ReplayError
from bothends.infra.prices import MachinePricing, NoPricing, Pricing, TokenPricing

if TYPE_CHECKING:
    from bothends.agent.models.spec import ModelSpec
    from bothends.infra.prices import PriceBook

__all__ = ["ReplayChatModel", "load"]


class ReplayChatModel(BaseChatModel):
    """Gives the recorded replies of one trial, in their order and at once.

    Each reply says in `response_metadata["bothends"]` that it is replayed and how many seconds
    it took when it was recorded. One instance serves one trial, its controller and its checker.

    Attributes:
        model_name: What it is called in records.
        calls: The recorded calls of the trial.
        trial: Which trial of which recording that is, in words.
        strict: Whether it refuses to answer another conversation than the recorded one.
    """

    model_name: str
    calls: tuple[RecordedCall, ...]
    trial: str
    strict: bool

    _next: int = PrivateAttr(default=0)
    _heard: tuple[Message, ...] = PrivateAttr(default=())
    _departed: str = PrivateAttr(default="")
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "replay"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,  # noqa: ARG002 - the choice was made when it was recorded
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model as a controller with these tools."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        role = role_of(run_manager, kwargs)
        with self._lock:
            position, self._next = self._next, self._next + 1
        where = f"{self.trial}, call {position} ({role})"
        recorded = self.calls[position].role if position < len(self.calls) else "nothing"
        if recorded != role:
            raise ReplayError(
                f"{where}: the conversation took another course than the recorded one at call "
                f"{position}, where {recorded} was asked{self._departed}: record it anew with "
                "these tools, this recipe and this data"
            )
        call = self.calls[position]
        departure = self._departure(call, messages)
        if departure and self.strict and call.messages is not None:
            raise ReplayError(
                f"{where}: the conversation is not the recorded one: {departure}; record it anew, "
                "or have it answered all the same with ?strict=off"
            )
        if departure and not self._departed:
            self._departed = f" (since call {position} it is not the same: {departure})"
        if call.error is not None:
            raise _RecordedFaultError(call.error)
        return ChatResult(generations=[ChatGeneration(message=_reply(call))])

    def _departure(self, call: RecordedCall, messages: list[BaseMessage]) -> str | None:
        """Say how a conversation differs from the one that a call was recorded with, if it does."""
        if call.messages is not None:
            heard = self._heard if call.role == "controller" else ()
            recorded = (*heard, *call.messages)
            if call.role == "controller":
                self._heard = recorded
            return first_difference(recorded, messages)
        if not call.prompt_sha256 or call.prompt_sha256 == prompt_digest(messages):
            return None
        if call.role == "checker":
            return "the checker's prompt differs"
        return (
            "what the tools answered differs"
            if call.index
            else "the system prompt or the question's wording differs"
        )


class _RecordedFaultError(Exception):
    """A provider's fault that ended the recorded trial, raised again."""


def _answered_or_final(calls: Sequence[RecordedCall]) -> tuple[RecordedCall, ...]:
    """Leave out the attempts that were retried: a replay has no reason to wait for them again."""
    last = len(calls) - 1
    return tuple(call for i, call in enumerate(calls) if call.error is None or i == last)


def _reply(call: RecordedCall) -> AIMessage:
    said: dict[str, Any] = {
        "bothends": {"seconds": call.seconds, "replayed": True, "estimated": call.estimated}
    }
    if call.response_model:
        said["model_name"] = call.response_model
    if call.finish_reason:
        said["finish_reason"] = call.finish_reason
    usage = call.usage
    if usage is not None and usage.get("output_tokens") is None:
        # As OpenAI's client hands on a count that was not reported; the meter knows it again.
        said["token_usage"] = {"completion_tokens": None}
        usage = {**usage, "output_tokens": 0}
    return AIMessage(
        call.text,
        additional_kwargs={"refusal": call.refusal} if call.refusal else {},
        tool_calls=[{**made, "type": "tool_call"} for made in call.tool_calls],
        invalid_tool_calls=[
            {**made, "type": "invalid_tool_call"} for made in call.invalid_tool_calls
        ],
        usage_metadata=usage,
        response_metadata=said,
    )


def load(spec: ModelSpec, prices: PriceBook) -> Model:
    """Return the model of a recording.

    Raises:
        UsageError: If an option does not apply.
        ReplayError: If the file is missing, no recording, or damaged.
    """
    spec.admit("label", "price_as", "machine", "strict")
    recording = read_recording(find_recording(spec.model))
    header = recording.header
    checker = header.checker

    def chat(case: Case) -> BaseChatModel:
        return ReplayChatModel(
            model_name=header.model,
            calls=_answered_or_final(recording.calls(case)),
            trial=f"{recording.path.name}, question {case.question_id!r}, replica {case.replica}",
            strict=spec.options.strict is not False,
        )

    name = header.model.partition("?")[0]
    replicas = f"{recording.replicas} replica" + ("" if recording.replicas == 1 else "s")
    with_checker = f" Its checker was {checker.model.partition('?')[0]}." if checker else ""
    note = f" {header.note.rstrip('.')}." if header.note else ""
    return Model(
        spec=spec.text,
        label=spec.options.label or f"{header.label} (replayed)",
        kind="replay",
        description=(
            f"A recording, not a live model: {name}, served by {header.server}, recorded "
            f"on {header.date} on {header.hardware}; {len(recording.questions)} questions, "
            f"{replicas} of each.{with_checker}{note}"
        ),
        pricing=stated_pricing(spec, prices) or _recorded_pricing(header),
        text_calls=header.text_calls,
        chat=chat,
        recipe=header.recipe,
        checker_pricing=_recorded_pricing(checker) if checker else None,
    )


def _recorded_pricing(header: RecordingHeader | RecordedChecker) -> Pricing:
    if header.price_as:
        provider, _, model = header.price_as.partition(":")
        return TokenPricing(provider, model)
    if header.machine and header.usd_per_hour is not None:
        return MachinePricing(header.machine, header.usd_per_hour)
    return NoPricing("the recording names no price, and no machine or price_as was given")
