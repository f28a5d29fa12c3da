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
    first, *others = headline(source)
    told = verdict_on_difference(source)
    yield f"## {_text(source.name)}: {_text(first)}"
    for sentence in [*others, *([told] if told else [])]:
        yield f"\n{_text(sentence)}"
    notes = caveats(source)
    if notes:
        yield ""
        yield from (f"> - {_text(note)}" for note in notes)
    yield "\n| | |\n|---|---|"
    yield from (f"| {_text(name)} | {_text(words)} |" for name, words in terms(source))
    for table in all_tables(source):
        yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"\n<details><summary>{_text(table.title)}</summary>\n"
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
    for mark in table.marks:
        sign, meaning = MARKS[mark]
        yield f"\n{_text(sign)} {_text(meaning)}"
    for note in table.notes:
        yield f"\n{_text(note)}"
    yield "\n</details>"


def _text(text: str) -> str:
    """Return text on one line, with all that Markdown or HTML would act on escaped."""
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # An address or a name with @ would become a link, and notify someone.
    line = re.sub(r"([\\`*_{}\[\]()#+!|~^$])", r"\\\1", line)
    return line.replace("@", "&#64;").replace("://", ":&#47;&#47;")
