"""Right or wrong for results of which not everything was kept: compared inside Spark."""

from __future__ import annotations

from bothends.engines import Capability, Engine, Limits, Outcome
from bothends.eval.compare import different_counts, verdict_of
from bothends.eval.ordering import sort_columns
from bothends.eval.record import Tolerance, Verdict
from bothends.eval.spark_cells import meet_as_python
from bothends.eval.spark_columns import SparkColumns
from bothends.eval.spark_rows import Comparison
from bothends.infra.errors import UnjudgedError

__all__ = ["judge_large"]

_DEFAULT_TOLERANCE = Tolerance()


def judge_large(
    engine: Engine,
    gold: Outcome,
    predicted: Outcome,
    *,
    gold_sql: str,
    predicted_sql: str,
    limits: Limits,
    tolerance: Tolerance = _DEFAULT_TOLERANCE,
) -> Verdict:
    """Judge a result where it is, by running both queries again inside Spark.

    The verdict is the one that `judge` would give on the whole rows, but for two things: the
    reason names a row that differs only if it is among those kept, and `bird_set` is null where
    a decimal would have to be compared with a double by Python's exact equality. Both queries
    are taken to return the same rows each time.

    Rows whose cells are compared exactly are counted against each other. Where numbers may differ
    within a tolerance, the rows that are equal in all else are sorted by those numbers on either
    side and paired: if all pairs agree, the results are equal. If not, they differ for certain
    where there is one such column (sorting decides for intervals), or one row a side; otherwise
    the rows in question are fetched, if they are few, and paired as `judge` does.

    Args:
        engine: Where both have executed.
        gold: What gold returned; `ok`.
        predicted: What the query returned; `ok`.
        gold_sql: Gold.
        predicted_sql: The query.
        limits: What both ran under. All of this may take four times the time of one query and a
            minute; rows are fetched up to `max_rows`.
        tolerance: How far two numbers may lie apart and still be equal.

    Raises:
        UnjudgedError: If it cannot be told, with the reason and what to do.
        UsageError: If one did not execute, or if gold's SQL cannot be read.
    """
    if gold.row_count != predicted.row_count:
        return different_counts(gold, predicted, tolerance)
    lack = engine.lacks.get(Capability.large_results)
    if lack is not None:
        raise UnjudgedError(f"results of {gold.row_count or 0:,} rows: {lack}")
    columns = SparkColumns(engine, gold, predicted, (gold_sql, predicted_sql), limits, tolerance)

    def in_order() -> bool:
        keys = sort_columns(gold_sql, engine.dialect, gold.columns)
        return keys is None or columns.find(keys) is not None

    verdict = verdict_of(gold, predicted, columns, in_order, bird_set=None, tolerance=tolerance)
    told = {"bird_set": _bird_set(columns), "empty_gold": _empty_gold(gold, columns)}
    return verdict.model_copy(update=told)


def _bird_set(columns: SparkColumns) -> bool | None:
    """Compare the sets of rows by Python's equality, once the columns were found."""
    width, other = columns.widths
    if width != other:
        return False
    sources = columns.sources
    types = list(zip(sources.gold_types, sources.predicted_types, strict=True))
    floats = [
        f"g{index}"
        for index, (gold, predicted) in enumerate(types)
        if "float" in (gold.family, predicted.family)
    ]
    alike = all(gold.family == predicted.family for gold, predicted in types)
    if columns.as_they_come and alike and not floats:
        return True
    if columns.same:  # but NaN equals nothing
        nan = f"count_if({' OR '.join(f'isnan({each})' for each in floats)})"
        return bool(columns.measure(sources.gold_rows, [nan])[nan] == 0)
    meetings = [
        meet_as_python(*pair, (f"g{index}", f"p{index}")) for index, pair in enumerate(types)
    ]
    chosen = {index: index for index in range(width)}
    lacking, doubtful = columns.ask(Comparison(sources, chosen, meetings).as_sets())[0]
    if lacking:
        return False
    return None if doubtful else True


def _empty_gold(gold: Outcome, columns: SparkColumns) -> bool:
    """Whether gold holds nothing but NULL."""
    if any(cell is not None for row in gold.rows for cell in row):
        return False
    counts = [f"count(g{index})" for index in range(len(gold.columns))]
    return not any(columns.measure(columns.sources.gold_rows, counts).values())
