"""Asking an LLM and reading how its reply ended: whole, cut at a token limit, or withheld."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from bothends.agent.meter import ROLE
from bothends.agent.retry import RetryPolicy, call_with_retry

__all__ = ["ask_llm", "is_cut", "why_withheld"]

# What providers call the end of a reply, each under a key of its own.
_END_KEYS = ("finish_reason", "stop_reason", "done_reason")
_CUT = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
_WITHHELD = frozenset(
    {"content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"}
)
_SHOWN_CHARACTERS = 200


def ask_llm(
    chat: Runnable[LanguageModelInput, AIMessage],
    messages: Sequence[BaseMessage],
    *,
    role: Literal["controller", "checker"],
    retry: RetryPolicy,
    waited: Callable[[float], None],
) -> AIMessage:
    """Return an LLM's reply; a fault of its provider is tried again.

    Args:
        chat: The LLM.
        messages: The conversation.
        role: Which LLM it is, for the meter.
        retry: Attempts and waits.
        waited: Told the seconds before each wait.

    Raises:
        ProviderError: As `call_with_retry` does.
    """

    def call() -> AIMessage:
        reply = chat.invoke(list(messages), RunnableConfig(metadata={ROLE: role}))
        # Clients hand on whatever role a server writes.
        if not isinstance(reply, AIMessage):
            raise TypeError(f"the reply is a {type(reply).__name__}, not an assistant's message")
        return reply

    return call_with_retry(call, retry, on_wait=lambda seconds, _: waited(seconds))


def is_cut(reply: AIMessage) -> bool:
    """Whether a reply ended at a limit of tokens: what it says last is not whole."""
    return _end(reply) in _CUT


def why_withheld(reply: AIMessage) -> str | None:
    """Return why a reply has no answer where its provider filtered it or its model refused."""
    refusal = reply.additional_kwargs.get("refusal")
    if refusal:
        said = " ".join(str(refusal).split())[:_SHOWN_CHARACTERS]
        return f"the model refused: {said}"
    end = _end(reply)
    return f"a content filter withheld the reply ({end})" if end in _WITHHELD else None


def _end(reply: AIMessage) -> str:
    said = reply.response_metadata
    return str(next((said[key] for key in _END_KEYS if said.get(key)), "")).lower()
