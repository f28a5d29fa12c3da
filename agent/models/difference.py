"""Where a conversation departs from a recorded one, for a person to read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from langchain_core.messages import BaseMessage

from bothends.agent.models.recording import Message

__all__ = ["first_difference"]

_BEFORE, _AFTER = 12, 28


def first_difference(recorded: Sequence[Message], now: Sequence[BaseMessage]) -> str | None:
    """Return which message differs first, and how; None where they are the same.

    Args:
        recorded: The conversation as it was recorded.
        now: The conversation as it is.
    """
    for number, (old, new) in enumerate(zip_longest(recorded, now), start=1):
        if new is None or old is None:
            more = "holds no" if new is None else "holds a"
            return f"it {more} message {number}, unlike the recorded one"
        if old.type != new.type:
            return f"message {number} is of type {new.type}, and the recorded one {old.type}"
        if old.text != new.text:
            at = _first_unlike(old.text, new.text)
            return (
                f"message {number} ({old.type}) differs from character {at + 1} on: "
                f"{_around(old.text, at)} was recorded, {_around(new.text, at)} is there now"
            )
    return None


def _first_unlike(a: str, b: str) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))


def _around(text: str, at: int) -> str:
    start, end = max(0, at - _BEFORE), at + _AFTER
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return f"{before}{text[start:end]!r}{after}"
