"""What a table is: raw values with what they rest on; formatting is left to renderers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bothends.eval.report.format import Kind, with_spread
from bothends.eval.report.source import Group
from bothends.eval.summary import Estimate

__all__ = ["MARKS", "MODEL", "Basis", "Cell", "Column", "Mark", "Table", "marked", "name_cell"]

Mark = Literal["estimated", "replayed", "scripted"]

MARKS: dict[Mark, tuple[str, str]] = {
    "estimated": ("~", "rests on tokens counted here with a tokenizer, not on the provider's own"),
    "replayed": ("(r)", "rests on the seconds and tokens of a recording, not on this run's"),
    "scripted": ("(s)", "a script that is told the SQL: it calibrates the instrument"),
}
"""The sign of each mark and what it means."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value.

    Attributes:
        value: The raw value; None where it is undefined or unknown.
        sd: Its standard deviation, where the column shows one.
        marks: What the value rests on that a reader must know.
    """

    value: float | str | None
    sd: float | None = None
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds.

    Attributes:
        key: Its name in CSV, with the unit.
        heading: Its heading.
        unit: The unit, shown below the heading.
        help: What the figure is, with its formula.
        kind: How its values are shown.
        identifies: Whether it says what a row is about, and is repeated where a table is split.
        secondary: Whether it may be left out where there is little room.
    """

    key: str
    heading: str
    unit: str = ""
    help: str = ""
    kind: Kind = "figure"
    identifies: bool = False
    secondary: bool = False

    @property
    def align(self) -> Literal["left", "right"]:
        """Text to the left, numbers to the right."""
        return "left" if self.kind == "text" else "right"

    def text(self, cell: Cell) -> str:
        """Return a cell of this column as it is read, without its marks."""
        if isinstance(cell.value, str):
            return cell.value
        return with_spread(cell.value, cell.sd, self.kind)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with raw values.

    Attributes:
        name: Its file name in CSV, without the ending.
        title: Its title.
        columns: Its columns.
        rows: Its rows, a cell a column.
        notes: What must be read below it.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks that its cells carry, in a fixed order."""
        present = {mark for row in self.rows for cell in row for mark in cell.marks}
        return tuple(mark for mark in MARKS if mark in present)


MODEL = Column("model", "Model", kind="text", identifies=True)
"""The column of models' names that most tables begin with."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The marks of one model's figures, by what a figure rests on.

    Attributes:
        name: Of the model's name, which every row of its figures begins with.
        dollars: Of figures that rest on dollars, as CVQ does.
    """

    name: tuple[Mark, ...]
    dollars: tuple[Mark, ...]

    @classmethod
    def of(cls, group: Group) -> Basis:
        """Return the marks for a model's trials."""
        scripted: tuple[Mark, ...] = ("scripted",) if group.model.kind == "scripted" else ()
        replayed: tuple[Mark, ...] = ("replayed",) if group.summary.replayed else ()
        estimated: tuple[Mark, ...] = ("estimated",) if group.summary.estimated else ()
        return cls(replayed + scripted, estimated)


def name_cell(group: Group) -> Cell:
    """Return the cell of `MODEL`."""
    return Cell(group.name, marks=Basis.of(group).name)


def marked(value: float | Estimate | None, marks: tuple[Mark, ...] = ()) -> Cell:
    """Return the cell of a figure; one that is undefined carries no marks."""
    mean, sd = (value.mean, value.sd) if isinstance(value, Estimate) else (value, None)
    return Cell(mean, sd, () if mean is None else marks)
