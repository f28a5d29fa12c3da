"""Right or wrong: a result against gold, by four named rules, with what is wrong in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from bothends.engines import Outcome
from bothends.engines.cells import columns_of, normalise
from bothends.eval.bird import bird_set_of_parts
from bothends.eval.codes import Column
from bothends.eval.columns import Columns
from bothends.eval.effort import Effort, EffortSpentError
from bothends.eval.ordering import tie_groups
from bothends.eval.record import ErrorClass, Tolerance, Verdict
from bothends.eval.tolerance import cells_equal
from bothends.infra.errors import UnjudgedError, UsageError

__all__ = ["Finding", "as_verdict", "different_counts", "judge", "look"]

_DEFAULT_TOLERANCE: Final = Tolerance()
# A few seconds of search beyond what every comparison takes.
_STEPS: Final = 10_000_000
_STEPS_A_CELL: Final = 20


class _FoundColumns(Protocol):
    """Gold's columns among a result's, wherever the rows are."""

    @property
    def pairs(self) -> Mapping[int, int]: ...

    def find(self) -> list[int] | None: ...


@dataclass(frozen=True, slots=True)
class Finding:
    """What the rows say; see `Verdict`, whose fields these become.

    Attributes:
        error_class: What is wrong.
        found: Columns of gold that were found.
        reason: Why it is not exact, in a sentence.
        ordered: Whether the rows are right, and in gold's order.
    """

    error_class: ErrorClass | None = None
    found: int = 0
    reason: str = ""
    ordered: bool = False


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

    A choice of columns is found wherever there is one, but the search is bounded, since results
    can be built that would keep any search busy for years: past the bound (some seconds, counted
    in steps so that it is the same on every machine) there is no verdict.

    Args:
        gold: What gold returned; `ok`.
        predicted: What the query returned; `ok`.
        gold_sql: Gold, for its ORDER BY; read only where the order of rows decides.
        dialect: Gold's sqlglot dialect.
        tolerance: How far two numbers may lie apart and still be equal.

    Raises:
        UnjudgedError: If it is not decided within that bound.
        UsageError: If a result is not whole and the row counts do not settle it, or if one did not
            execute, or if gold's SQL has to be read and cannot be.
    """
    if gold.row_count != predicted.row_count:
        finding = different_counts(gold, predicted)
    elif not (gold.whole and predicted.whole):
        raise UsageError(_not_whole(gold, predicted))
    elif gold.rows == predicted.rows and len(gold.columns) == len(predicted.columns):
        finding = Finding(found=len(gold.columns), ordered=True)
    else:
        finding = _compare(gold, predicted, gold_sql, dialect, tolerance)
    return as_verdict(gold, predicted, finding, bird_set_of_parts(gold, predicted), tolerance)


def different_counts(gold: Outcome, predicted: Outcome) -> Finding:
    """Return what another number of rows than gold's means, which settles it.

    Raises:
        UsageError: If one did not execute.
    """
    if gold.row_count is None or predicted.row_count is None:
        raise UsageError("only executed results can be compared: check the status first")
    reason = f"{_count(predicted.row_count, 'row')} where gold has {gold.row_count:,}"
    return Finding("A", reason=reason)


def look(
    gold: Outcome,
    predicted: Outcome,
    columns: _FoundColumns,
    in_order: Callable[[], bool],
    tolerance: Tolerance,
) -> Finding:
    """Look for gold in a result of as many rows.

    Args:
        gold: What gold returned.
        predicted: What the query returned.
        columns: The columns of both.
        in_order: Whether the rows come in gold's order; asked only where they are exact.
        tolerance: The tolerance in force.
    """
    width, other = len(gold.columns), len(predicted.columns)
    chosen = columns.find()
    if chosen is None:
        error_class: ErrorClass = "B" if other < width else "D"
        pairs = columns.pairs
        return Finding(error_class, len(pairs), _difference(gold, predicted, pairs, tolerance))
    if other > width:
        return Finding("C", width, _superfluous(predicted, chosen))
    if in_order():
        return Finding(found=width, ordered=True)
    return Finding(found=width, reason="the rows are right, but not in gold's order")


def as_verdict(
    gold: Outcome,
    predicted: Outcome,
    finding: Finding,
    bird_set: bool | None,
    tolerance: Tolerance,
) -> Verdict:
    """Return a finding as the record holds it.

    Args:
        gold: What gold returned.
        predicted: What the query returned.
        finding: What the rows say.
        bird_set: The verdict by BIRD's rule; None where it cannot be told.
        tolerance: The tolerance in force.
    """
    width = len(predicted.columns)
    return Verdict(
        focus=finding.error_class in (None, "C"),
        exact=finding.error_class is None,
        ordered=finding.ordered,
        bird_set=bird_set,
        error_class=finding.error_class,
        gold_columns=len(gold.columns),
        predicted_columns=width,
        columns_found=finding.found,
        precision=finding.found / width if width else 0.0,
        gold_rows=gold.row_count or 0,
        predicted_rows=predicted.row_count or 0,
        empty_gold=not gold.truncated and all(cell is None for row in gold.rows for cell in row),
        tolerance=tolerance,
        reason=finding.reason,
    )


def _compare(
    gold: Outcome, predicted: Outcome, gold_sql: str, dialect: str, tolerance: Tolerance
) -> Finding:
    """Compare whole results of equally many rows."""
    ours, theirs = columns_of(gold), columns_of(predicted)
    width, rows = len(ours), len(gold.rows)
    if _equal_in_place(ours, theirs, tolerance):
        return Finding(found=width, ordered=True)
    effort = Effort(_STEPS + _STEPS_A_CELL * rows * (width + len(theirs)))
    columns = Columns(ours, theirs, rows, tolerance, effort)

    def in_order() -> bool:
        if "order" not in gold_sql.lower():
            return True
        groups = tie_groups(gold_sql, dialect, gold.columns, ours, rows)
        # Rows may swap within a group of ties: the group at a position is a column of its own.
        return groups is None or columns.find(groups) is not None

    try:
        return look(gold, predicted, columns, in_order, tolerance)
    except EffortSpentError:
        raise UnjudgedError(
            "too many columns are too much alike to try every choice among them"
        ) from None


def _equal_in_place(gold: list[Column], predicted: list[Column], tolerance: Tolerance) -> bool:
    return len(gold) == len(predicted) and all(
        ours == theirs
        or all(cells_equal(a, b, tolerance) for a, b in zip(ours, theirs, strict=True))
        for ours, theirs in zip(gold, predicted, strict=True)
    )


def _not_whole(gold: Outcome, predicted: Outcome) -> str:
    if gold.truncated or predicted.truncated:
        kept = min(len(gold.rows), len(predicted.rows))
        return (
            f"both results have {gold.row_count:,} rows, of which only the first {kept:,} were "
            "kept: raise --max-rows"
        )
    return "a cell was too long to be kept whole: select less of it, or its length or digest"


def _superfluous(predicted: Outcome, chosen: list[int]) -> str:
    extra = [name for index, name in enumerate(predicted.columns) if index not in set(chosen)]
    return f"{_count(len(extra), 'column')} more than gold: {', '.join(extra)}"


def _difference(
    gold: Outcome, predicted: Outcome, pairs: Mapping[int, int], tolerance: Tolerance
) -> str:
    """Say what keeps results of equally many rows apart, as far as the rows at hand show it."""
    width, other = len(gold.columns), len(predicted.columns)
    lost = [index for index in range(width) if index not in pairs]
    if not lost:
        return "each column of gold is there, but the rows put their values together differently"
    column = lost[0]
    where = f"column {column + 1} of gold ({gold.columns[column]}) has no equal column"
    if other < width:
        return f"{_count(other, 'column')} where gold has {width}; {where}"
    if column in pairs.values():
        return where
    for number, rows in enumerate(zip(gold.rows, predicted.rows, strict=False), start=1):
        right, wrong = (row[column] for row in rows)
        if not cells_equal(normalise(right), normalise(wrong), tolerance):
            return f"{where}; row {number} has {_short(wrong)} for {_short(right)}"
    return where


def _short(value: object) -> str:
    if value is None:
        return "NULL"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
