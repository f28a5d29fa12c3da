"""What a translation must know of the data: tables, columns, what they hold, and their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from bothends.infra.dataset import Dataset
from bothends.infra.sqlite_columns import affinity as declared_affinity

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Affinity", "Column", "Kind", "Schema", "Table", "schema_of"]

Affinity = Literal["number", "text", "none"]
"""How SQLite compares a value with one of another kind."""

Kind = Literal["integer", "real", "text", "blob", "date", "timestamp", "boolean", "null"]
"""What an expression yields. A date or a timestamp is text to SQLite, and has a type elsewhere."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name as spelt, what it holds on the target, and its affinity on SQLite."""

    name: str
    kind: Kind
    affinity: Affinity


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


def schema_of(dataset: Dataset, names: Mapping[str, str] | None = None) -> Schema:
    """Return the schema of a data set, from its Parquet files.

    Args:
        dataset: The data, as the target opens it.
        names: What SQLite's tables are called there; None where they are called the same.

    Raises:
        OSError: If a file cannot be read.
    """
    import pyarrow.dataset as pad

    tables = {}
    for source, name in (names or {table: table for table in dataset.tables}).items():
        fields = pad.dataset(dataset.tables[name], format="parquet").schema
        columns = {each.name.lower(): _column(each) for each in fields}
        tables[source.lower()] = Table(name, columns, dataset.primary_keys.get(name, ()))
    return Schema(tables)


def _column(field: pa.Field) -> Column:
    kind = _kind(field.type)
    declared = (field.metadata or {}).get(b"sqlite_type")
    if declared is None:
        usual: Affinity = "number" if kind in ("integer", "real", "boolean") else "text"
        return Column(field.name, kind, usual)
    affinity = declared_affinity(declared.decode())
    return Column(field.name, kind, _AFFINITIES.get(affinity, "number"))


_AFFINITIES: Final[dict[str, Affinity]] = {"text": "text", "blob": "none"}


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
