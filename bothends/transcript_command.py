"""`bothends transcript`: what was said in a run's trials, as a person reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bothends.agent.record import Usage
    from bothends.eval.transcripts import Call, Message, Transcript

__all__ = ["transcript"]

_NAMED = 20


def transcript(
    directory: Annotated[Path, typer.Argument(metavar="RUNDIR", help="The run directory.")],
    question: Annotated[str | None, typer.Option(help="Only this question's id.")] = None,
    model: Annotated[str | None, typer.Option(help="Only this model, by name or label.")] = None,
    replica: Annotated[int | None, typer.Option(min=0, help="Only this replica.")] = None,
) -> None:
    """Print what was said: prompts, replies, tool calls and observations, whole."""
    from bothends.eval.store import RunDirectory
    from bothends.infra.errors import UsageError

    run = RunDirectory(directory)
    names = {each.spec: each.label for each in run.manifest.models}
    found = False
    for each in run.transcripts():
        key = each.key
        if (
            question in {None, key.question_id}
            and model in {None, key.model, names.get(key.model)}
            and replica in {None, key.replica}
        ):
            found = True
            for line in _lines(each, names.get(key.model, key.model)):
                typer.echo(_printable(line))
    if not found:
        kept = list(dict.fromkeys(each.key.question_id for each in run.transcripts()))
        if not kept:
            raise UsageError(
                f"{directory} keeps no transcripts: they are gone, or it was run with "
                "--no-transcripts"
            )
        more = f", and {len(kept) - _NAMED} more" if len(kept) > _NAMED else ""
        raise UsageError(
            f"{directory} has no such transcript; its questions are {', '.join(kept[:_NAMED])}"
            f"{more}, its models {', '.join(names.values())}"
        )


def _lines(transcript: Transcript, label: str) -> Iterator[str]:
    key = transcript.key
    yield f"=== question {key.question_id}, {label}, replica {key.replica} ==="
    shown: set[int] = set()
    for call in transcript.calls:
        new = [place for place in call.prompt if place not in shown]
        for place in new:
            yield from _said(transcript.messages[place])
        shown.update(new)
        yield from _called(call)
        if call.reply is not None:
            yield from _said(transcript.messages[call.reply])
            shown.add(call.reply)
    yield ""


def _called(call: Call) -> Iterator[str]:
    tokens = _tokens(call.usage)
    if call.kind == "llm":
        yield f"\n--- {call.name} is asked{tokens}"
    if call.error is not None:
        yield f"    {call.name} failed: {call.error}"


def _tokens(usage: Usage | None) -> str:
    if usage is None:
        return ""
    counts = {"in": usage.input_tokens, "out": usage.output_tokens}
    known = ", ".join(f"{count:,} {way}" for way, count in counts.items() if count is not None)
    return f" ({known} tokens)" if known else ""


def _said(message: Message) -> Iterator[str]:
    content = message.content
    text = content if isinstance(content, str) else json.dumps(content, indent=2, default=str)
    yield f"\n[{message.role}{' ' + message.name if message.name else ''}]"
    if text:
        yield text
    for call in message.tool_calls:
        yield f"-> {call.name}"
        for name, value in call.arguments.items():
            yield f"   {name}: {value if isinstance(value, str) else json.dumps(value)}"


def _printable(text: str) -> str:
    """Return a text that cannot steer a terminal: a model may have written anything."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in text)
