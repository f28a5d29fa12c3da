"""What a translation must know of the data: tables, columns, what they hold, and their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bothends.infra.dataset import Dataset

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Column", "Kind", "Schema", "Table", "schema_of"]

Kind = Literal["integer", "real", "text", "blob", "date", "timestamp", "boolean", "null"]
"""What an expression yields. A date or a timestamp is text to SQLite, and has a type elsewhere."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name as spelt, and what it holds on the target."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name as spelt, its columns by their names in lower case, its primary key."""

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a database, by their names in lower case: names ignore case in SQLite."""

    tables: Mapping[str, Table] = field(default_factory=dict)

    @classmethod
    def of(cls, **tables: Mapping[str, Kind]) -> Schema:
        """Make a schema of columns and their kinds by table, for what needs no data set."""
        return cls(
            {
                name.lower(): Table(
                    name, {each.lower(): Column(each, kind) for each, kind in columns.items()}
                )
                for name, columns in tables.items()
            }
        )


def schema_of(dataset: Dataset) -> Schema:
    """Return the schema of a data set, from its Parquet files.

    Raises:
        OSError: If a file cannot be read.
    """
    import pyarrow.dataset as pad

    tables = {}
    for name, path in dataset.tables.items():
        fields = pad.dataset(path, format="parquet").schema
        columns = {each.name.lower(): Column(each.name, _kind(each.type)) for each in fields}
        tables[name.lower()] = Table(name, columns, dataset.primary_keys.get(name, ()))
    return Schema(tables)


def _kind(kind: pa.DataType) -> Kind:
    import pyarrow.types as pat

    if pat.is_integer(kind):
        return "integer"
    if pat.is_floating(kind) or pat.is_decimal(kind):
        return "real"
    if pat.is_boolean(kind):
        return "boolean"
    if pat.is_date(kind):
        return "date"
    if pat.is_timestamp(kind):
        return "timestamp"
    return "blob" if pat.is_binary(kind) else "text"
