"""Shortens an engine's error to what helps: its beginning and its end, in one line."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["shorten"]

_CHARACTERS: Final = 800
# What is quoted back at length stands in the middle: the class of an error and its cause come
# first, advice and the place in the statement last.
_HEAD_SHARE: Final = 0.6
_UNPRINTABLE: Final = re.compile(r"[^\w\s!-~]")


def shorten(text: str, characters: int = _CHARACTERS) -> str:
    """Return a message in one line of printable characters, without its middle where it is long.

    Args:
        text: The message, of any length.
        characters: What the result may have at most; at least 100.
    """
    # Some of what a message quotes may be blank, so take more than is needed; but not megabytes.
    line = _line(text if len(text) <= 8 * characters else _ends(text, 4 * characters))
    return line if len(line) <= characters else _ends(line, characters)


def _line(text: str) -> str:
    printable = _UNPRINTABLE.sub(lambda it: it[0] if it[0].isprintable() else " ", text)
    return " ".join(printable.split())


def _ends(text: str, characters: int) -> str:
    dropped = f" [... {len(text) - characters:,} characters ...] "
    room = characters - len(dropped)
    head = int(room * _HEAD_SHARE)
    return text[:head] + dropped + text[len(text) - room + head :]
