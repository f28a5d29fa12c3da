"""Packs what the page embeds: compact JSON, deflated, within a budget of bytes.

The page reads it with the browser's own `DecompressionStream("deflate-raw")`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Layer", "pack", "pack_layer"]


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of content for the first trials of an order, some trials a chunk.

    Attributes:
        size: Trials in a chunk.
        chunks: Each chunk, packed: a list with the content of each of its trials.
        count: How many trials have it.
    """

    size: int
    chunks: tuple[str, ...]
    count: int

    @property
    def characters(self) -> int:
        """How long it is in the page, in characters."""
        return sum(len(chunk) + 3 for chunk in self.chunks)


def pack(content: object) -> str:
    """Return content as base64 of deflated JSON: no character of it means anything in HTML."""
    # A model can write half a surrogate pair, which UTF-8 cannot hold.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    deflating = zlib.compressobj(9, zlib.DEFLATED, -15)
    deflated = deflating.compress(text.encode("utf-8", "replace")) + deflating.flush()
    return base64.b64encode(deflated).decode()


def pack_layer(
    order: Sequence[int],
    content: Callable[[Sequence[int]], Any],
    size: int,
    budget: int,
) -> Layer:
    """Pack as many trials' content as fit, the first of an order first.

    Args:
        order: The trials' numbers, the most telling first.
        content: Returns the content of a chunk, given its trials' numbers.
        size: Trials in a chunk.
        budget: How many characters the layer may have.
    """
    chunks: list[str] = []
    used = 0
    for start in range(0, len(order), size):
        chunk = pack(content(order[start : start + size]))
        used += len(chunk) + 3
        if used > budget:
            return Layer(size, tuple(chunks), start)
        chunks.append(chunk)
    return Layer(size, tuple(chunks), len(order))
