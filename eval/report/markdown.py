"""The report as Markdown, for a pull request: the answer, what to be careful about, the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bothends.eval.report.answer import headline
from bothends.eval.report.caveats import caveats
from bothends.eval.report.certainty import verdict_on_difference
from bothends.eval.report.source import ReportInput
from bothends.eval.report.table import MARKS, Table
from bothends.eval.report.tables import all_tables
from bothends.eval.report.terms import terms
from bothends.infra.errors import RecordError

__all__ = ["write_markdown"]

_FIRST = ("Suite", "Scale", "Engine", "Asked", "Priced as", "Prices")
"""The terms that stand in the open; the others are folded."""
_BRIEF = {
    "by_model": ("model", "scored", "valid", "ex", "ex_exact", "e2e_s"),
    "by_scale": ("model", "scale_factor", "ex", "ves", "ves_star", "cvq_usd", "timeouts"),
    "cost": ("model", "cvq_usd", "attempt_usd", "burned_usd", "vces_per_usd"),
    "comparisons": (
        "first",
        "second",
        "questions",
        "ex_difference",
        "ex_difference_low",
        "ex_difference_high",
        "p_holm",
        "told_apart",
    ),
}
"""The columns of the tables that stand in the open; all tables are folded below, whole."""
_OPEN_ROWS = 15
_ROWS = 60
"""A table with more rows is left to the other forms: a comment on a pull request has its limits."""


def write_markdown(source: ReportInput, path: Path) -> Path:
    """Write the report as GitHub's Markdown; no text of a run is read as markup.

    Args:
        source: The report's content.
        path: The file to write.

    Returns:
        The file.

    Raises:
        RecordError: If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(("\n".join(_lines(source)) + "\n").encode("utf-8", "replace"))
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _lines(source: ReportInput) -> Iterator[str]:
    headed, *others = headline(source)
    told = verdict_on_difference(source)
    yield f"## {_text(source.name)}: {_text(headed)}"
    for sentence in [*others, *([told] if told else [])]:
        yield f"\n{_text(sentence)}"
    notes = caveats(source)
    if notes:
        yield ""
        yield from (f"> - {_text(note)}" for note in notes)
    said = dict(terms(source))
    yield "\n" + "; ".join(_text(said.pop(name)) for name in _FIRST if name in said) + "."
    tables = all_tables(source)
    names = {table.name for table in tables}
    wanted = {"by_scale", "comparisons"} if "by_scale" in names else set(_BRIEF)
    for table in tables:
        if table.name in wanted and len(table.rows) <= _OPEN_ROWS:
            yield f"\n### {_text(table.title)}\n"
            yield from _table(_brief(table))
    yield "\n<details><summary>Terms</summary>\n\n| | |\n|---|---|"
    yield from (f"| {_text(name)} | {_text(words)} |" for name, words in said.items())
    yield "\n</details>"
    for table in tables:
        yield f"\n<details><summary>{_text(table.title)}</summary>\n"
        yield from _table(table)
        yield "\n</details>"


def _brief(table: Table) -> Table:
    """Return a table with the columns alone that most readers look for, and without its notes."""
    wanted = _BRIEF[table.name]
    places = [i for i, each in enumerate(table.columns) if each.key in wanted]
    return Table(
        table.name,
        table.title,
        tuple(table.columns[i] for i in places),
        tuple(tuple(row[i] for i in places) for row in table.rows),
    )


def _table(table: Table) -> Iterator[str]:
    if len(table.rows) > _ROWS:
        yield f"{len(table.rows)} rows: see `{table.name}.csv` or the HTML report."
    else:
        heads = [f"{column.heading} {column.unit}".rstrip() for column in table.columns]
        yield f"| {' | '.join(map(_text, heads))} |"
        yield f"|{'|'.join('---' if c.align == 'left' else '---:' for c in table.columns)}|"
        for row in table.rows:
            cells = [
                _text(column.text(cell)) + "".join(_text(MARKS[mark][0]) for mark in cell.marks)
                for column, cell in zip(table.columns, row, strict=True)
            ]
            yield f"| {' | '.join(cells)} |"
    if table.marks:
        signs = "; ".join(f"{MARKS[mark][0]} {MARKS[mark][1]}" for mark in table.marks)
        yield f"\n{_text(signs)}"
    for note in table.notes:
        yield f"\n{_text(note)}"


def _text(text: str) -> str:
    """Return text on one line, with all that Markdown or HTML would act on escaped."""
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # An address or a name with @ would become a link, and notify someone.
    line = re.sub(r"([\\`*_{}\[\]()#+!|~^$])", r"\\\1", line)
    return line.replace("@", "&#64;").replace("://", ":&#47;&#47;")
