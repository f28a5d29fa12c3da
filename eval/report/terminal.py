"""The report in a terminal: the answer first, then the tables, whole at any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from bothends.eval.report.answer import headline
from bothends.eval.report.caveats import caveats
from bothends.eval.report.source import ReportInput
from bothends.eval.report.table import MARKS, Cell, Column, Table
from bothends.eval.report.tables import tables
from bothends.eval.report.terms import scale_words
from bothends.eval.report.words import plural

__all__ = ["plain", "print_report", "print_table"]

LONG_TABLE_ROWS = 60
NARROW_COLUMNS = 110
GAP = 2  # of which the box draws one


def print_report(source: ReportInput, console: Console) -> None:
    """Print the answer in words, the terms, and the tables.

    A table that is wider than the console is split into blocks that each repeat what identifies
    a row; one that is very long is left to the other forms of the report.
    """
    first, *others = headline(source)
    console.print()
    console.print(Text(plain(first), style="bold"))
    for sentence in others:
        console.print(Text(plain(sentence)))
    notes = caveats(source)
    if notes:
        console.print()
    for note in notes:
        console.print(Padding(Text(f"! {plain(note)}", style="yellow"), (0, 0, 0, 1)))
    console.print()
    console.print(Text(plain(_terms(source)), style="dim"))
    for table in tables(source):
        print_table(table, console)


def _terms(source: ReportInput) -> str:
    scale = f" {scale_words(source)}".rstrip()
    return (
        f"{source.name}: {source.suite}{scale} on {source.engine}, recipe {source.recipe}, "
        f"{plural(len(source.questions), 'question')}, {plural(source.replicas, 'replica')}; "
        f"{source.machine}, "
        f"billing {source.billing}"
    )


def print_table(table: Table, console: Console) -> None:
    """Print one table, whole at any width."""
    console.print()
    console.print(Text(plain(table.title), style="bold cyan"))
    if len(table.rows) > LONG_TABLE_ROWS:
        console.print(
            Text(f"{len(table.rows)} rows: see {table.name}.csv or the HTML report.", style="dim")
        )
        return
    for number, block in enumerate(_blocks(table, console.width)):
        if number:
            console.print()
        console.print(_block(table, block))
    for mark in table.marks:
        sign, meaning = MARKS[mark]
        console.print(Text(f"{sign} {meaning}", style="dim"))
    for note in table.notes:
        console.print(Text(plain(note), style="dim"))


def _blocks(table: Table, width: int) -> Iterator[tuple[int, ...]]:
    """Yield the columns of each block, as many as the width holds after those that identify."""
    shown = [
        i
        for i, column in enumerate(table.columns)
        if not column.secondary or width >= NARROW_COLUMNS
    ]
    keys = tuple(i for i in shown if table.columns[i].identifies)
    room = width - sum(_width(table, i) + GAP for i in keys)
    block: list[int] = []
    used = 0
    for i in shown:
        if i in keys:
            continue
        need = _width(table, i) + GAP
        if block and used + need > room:
            yield (*keys, *block)
            block, used = [], 0
        block.append(i)
        used += need
    yield (*keys, *block)


def _width(table: Table, number: int) -> int:
    """Return the width a column needs: prose may wrap, names and numbers may not."""
    column = table.columns[number]
    texts = [cell.cell_len for cell in (_cell(column, row[number]) for row in table.rows)]
    longest = max((len(column.heading), len(column.unit), *texts))
    return min(longest, 28) if column.align == "left" else longest


def _block(table: Table, block: Sequence[int]) -> RichTable:
    shown = RichTable(
        box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), show_edge=False, pad_edge=False
    )
    for i in block:
        column = table.columns[i]
        heading = Text(column.heading)
        if column.unit:
            heading.append(f"\n{column.unit}", style="dim")
        shown.add_column(
            heading,
            justify=column.align,
            vertical="top",
            no_wrap=column.align == "right",
            overflow="fold",
            min_width=_width(table, i),
        )
    repeatable = [i for i in block if table.columns[i].identifies][:-1]
    before: tuple[Cell, ...] | None = None
    for row in table.rows:
        same = before is not None and all(before[i] == row[i] for i in repeatable)
        shown.add_row(
            *(
                Text() if same and i in repeatable else _cell(table.columns[i], row[i])
                for i in block
            )
        )
        before = row
    return shown


def _cell(column: Column, cell: Cell) -> Text:
    text = Text(plain(column.text(cell)))
    for mark in cell.marks:
        text.append(MARKS[mark][0], style="dim")
    return text


def plain(text: str) -> str:
    """Return text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)
