"""Right or wrong: a result against gold, by four named rules, with what is wrong in words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from bothends.engines import Outcome
from bothends.eval.columns import Columns
from bothends.eval.normalise import Cell, is_number, normalise, numbers_equal
from bothends.eval.ordering import tie_groups
from bothends.eval.record import ErrorClass, Tolerance, Verdict
from bothends.eval.rows import Row
from bothends.infra.errors import UsageError

__all__ = ["judge", "result_digest"]

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
        UsageError: If a result was cut at the row cap and the counts do not settle it, or if one
            did not execute, or if gold's SQL cannot be read.
    """
    if gold.row_count is None or predicted.row_count is None:
        raise UsageError("only executed results can be compared: check the status first")
    cut = gold.truncated or predicted.truncated
    bird_set = None if cut else _as_set(gold) == _as_set(predicted)
    widths = len(gold.columns), len(predicted.columns)
    error_class: ErrorClass | None
    if gold.row_count != predicted.row_count:
        focus = exact = ordered = False
        error_class, found = "A", 0
        reason = f"{_count(predicted.row_count, 'row')} where gold has {gold.row_count:,}"
    elif cut:
        raise UsageError(
            f"both results have {gold.row_count:,} rows, of which only the first "
            f"{min(len(gold.rows), len(predicted.rows)):,} were kept: raise --max-rows"
        )
    else:
        gold_rows, predicted_rows = _normalised(gold), _normalised(predicted)
        columns = Columns(gold_rows, predicted_rows, widths, tolerance)
        chosen = columns.find()
        focus = chosen is not None
        exact = focus and widths[0] == widths[1]
        groups = tie_groups(gold_sql, dialect, gold.columns, gold_rows) if exact else None
        # Rows may swap within a group of ties: the group at a position is a column of its own.
        marks = tuple(map(str, groups)) if groups is not None else ()
        ordered = exact and (groups is None or columns.find((marks, marks)) is not None)
        if chosen is not None:
            error_class, found = (None if exact else "C"), widths[0]
            reason = "" if exact else _superfluous(predicted, chosen)
        else:
            error_class, found = ("B" if widths[1] < widths[0] else "D"), len(columns.pairs)
            reason = _difference(gold, predicted, columns.pairs, tolerance)
        if exact and not ordered:
            reason = "the rows are right, but not in gold's order"
    return Verdict(
        focus=focus,
        exact=exact,
        ordered=ordered,
        bird_set=bird_set,
        error_class=error_class,
        gold_columns=widths[0],
        predicted_columns=widths[1],
        columns_found=found,
        precision=found / widths[1] if widths[1] else 0.0,
        gold_rows=gold.row_count,
        predicted_rows=predicted.row_count,
        empty_gold=all(cell is None for row in gold.rows for cell in row),
        tolerance=tolerance,
        reason=reason,
    )


def result_digest(outcome: Outcome) -> str | None:
    """Return the SHA-256 of a result's normalised rows, whatever their order.

    Equal numbers have one text, whatever their type (1, 1.0 and 1.00 are the same); no tolerance
    is applied, so that results within it may have different digests.

    Returns:
        64 hexadecimal digits; None where the result was cut at the row cap or there is none.
    """
    if outcome.status != "ok" or outcome.truncated:
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
    for number, (right, wrong) in enumerate(zip(gold.rows, predicted.rows, strict=True), start=1):
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
