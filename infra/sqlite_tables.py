"""The tables of a SQLite database as Parquet files, each column with one type."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bothends.infra.imported import ImportedTable, Misfit
from bothends.infra.sqlite_columns import (
    ColumnKind,
    Counts,
    SqliteColumn,
    census_sql,
    choose_kind,
    quoted,
    read,
)
from bothends.infra.sqlite_keys import Keys

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableWriter", "Watcher"]

_BATCH_ROWS: Final = 8_192
_COLUMNS_AT_ONCE: Final = 100
_EXAMPLES: Final = 3
_EXAMPLE_CHARACTERS: Final = 60
# Other names make trouble somewhere: Spark passes over files that begin with _ or a dot.
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_ -]*")

Watcher = Callable[[str, int, int], object]
"""Called with a table, its rows so far, and how many it has."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table or view: its columns, and what each becomes."""

    name: str
    columns: tuple[SqliteColumn, ...]
    kinds: dict[str, ColumnKind]
    nullable: dict[str, bool]
    rows: int


class TableWriter:
    """Writes the tables of a database into a directory.

    Args:
        connection: The database.
        directory: Where the Parquet files go.
        watcher: Is called with a table, its rows so far, and how many it has.
    """

    def __init__(self, connection: sqlite3.Connection, directory: Path, watcher: Watcher) -> None:
        self._connection = connection
        self._directory = directory
        self._watcher = watcher
        self._misfits: list[Misfit] = []

    def run(self) -> tuple[dict[str, ImportedTable], tuple[Misfit, ...]]:
        """Write every table, and say what has become of all."""
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        tables: dict[str, _Table] = {}
        for name, kind in self._names():
            try:
                tables[name] = self._census(name)
            except sqlite3.OperationalError as error:
                if kind == "table":
                    raise
                self._misfits.append(
                    Misfit(
                        table=name,
                        column="",
                        declared=kind,
                        became=f"left out: {error}",
                        count=0,
                    )
                )
        files = {
            name: f"{name}.parquet" if _PLAIN.fullmatch(name) else f"table.{number}.parquet"
            for number, name in enumerate(tables, start=1)
        }
        for name, table in tables.items():
            self._write(table, self._directory / files[name])
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        keys = Keys(self._connection, {name: table.kinds for name, table in tables.items()})
        imported = {}
        for name, table in tables.items():
            primary = keys.primary(name, table.columns)
            imported[name] = ImportedTable(
                file=files[name],
                rows=table.rows,
                primary_key=primary,
                foreign_keys=keys.foreign(name),
            )
        return imported, (*self._misfits, *keys.broken)

    def _names(self) -> list[tuple[str, str]]:
        """Return tables and views in the order they were made, without SQLite's own."""
        kinds: Mapping[str, str] = dict(
            self._connection.execute("SELECT name, type FROM pragma_table_list('main')").fetchall()
            if sqlite3.sqlite_version_info >= (3, 37)
            else []
        )
        listed = self._connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, rowid"
        ).fetchall()
        return [
            (name, kinds.get(name, kind)) for name, kind in listed if kinds.get(name) != "shadow"
        ]

    def _census(self, name: str) -> _Table:
        columns = tuple(
            SqliteColumn(column, declared or "", bool(not_null), key)
            for column, declared, not_null, key in self._connection.execute(
                'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1',
                [name],
            )
        )
        rows = 0
        kinds: dict[str, ColumnKind] = {}
        nullable: dict[str, bool] = {}
        for start in range(0, len(columns), _COLUMNS_AT_ONCE):
            part = columns[start : start + _COLUMNS_AT_ONCE]
            counted = self._connection.execute(
                f"SELECT count(*), {census_sql([each.name for each in part])} "  # noqa: S608
                f"FROM {quoted(name)}"
            ).fetchone()
            rows, width = counted[0], len(Counts.__slots__)
            for index, column in enumerate(part):
                counts = Counts(*counted[1 + index * width : 1 + (index + 1) * width])
                kinds[column.name], strange = choose_kind(column, counts)
                nullable[column.name] = bool(counts.nulls) or not (column.not_null or column.key)
                if strange:
                    self._note(name, column, kinds[column.name], strange)
        return _Table(name, columns, kinds, nullable, rows)

    def _note(self, table: str, column: SqliteColumn, kind: ColumnKind, strange: str) -> None:
        it, source = quoted(column.name), f"FROM {quoted(table)} WHERE {strange}"
        count = self._connection.execute(f"SELECT count({it}) {source}").fetchone()[0]
        if count:
            examples = self._connection.execute(
                f"SELECT DISTINCT substr(quote({it}), 1, {_EXAMPLE_CHARACTERS}) {source} "
                f"LIMIT {_EXAMPLES}"
            )
            self._misfits.append(
                Misfit(
                    table=table,
                    column=column.name,
                    declared=column.declared,
                    became=kind,
                    count=count,
                    examples=tuple(text for (text,) in examples),
                )
            )

    def _write(self, table: _Table, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {
            "integer": pa.int64(),
            "real": pa.float64(),
            "text": pa.string(),
            "blob": pa.binary(),
            "date": pa.date32(),
            "timestamp": pa.timestamp("us"),
        }
        schema = pa.schema(
            [
                pa.field(
                    column.name,
                    types[table.kinds[column.name]],
                    nullable=table.nullable[column.name],
                    metadata={"sqlite_type": column.declared},
                )
                for column in table.columns
            ]
        )
        # Text arrives as bytes: not every byte that SQLite calls text is.
        self._connection.text_factory = bytes
        columns = [_Column(name, kind) for name, kind in table.kinds.items()]
        written = 0
        with pq.ParquetWriter(path, schema) as writer:
            for rows in self._batches(table):
                arrays = [
                    column.array(values, schema.field(column.name).type)
                    for column, values in zip(columns, zip(*rows, strict=True), strict=True)
                ]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
                written += len(rows)
                self._watcher(table.name, written, table.rows)
        for column in columns:
            if column.mended:
                self._misfits.append(
                    Misfit(
                        table=table.name,
                        column=column.name,
                        declared="text in UTF-8 without NUL characters",
                        became="text with U+FFFD in place of what is not",
                        count=column.mended,
                    )
                )

    def _batches(self, table: _Table) -> Iterator[list[tuple[Any, ...]]]:
        listed = ", ".join(read(name, kind) for name, kind in table.kinds.items())
        cursor = self._connection.execute(f"SELECT {listed} FROM {quoted(table.name)}")  # noqa: S608
        while rows := cursor.fetchmany(_BATCH_ROWS):
            yield rows


class _Column:
    """Turns the values of a column into Arrow's."""

    def __init__(self, name: str, kind: ColumnKind) -> None:
        self.name = name
        self.mended = 0
        self._kind = kind

    def array(self, values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
        import pyarrow as pa

        if self._kind in ("integer", "real", "blob"):
            return pa.array(values, kind)
        texts = [None if value is None else self._text(value) for value in values]
        return pa.array(texts, pa.string()).cast(kind)

    def _text(self, value: bytes) -> str:
        text = value.decode("utf-8", "replace").replace("\0", "\ufffd")
        self.mended += "\ufffd" in text and text.encode() != value
        return text
