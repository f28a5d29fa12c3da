"""What was said in a trial, as the page shows it: one entry a message, in the order it was said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bothends.agent.record import Step, ToolCall, Usage
from bothends.eval.record import Trial
from bothends.eval.transcripts import Call, Transcript

__all__ = ["said"]

_LONGEST = 60_000
"""Characters of one message that are shown."""


def said(trial: Trial, transcript: Transcript | None) -> list[dict[str, Any]]:
    """Return what was said, from the transcript, or from the steps where none is kept.

    Each entry has `who` (system, user, assistant, tool, or error), `name`, `text`, and the `calls`
    and `tokens` of a reply.
    """
    if transcript is None:
        return [entry for step in trial.steps for entry in _step(step)]
    shown: set[int] = set()
    entries = []
    for call in transcript.calls:
        places = [*call.prompt, *([] if call.reply is None else [call.reply])]
        for place in dict.fromkeys(places):
            if place in shown:
                continue
            shown.add(place)
            message = transcript.messages[place]
            usage = call.usage if place == call.reply else None
            who = message.role
            name = message.name or (_role(call) if place == call.reply else "")
            entries.append(_entry(who, name, _text(message.content), message.tool_calls, usage))
        if call.error is not None:
            entries.append(_entry("error", call.name, call.error))
    return entries


def _role(call: Call) -> str:
    return call.name if call.kind == "llm" else ""


def _step(step: Step) -> Iterator[dict[str, Any]]:
    if step.text or step.tool_calls:
        who = "assistant" if step.kind == "llm" else "tool"
        name = step.role or step.name
        yield _entry(who, name, step.text, step.tool_calls, step.usage)
    if step.error is not None:
        yield _entry("error", step.name, step.error)


def _entry(
    who: str,
    name: str,
    text: str,
    calls: tuple[ToolCall, ...] = (),
    usage: Usage | None = None,
) -> dict[str, Any]:
    return {
        "who": who,
        "name": name,
        "text": _cut(text),
        "calls": [
            {
                "name": call.name,
                "arguments": {
                    name: _cut(value if isinstance(value, str) else json.dumps(value, default=str))
                    for name, value in call.arguments.items()
                },
            }
            for call in calls
        ],
        "tokens": None if usage is None else [usage.input_tokens, usage.output_tokens],
    }


def _text(content: str | list[Any]) -> str:
    return content if isinstance(content, str) else json.dumps(content, indent=2, default=str)


def _cut(text: str) -> str:
    rest = len(text) - _LONGEST
    return text if rest <= 0 else f"{text[:_LONGEST]} [{rest:,} characters more]"
