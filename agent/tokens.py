"""Counting tokens here, for models that report none: an estimate, and marked as one."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.messages.ai import UsageMetadata

__all__ = ["count_tokens", "estimate_usage"]

# OpenAI's cookbook, "How to count tokens with tiktoken": what frames each message, and what
# primes the reply.
_TOKENS_PER_MESSAGE = 3
_TOKENS_PRIMING_REPLY = 3


class _Encoding(Protocol):
    def encode(self, text: str) -> Sequence[int]: ...


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text in OpenAI's o200k_base vocabulary."""
    return len(_encoding().encode(text))


def estimate_usage(
    messages: Sequence[BaseMessage], reply: AIMessage, tools: Sequence[Mapping[str, Any]] = ()
) -> UsageMetadata:
    """Count what an LLM call would have been charged.

    Messages are framed by the rule of OpenAI's cookbook; tool schemas and tool calls, whose
    framing is not published, are counted as the JSON that they are.

    Args:
        messages: The conversation that was sent.
        reply: What came back.
        tools: The tool schemas that were bound.

    Returns:
        Input and output tokens; no part of them cached.
    """
    sent = sum(_TOKENS_PER_MESSAGE + 1 + _content_tokens(message) for message in messages)
    schemas = sum(count_tokens(json.dumps(tool, ensure_ascii=False)) for tool in tools)
    input_tokens = sent + schemas + _TOKENS_PRIMING_REPLY
    output_tokens = _content_tokens(reply)
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }


def _content_tokens(message: BaseMessage) -> int:
    calls = [
        {"name": call["name"], "arguments": call["args"]}
        for call in getattr(message, "tool_calls", ())
    ]
    called = count_tokens(json.dumps(calls, ensure_ascii=False)) if calls else 0
    return count_tokens(message.text) + called


@functools.lru_cache(maxsize=1)
def _encoding() -> _Encoding:
    import bpe_openai

    encoding: _Encoding = bpe_openai.get_encoding("o200k_base")
    return encoding
