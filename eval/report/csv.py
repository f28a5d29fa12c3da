"""Every table and every trial as CSV: raw values in full precision, empty where undefined."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel

from bothends.agent.record import STAGES, Usage
from bothends.eval.record import Cost, Trial, TrialKey
from bothends.eval.report.source import ReportInput
from bothends.eval.report.table import Table
from bothends.eval.report.tables import all_tables
from bothends.infra.errors import RecordError

__all__ = ["Value", "flat", "sheets_of", "write_csv"]

Value = str | float | bool | None

VERDICT = (
    "error_class",
    "exact",
    "ordered",
    "bird_set",
    "precision",
    "gold_columns",
    "predicted_columns",
    "columns_found",
    "gold_rows",
    "predicted_rows",
    "empty_gold",
    "reason",
)


def write_csv(source: ReportInput, directory: Path) -> tuple[Path, ...]:
    """Write each table as `<name>.csv` and the trials as `trials.csv`.

    A column with a spread is followed by one with its standard deviation; a table with marks ends
    in a column `basis` that names those of its row.

    Args:
        source: The run.
        directory: Where to write; made if it is missing.

    Returns:
        The files, in the order of the tables.

    Raises:
        RecordError: If a file cannot be written.
    """
    sheets = sheets_of(source)
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, head, rows in sheets:
            written.append(directory / f"{name}.csv")
            _write(written[-1], head, rows)
    except OSError as error:
        raise RecordError(f"{directory} cannot be written: {error.strerror}") from None
    return tuple(written)


def sheets_of(source: ReportInput) -> list[tuple[str, list[str], list[list[Value]]]]:
    """Return each table and the trials as a name, a head, and rows of raw values."""
    sheets = [(table.name, *_sheet(table)) for table in all_tables(source)]
    flattened = [flat(trial) for trial in source.trials]
    if flattened:
        values = [list(row.values()) for row in flattened]
        sheets.append(("trials", list(flattened[0]), values))
    return sheets


def _write(file: Path, head: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
    # A model can write half a surrogate pair, which UTF-8 cannot hold.
    with file.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([_text(value) for value in row] for row in rows)


def _text(value: Value) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sheet(table: Table) -> tuple[list[str], list[list[Value]]]:
    spread = [any(row[i].sd is not None for row in table.rows) for i in range(len(table.columns))]
    head = []
    for column, has_spread in zip(table.columns, spread, strict=True):
        head += [column.key, f"{column.key}_sd"] if has_spread else [column.key]
    rows: list[list[Value]] = []
    for cells in table.rows:
        row: list[Value] = []
        for cell, has_spread in zip(cells, spread, strict=True):
            row += [cell.value, cell.sd] if has_spread else [cell.value]
        if table.marks:
            row.append(" ".join(m for m in table.marks if any(m in cell.marks for cell in cells)))
        rows.append(row)
    return [*head, "basis"] if table.marks else head, rows


def flat(trial: Trial) -> dict[str, Value]:
    """Return a trial as a row of `trials.csv`: the value of each column by its name."""
    row: dict[str, Value] = {
        **_fields(trial.key, *TrialKey.model_fields),
        **_fields(trial, "model_label", "model_kind", "status", "error", "row_count"),
        "valid": None if trial.verdict is None else trial.verdict.focus,
        **_fields(trial.verdict, *VERDICT),
        **_fields(trial, "exact_match", "soft_f1"),
        **_fields(trial.timing, "gold_median_s", "generated_median_s"),
        "e2e_s": trial.e2e_s,
    }
    for name in STAGES:
        stage = trial.stages.get(name)
        row[f"{name}_s"] = None if stage is None else stage.seconds
        row[f"{name}_usd"] = None if stage is None else stage.usd
    return {
        **row,
        **_fields(trial, "overhead_s", "queue_s"),
        **_fields(trial.usage, *(name for name in Usage.model_fields if name != "estimated")),
        **_fields(trial.cost, *Cost.model_fields),
        **_fields(trial, "retries", "retry_s", "replayed", "started_at", "sql"),
    }


def _fields(record: BaseModel | None, *names: str) -> dict[str, Value]:
    """Return fields of a record by name, each None where there is no record."""
    return {name: None if record is None else getattr(record, name) for name in names}
