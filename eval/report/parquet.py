"""Every table and every trial as Parquet: the columns of the CSV files, with types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bothends.eval.report.csv import Value, sheets_of
from bothends.eval.report.source import ReportInput
from bothends.infra.errors import RecordError

__all__ = ["write_parquet"]


def write_parquet(source: ReportInput, directory: Path) -> tuple[Path, ...]:
    """Write each table as `<name>.parquet` and the trials as `trials.parquet`.

    A column has the type that its values need: boolean, integer, double or string; one without a
    value is a column of nulls. The same content gives the same bytes.

    Args:
        source: The report's content.
        directory: Where to write; made if it is missing.

    Returns:
        The files, in the order of the tables.

    Raises:
        RecordError: If a file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, head, rows in sheets_of(source):
            columns = [_array([row[number] for row in rows]) for number in range(len(head))]
            written.append(directory / f"{name}.parquet")
            pq.write_table(pa.table(columns, names=head), written[-1], compression="zstd")
    except OSError as error:
        raise RecordError(f"{directory} cannot be written: {error.strerror or error}") from None
    return tuple(written)


def _array(values: Sequence[Value]) -> Any:
    import pyarrow as pa

    # A model can write half a surrogate pair, which UTF-8 cannot hold.
    safe = [
        each.encode("utf-8", "replace").decode() if isinstance(each, str) else each
        for each in values
    ]
    kinds = {type(each) for each in safe if each is not None}
    if kinds == {int, float}:
        safe = [None if each is None else float(each) for each in safe]
    return pa.array(safe)
