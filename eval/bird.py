"""BIRD's own rule, as its script applies it: the sets of row tuples are equal in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from bothends.engines import Outcome

__all__ = ["bird_set", "bird_set_of_parts", "frozen_row"]

_Rows = Sequence[tuple[Any, ...]]
_HASHABLE: Final = frozenset(
    {type(None), bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta}
)


def bird_set(gold: _Rows, predicted: _Rows) -> bool:
    """Whether `set(predicted) == set(gold)` (BIRD's official EX, `evaluation.py`).

    Order and duplicates are ignored, the order of columns is not; 1 equals 1.0 and True, NULL
    equals NULL, text never equals a number, and two empty results are equal whatever their
    columns. NaN equals nothing: BIRD reads each result anew, so that no NaN is one object in both.
    What Python cannot put into a set (arrays, structs, maps) is compared by value.

    Args:
        gold: Gold's rows, as the engine returned them.
        predicted: The result's rows.
    """
    if gold and predicted and len(gold[0]) != len(predicted[0]):
        return False
    types = set(map(type, chain.from_iterable(chain(gold, predicted))))
    if types <= _HASHABLE:
        numbers = float in types or Decimal in types
        if numbers and any(cell != cell for row in chain(gold, predicted) for cell in row):
            return False
        return gold == predicted or set(gold) == set(predicted)
    return set(map(frozen_row, gold)) == set(map(frozen_row, predicted))


def bird_set_of_parts(gold: Outcome, predicted: Outcome) -> bool | None:
    """Apply the rule where results may not be whole; None where what was not kept could decide.

    A row that is there cannot be made good by one that is missing on the same side.
    """
    if gold.whole and predicted.whole:
        return bird_set(gold.rows, predicted.rows)
    if gold.cells_cut or predicted.cells_cut:
        return None
    ours, theirs = (set(map(frozen_row, outcome.rows)) for outcome in (gold, predicted))
    lost = (gold.whole and theirs - ours) or (predicted.whole and ours - theirs)
    return False if lost else None


def frozen_row(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row that Python can put into a set; arrays, structs and maps by value."""
    return tuple(map(_frozen, row))


def _frozen(value: Any) -> Any:
    if value != value:
        return object()
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, Mapping):
        return frozenset((_frozen(key), _frozen(item)) for key, item in value.items())
    return bytes(value) if isinstance(value, bytearray) else value
