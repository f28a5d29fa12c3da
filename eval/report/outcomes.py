"""How trials ended, and what the models are."""

from __future__ import annotations

from bothends.eval.record import ErrorClass, Status
from bothends.eval.report.source import ReportInput, groups
from bothends.eval.report.table import MODEL, Cell, Column, Table, name_cell

__all__ = ["models", "outcomes"]

_STATUSES: tuple[tuple[Status, str, str], ...] = (
    ("failed", "Failed", "The engine refused the query or broke."),
    ("timeout", "Timeout", "The query was stopped at the time limit."),
    ("rejected", "Rejected", "The read-only guard refused the query."),
    ("no_query", "No query", "The agent ended without running a query."),
    ("gave_up", "Gave up", "The agent reached its step limit."),
    ("skipped", "Skipped", "Not run: it passed its time limit at a smaller scale factor."),
)
_APART: tuple[tuple[Status, str, str], ...] = (
    ("provider_error", "Provider error", "Not scored: the model's provider failed."),
    ("gold_failed", "Gold failed", "Not scored: gold itself did not execute."),
    ("unjudged", "Unjudged", "Not scored: too large to tell whether it is right."),
)
_CLASSES: tuple[tuple[ErrorClass, str, str], ...] = (
    ("C", "C extra", "Superfluous columns; still valid."),
    ("A", "A rows", "Another number of rows than gold."),
    ("B", "B missing", "Columns of gold are missing."),
    ("D", "D values", "The right shape with wrong values."),
)


def outcomes(source: ReportInput) -> Table:
    """How trials ended, and what was wrong with the queries that executed."""
    rows = []
    for group in groups(source):
        s = group.summary
        exact = sum(t.verdict is not None and t.verdict.exact for t in group.trials)
        counts = (
            len(group.trials),
            exact,
            *(s.classes.get(name, 0) for name, _, _ in _CLASSES),
            *(s.statuses.get(name, 0) for name, _, _ in _STATUSES + _APART),
        )
        rows.append((name_cell(group), *map(Cell, counts)))
    columns = (
        MODEL,
        Column("trials", "Trials", help="All trials, scored or not.", kind="count"),
        Column("exact", "Exact", help="Executed, and equal to gold.", kind="count"),
        *(Column(f"class_{key}", head, help=text, kind="count") for key, head, text in _CLASSES),
        *(Column(key, head, help=text, kind="count") for key, head, text in _STATUSES + _APART),
    )
    notes = (
        "Provider errors, gold failures and unjudged results are counted here and scored nowhere.",
    )
    return Table("outcomes", "Outcomes", columns, tuple(rows), notes)


def models(source: ReportInput) -> Table:
    """What each model is, and what it is priced by."""
    rows = tuple(
        (
            name_cell(group),
            Cell(group.model.kind.replace("_", "-")),
            Cell(group.model.description),
            Cell(group.model.priced_by),
        )
        for group in groups(source)
    )
    columns = (
        MODEL,
        Column("kind", "Kind", kind="text"),
        Column("description", "What it is", kind="text"),
        Column("priced_by", "Priced by", kind="text"),
    )
    return Table("models", "Models", columns, rows)
