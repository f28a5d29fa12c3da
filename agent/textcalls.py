"""Tool calls that a model writes as JSON in its text, for want of a tool-calling interface."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from bothends.agent.objects import objects_in
from bothends.agent.record import ToolCall

__all__ = ["calls_from_text"]

_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_WRAPPER_KEYS = ("tool_calls", "tool_call", "function_call", "function")
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


def calls_from_text(text: str, tools: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the tool calls that stand as JSON in a text, in their order.

    Recognised are `{"name": ..., "arguments": {...}}` (also `tool`, `tool_name`, `function` for
    the name, and `parameters`, `args`, `input` for the arguments, which may be a JSON string),
    OpenAI's `{"function": {...}}` and `{"tool_calls": [...]}`, and `{"<tool>": {...}}`; alone or
    in lists, bare or in code fences or in the `<tool_call>` tags of the Hermes template. What a
    model thinks aloud in `<think>` tags is no call, nor is JSON that names no known tool, nor a
    tool's own JSON schema quoted back.

    Args:
        text: What the model wrote.
        tools: The names of the tools that it has.

    Returns:
        The calls; none where there are none.
    """
    return tuple(
        call
        for _, value in objects_in(_THOUGHT.sub("", text))
        for call in _calls(value, frozenset(tools))
    )


def _calls(value: Any, tools: frozenset[str]) -> Iterator[ToolCall]:
    if isinstance(value, list):
        for item in value:
            yield from _calls(item, tools)
    elif isinstance(value, dict):
        call = _call(value, tools)
        if call is not None:
            yield call
            return
        for key in _WRAPPER_KEYS:
            if isinstance(value.get(key), dict | list):
                yield from _calls(value[key], tools)
                return


def _call(value: dict[str, Any], tools: frozenset[str]) -> ToolCall | None:
    """Read an object as one call, or return None where it is none."""
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    if name is not None:
        given = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    elif len(value) == 1:
        name, given = next(iter(value.items()))
        if not isinstance(given, dict):
            return None
    arguments = _arguments(given) if name in tools else None
    return None if arguments is None else ToolCall(name=str(name), arguments=arguments)


def _arguments(given: Any) -> dict[str, Any] | None:
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given, strict=False)
        except ValueError:
            return None
    if not isinstance(given, dict) or (given.get("type") == "object" and "properties" in given):
        return None
    return given
