"""What a query would do, as the engine plans it: told from EXPLAIN, before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Estimate", "Side", "product"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An engine's plan of one query, in a few numbers and names.

    Attributes:
        scan_bytes: What the query reads from tables at most: the sizes of the tables' files, of
            the partitions that the plan does not leave out, each as often as the plan reads it.
            Columns and row groups that are skipped within a file are in it. None where unknown.
        rows: The most rows that any step of the plan is estimated to return. None where the
            engine does not estimate each step.
        cartesian: Joins that compare each row of one side with each of the other, since no
            equality ties them; joins with a side of one row at most, or of no table, are not
            among them. Each in words.
        unfiltered_partitions: The partitioned tables of which every partition is read.
        error: What is wrong with the statement, by the read-only guard or the engine; then
            nothing is estimated.
        seconds: Wall time in the engine.
    """

    scan_bytes: int | None = None
    rows: int | None = None
    cartesian: tuple[str, ...] = ()
    unfiltered_partitions: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join.

    Attributes:
        tables: The tables that it reads.
        rows: The rows that it is estimated to return, or None.
    """

    tables: Sequence[str]
    rows: int | None = None


def product(left: Side, right: Side, condition: str | None) -> str:
    """Return a join without an equality in words.

    Args:
        left: One side.
        right: The other.
        condition: The join's condition, as the engine writes it; None for none.
    """
    why = f"only on {condition}, which is no equality" if condition else "without a condition"
    return f"{_shown(left)} is joined with {_shown(right)} {why}"


def _shown(side: Side) -> str:
    tables = " + ".join(dict.fromkeys(side.tables))
    return tables if side.rows is None else f"{tables} ({side.rows:,} rows)"
