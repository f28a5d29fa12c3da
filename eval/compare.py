"""Right or wrong: a result against gold, by four named rules, with what is wrong in words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from bothends.engines import Outcome
from bothends.eval.columns import Columns
from bothends.eval.normalise import Cell, is_number, normalise, numbers_equal
from bothends.eval.ordering import tie_groups
from bothends.eval.record import ErrorClass, Tolerance, Verdict
from bothends.eval.rows import Row
from bothends.eval.search import ColumnSearch
from bothends.infra.errors import UsageError

__all__ = ["different_counts", "judge", "result_digest", "verdict_of"]

_DEFAULT_TOLERANCE = Tolerance()


def judge(
    gold: Outcome,
    predicted: Outcome,
    *,
    gold_sql: str,
    dialect: str,
    tolerance: Tolerance = _DEFAULT_TOLERANCE,
) -> Verdict:
    """Judge an executed query's result against gold's.

    Rows are units, and columns are told by their values, not by their names.

    - `bird_set`: the sets of row tuples are equal as Python compares them (BIRD's official EX).
    - `exact`: the multisets of rows are equal under some order of the columns (equation 7).
    - `ordered`: exact, and in the order of gold's top-level ORDER BY; see `tie_groups`.
    - `focus`: the multisets of rows are equal after choosing a column of the result for each of
      gold's (equation 2).

    The error classes are the paper's (section 2.1), read so that each result has exactly one: A
    where the row counts differ, whatever else is wrong; C where focus holds but exact does not;
    B where the result has fewer columns than gold; D, which the paper does not name, for all
    others: as many rows, enough columns, other values.

    `columns_found` is all of gold's where focus holds. Elsewhere it is the largest number of gold
    columns that have each a column of the result with the same multiset of values, an upper bound
    since it ignores how rows pair them; it is 0 where the row counts differ.

    Args:
        gold: What gold returned; `ok`.
        predicted: What the query returned; `ok`.
        gold_sql: Gold, for its ORDER BY.
        dialect: Gold's sqlglot dialect.
        tolerance: How far two numbers may lie apart and still be equal.

    Raises:
        UsageError: If a result is not whole and the counts do not settle it, or if one did not
            execute, or if gold's SQL cannot be read.
    """
    if gold.row_count != predicted.row_count:
        return different_counts(gold, predicted, tolerance)
    if not (gold.whole and predicted.whole):
        raise UsageError(
            f"both results have {gold.row_count or 0:,} rows, of which not everything was kept "
            f"(the first {min(len(gold.rows), len(predicted.rows)):,}): raise --max-rows"
        )
    gold_rows, predicted_rows = _normalised(gold), _normalised(predicted)
    widths = len(gold.columns), len(predicted.columns)
    columns = Columns(gold_rows, predicted_rows, widths, tolerance)

    def in_order() -> bool:
        groups = tie_groups(gold_sql, dialect, gold.columns, gold_rows)
        # Rows may swap within a group of ties: the group at a position is a column of its own.
        return groups is None or columns.find(tuple(map(str, groups))) is not None

    return verdict_of(
        gold,
        predicted,
        columns,
        in_order,
        bird_set=_as_set(gold) == _as_set(predicted),
        tolerance=tolerance,
    )


def different_counts(gold: Outcome, predicted: Outcome, tolerance: Tolerance) -> Verdict:
    """Return the verdict on a result of another number of rows than gold's, which settles it.

    Raises:
        UsageError: If one did not execute.
    """
    if gold.row_count is None or predicted.row_count is None:
        raise UsageError("only executed results can be compared: check the status first")
    reason = f"{_count(predicted.row_count, 'row')} where gold has {gold.row_count:,}"
    return _verdict(gold, predicted, "A", 0, _bird_set_of_cut(gold, predicted), tolerance, reason)


def verdict_of(
    gold: Outcome,
    predicted: Outcome,
    columns: ColumnSearch[Any],
    in_order: Callable[[], bool],
    *,
    bird_set: bool | None,
    tolerance: Tolerance,
) -> Verdict:
    """Return the verdict on a result of as many rows as gold's.

    Args:
        gold: What gold returned.
        predicted: What the query returned.
        columns: The columns of both.
        in_order: Whether the rows come in gold's order; asked only where they are exact.
        bird_set: The verdict by BIRD's rule.
        tolerance: The tolerance in force.
    """
    width = len(gold.columns)
    chosen = columns.find()
    if chosen is None:
        reason = _difference(gold, predicted, columns.pairs, tolerance)
        error_class: ErrorClass = "B" if len(predicted.columns) < width else "D"
        found = len(columns.pairs)
        return _verdict(gold, predicted, error_class, found, bird_set, tolerance, reason)
    if width != len(predicted.columns):
        reason = _superfluous(predicted, chosen)
        return _verdict(gold, predicted, "C", width, bird_set, tolerance, reason)
    ordered = in_order()
    reason = "" if ordered else "the rows are right, but not in gold's order"
    return _verdict(gold, predicted, None, width, bird_set, tolerance, reason, ordered)


def _verdict(
    gold: Outcome,
    predicted: Outcome,
    error_class: ErrorClass | None,
    found: int,
    bird_set: bool | None,
    tolerance: Tolerance,
    reason: str,
    ordered: bool = False,
) -> Verdict:
    width = len(predicted.columns)
    return Verdict(
        focus=error_class in (None, "C"),
        exact=error_class is None,
        ordered=ordered,
        bird_set=bird_set,
        error_class=error_class,
        gold_columns=len(gold.columns),
        predicted_columns=width,
        columns_found=found,
        precision=found / width if width else 0.0,
        gold_rows=gold.row_count or 0,
        predicted_rows=predicted.row_count or 0,
        empty_gold=not gold.truncated and all(cell is None for row in gold.rows for cell in row),
        tolerance=tolerance,
        reason=reason,
    )


def result_digest(outcome: Outcome) -> str | None:
    """Return the SHA-256 of a result's normalised rows, whatever their order.

    Equal numbers have one text, whatever their type (1, 1.0 and 1.00 are the same); no tolerance
    is applied, so that results within it may have different digests.

    Returns:
        64 hexadecimal digits; None where the result is not whole or there is none.
    """
    if outcome.status != "ok" or not outcome.whole:
        return None
    rows = sorted(repr(tuple(map(_canonical, row))) for row in _normalised(outcome))
    text = "\n".join([f"{len(outcome.columns)} columns", *rows])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _normalised(outcome: Outcome) -> list[Row]:
    return [tuple(map(normalise, row)) for row in outcome.rows]


def _canonical(cell: Cell) -> Any:
    if is_number(cell):
        # A float stands for the shortest decimal that reads back as it.
        return str(Fraction(repr(cell) if isinstance(cell, float) else Decimal(cell)))
    if isinstance(cell, tuple):
        return tuple(map(_canonical, cell))
    return ("text", cell) if isinstance(cell, str) else cell


def _as_set(outcome: Outcome) -> set[Any]:
    return {_frozen(row) for row in outcome.rows}


def _bird_set_of_cut(gold: Outcome, predicted: Outcome) -> bool | None:
    """Compare the sets of rows, of which some may be missing; None where these could decide."""
    if gold.whole and predicted.whole:
        return _as_set(gold) == _as_set(predicted)
    if gold.cells_cut or predicted.cells_cut:
        return None
    ours, theirs = _as_set(gold), _as_set(predicted)
    # A row that is there cannot be made good by one that is missing on the same side.
    lost = (gold.whole and theirs - ours) or (predicted.whole and ours - theirs)
    return False if lost else None


def _frozen(value: Any) -> Any:
    if value is None or isinstance(value, str | int | Decimal | bytes):
        return value
    if isinstance(value, float):
        # A set takes one and the same NaN object for equal; BIRD reads its own from each cursor.
        return value if value == value else float("nan")
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, Mapping):
        return frozenset((_frozen(key), _frozen(item)) for key, item in value.items())
    return bytes(value) if isinstance(value, bytearray) else value


def _superfluous(predicted: Outcome, chosen: list[int]) -> str:
    extra = [name for index, name in enumerate(predicted.columns) if index not in set(chosen)]
    return f"{_count(len(extra), 'column')} more than gold: {', '.join(extra)}"


def _difference(
    gold: Outcome, predicted: Outcome, pairs: Mapping[int, int], tolerance: Tolerance
) -> str:
    """Say what keeps results of equally many rows apart."""
    lost = [index for index in range(len(gold.columns)) if index not in pairs]
    if not lost:
        return "each column of gold is there, but the rows put their values together differently"
    column = lost[0]
    where = f"column {column + 1} of gold ({gold.columns[column]}) has no equal column"
    if len(predicted.columns) < len(gold.columns):
        count = _count(len(predicted.columns), "column")
        return f"{count} where gold has {len(gold.columns)}; {where}"
    if column in pairs.values():
        return where
    for number, (right, wrong) in enumerate(zip(gold.rows, predicted.rows, strict=False), start=1):
        if not _cells_equal(normalise(right[column]), normalise(wrong[column]), tolerance):
            return f"{where}; row {number} has {_short(wrong[column])} for {_short(right[column])}"
    return where


def _cells_equal(gold: Cell, predicted: Cell, tolerance: Tolerance) -> bool:
    if is_number(gold) and is_number(predicted):
        return numbers_equal(gold, predicted, tolerance)
    return gold == predicted


def _short(value: object) -> str:
    if value is None:
        return "NULL"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
