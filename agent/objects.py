"""JSON objects in a text of other things."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["objects_in"]

# Not strict: small models leave the line breaks of a query as they are inside a JSON string.
_DECODER: Final = json.JSONDecoder(strict=False)


def objects_in(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the outermost JSON objects of a text, each with its place; those in lists one by one.

    Args:
        text: The text.
    """
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            yield position, value
        position = text.find("{", end)
