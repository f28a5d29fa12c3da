"""Keeps of a result what its limits allow: so many rows, so many bytes, and no cell too long."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from bothends.engines.base import Limits

__all__ = ["Kept"]

Row = tuple[Any, ...]


class Kept:
    """The rows of one result that are kept, as they come.

    Attributes:
        rows: They.
        count: Rows that came, kept or not.
        cells_cut: Whether a kept cell was too long and is cut, or a text in a nested one.
    """

    def __init__(self, limits: Limits) -> None:
        """Begin with nothing.

        Args:
            limits: What is kept at most.
        """
        self.rows: list[Row] = []
        self.count = 0
        self.cells_cut = False
        self._most_rows = limits.max_rows
        self._cell_bytes = limits.max_cell_bytes
        self._room_bytes: float = limits.max_bytes

    @property
    def room_rows(self) -> int:
        """Rows that may still be kept; 0 once one did not fit."""
        return max(0, self._most_rows - len(self.rows))

    def skip(self, rows: int) -> None:
        """Count rows that came and are not kept."""
        self.count += rows

    def add(
        self, rows: Sequence[Row], size_bytes: float, longest_bytes: float | None = None
    ) -> None:
        """Count rows that came, and keep those that fit.

        Args:
            rows: The next ones.
            size_bytes: What they hold, about, but no less than their texts and binaries together.
                An engine has this of all of them at once; only where it is large, or infinity
                because the engine cannot tell, are they looked at one by one.
            longest_bytes: What no text or binary in them is longer than, where that is known.
        """
        self.count += len(rows)
        fitting = rows[: self.room_rows]
        longest_bytes = size_bytes if longest_bytes is None else longest_bytes
        if longest_bytes <= self._cell_bytes and size_bytes <= self._room_bytes:
            self._room_bytes -= size_bytes
            self.rows += fitting
            return
        for row in fitting:
            cut = tuple(map(self._cut, row))
            self._room_bytes -= _size_bytes(cut)
            if self._room_bytes < 0:
                self._most_rows = 0
                return
            self.rows.append(cut)

    def _cut(self, value: Any) -> Any:
        if isinstance(value, str):
            # A character is at least one byte.
            start = value[: self._cell_bytes].encode(errors="replace")[: self._cell_bytes]
            text = start.decode(errors="ignore")
            self.cells_cut = self.cells_cut or len(text) < len(value)
            return text if len(text) < len(value) else value
        if isinstance(value, bytes):
            self.cells_cut = self.cells_cut or len(value) > self._cell_bytes
            return value[: self._cell_bytes]
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._cut, value))
        if isinstance(value, dict):
            return {key: self._cut(each) for key, each in value.items()}
        return value


def _size_bytes(value: Any) -> int:
    inner: Iterable[Any] = ()
    if isinstance(value, (list, tuple)):
        inner = value
    elif isinstance(value, dict):
        inner = (*value.keys(), *value.values())
    return sys.getsizeof(value) + sum(map(_size_bytes, inner))
