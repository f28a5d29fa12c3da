"""Loads a data set's Parquet files into one SQLite file, once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bothends.engines.sqlite_catalog import identifier
from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pad

__all__ = ["load_sqlite"]

_FILE_NAME: Final = "bothends.sqlite"
# Raised whenever this module would lay the same data out differently.
_LAYOUT: Final = 1
_BATCH_ROWS: Final = 16_384


def load_sqlite(dataset: Dataset) -> Path:
    """Return the SQLite file of a data set, loading it where it is missing or of other data.

    Tables get their primary and foreign keys, NOT NULL where Parquet says so, and an index on
    each foreign key. Decimals become REAL; dates and timestamps ISO 8601 text; nested values JSON
    text. The file appears whole or not at all.

    Args:
        dataset: The data; the file is kept in its directory.

    Returns:
        The file's path.

    Raises:
        DataError: If the Parquet files cannot be read, or the directory cannot be written.
    """
    import pyarrow as pa

    path = dataset.directory / _FILE_NAME
    stamp = _stamp(dataset)
    if _stamp_of(path) == stamp:
        return path
    try:
        handle, name = tempfile.mkstemp(prefix=f"{_FILE_NAME}.", dir=dataset.directory)
        os.close(handle)
        scratch = Path(name)
        try:
            with contextlib.closing(sqlite3.connect(scratch, isolation_level=None)) as connection:
                _fill(connection, dataset, stamp)
            scratch.chmod(0o644)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
    except (OSError, sqlite3.Error, pa.ArrowException) as error:
        raise DataError(
            f"cannot load {dataset.name} from {dataset.directory} into SQLite: {error}. Check that "
            "the Parquet files are whole and that the directory is writable with space to spare"
        ) from error
    return path


def _stamp(dataset: Dataset) -> int:
    """Hash what the file depends on, into SQLite's user_version (31 bits)."""
    keys = [sorted(dataset.primary_keys.items()), sorted(dataset.foreign_keys.items())]
    parts = (_LAYOUT, dataset.digest, sorted(dataset.tables), keys)
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1 or 1


def _stamp_of(path: Path) -> int:
    if not path.is_file():
        return 0
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        ) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return 0


def _fill(connection: sqlite3.Connection, dataset: Dataset, stamp: int) -> None:
    import pyarrow.dataset as pad

    # Nothing to lose: a load that is cut short leaves only a scratch file.
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    for table, source in dataset.tables.items():
        parquet = pad.dataset(source, format="parquet")
        connection.execute(_create_table(table, parquet.schema, dataset))
        connection.execute("BEGIN")
        marks = ", ".join("?" * len(parquet.schema))
        connection.executemany(f"INSERT INTO {identifier(table)} VALUES ({marks})", _rows(parquet))  # noqa: S608
        connection.execute("COMMIT")
        primary = dataset.primary_keys.get(table, ())
        for key in dataset.foreign_keys.get(table, ()):
            if primary[: len(key.columns)] == key.columns:
                continue  # The primary key's own index serves.
            index = identifier(f"{table}_{'_'.join(key.columns)}")
            connection.execute(
                f"CREATE INDEX {index} ON {identifier(table)} ({_list(key.columns)})"
            )
    connection.execute("ANALYZE")
    connection.execute(f"PRAGMA user_version = {stamp}")


def _create_table(table: str, schema: pa.Schema, dataset: Dataset) -> str:
    lines = [
        f"{identifier(field.name)} {_declared(field.type)}{'' if field.nullable else ' NOT NULL'}"
        for field in schema
    ]
    if primary := dataset.primary_keys.get(table):
        lines.append(f"PRIMARY KEY ({_list(primary)})")
    lines += [
        f"FOREIGN KEY ({_list(key.columns)}) REFERENCES {identifier(key.references)}"
        for key in dataset.foreign_keys.get(table, ())
    ]
    body = ",\n  ".join(lines)
    return f"CREATE TABLE {identifier(table)} (\n  {body}\n)"


def _declared(kind: pa.DataType) -> str:
    """Name the column type; its affinity must never turn the stored value into another."""
    import pyarrow.types as pat

    if pat.is_boolean(kind):
        return "BOOLEAN"
    if pat.is_integer(kind):
        return "INTEGER"
    if pat.is_floating(kind) or pat.is_decimal(kind):
        return "REAL"
    if pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_fixed_size_binary(kind):
        return "BLOB"
    # DATE would have numeric affinity, and a comparison with '1995' would go by number.
    if pat.is_date(kind):
        return "TEXT /* YYYY-MM-DD */"
    if pat.is_timestamp(kind):
        return "TEXT /* YYYY-MM-DD HH:MM:SS */"
    return "TEXT"


def _rows(parquet: pad.Dataset) -> Iterator[tuple[Any, ...]]:
    converters = [_converter(field.type) for field in parquet.schema]
    for batch in parquet.to_batches(batch_size=_BATCH_ROWS):
        columns = [
            convert(column) for convert, column in zip(converters, batch.columns, strict=True)
        ]
        yield from zip(*columns, strict=True)


def _converter(kind: pa.DataType) -> Callable[[pa.Array], list[Any]]:
    """Return what turns an Arrow column into values that SQLite stores."""
    import pyarrow.types as pat

    # Python's float() of a decimal is correctly rounded.
    if pat.is_decimal(kind):
        return _each(float)
    if pat.is_timestamp(kind):
        return _each(lambda value: value.isoformat(sep=" "))
    if pat.is_date(kind) or pat.is_time(kind):
        return _each(lambda value: value.isoformat())
    if pat.is_nested(kind):
        return _each(lambda value: json.dumps(value, default=str))
    return lambda column: column.to_pylist()


def _each(convert: Callable[[Any], Any]) -> Callable[[pa.Array], list[Any]]:
    return lambda column: [
        None if value is None else convert(value) for value in column.to_pylist()
    ]


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(map(identifier, names))
