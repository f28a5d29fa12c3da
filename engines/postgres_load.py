"""Loads a data set's Parquet files into a PostgreSQL database, once."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import sql

from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["READER", "load_postgres"]

READER: Final = "reader"
"""The role that may read the data and nothing else."""

# Raised whenever this module would lay the same data out differently.
_LAYOUT: Final = 1
_LOADING: Final = "loading"
_RECOVERY_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.05
_BATCH_ROWS: Final = 65_536
# By Arrow's name of the type, without what stands in brackets.
_TYPES: Final = {
    "bool": "boolean",
    "int8": "smallint",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "integer",
    "uint32": "bigint",
    "uint64": "numeric(20, 0)",
    "halffloat": "real",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "large_string": "text",
    "string_view": "text",
    "date32": "date",
    "date64": "date",
    "time32": "time",
    "time64": "time",
    "null": "text",
}


def load_postgres(socket_directory: Path, dataset: Dataset) -> str:
    """Return the database of a data set, loading it where there is none yet.

    Tables get their primary and foreign keys, NOT NULL where Parquet says so, and an index on
    each foreign key; nested values become jsonb. The database gets its name when it is whole; one
    of other data is dropped unless somebody reads it.

    Args:
        socket_directory: Where our server listens. Nobody else may load at the same time.
        dataset: The data.

    Returns:
        The database's name, for `READER` to connect to.

    Raises:
        DataError: If the Parquet files cannot be read or do not fit the keys, or the disk is full.
    """
    import pyarrow as pa

    name = f"data_{_digest(dataset)}"
    try:
        with _connect(socket_directory, "postgres") as admin:
            present = {row[0] for row in admin.execute("SELECT datname FROM pg_database")}
            if name in present:
                return name
            for old in present:
                if old.startswith("data_") or old == _LOADING:
                    _drop(admin, old)
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_LOADING)))
            roles = admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [READER])
            if roles.fetchone() is None:
                admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(READER)))
            with _connect(socket_directory, _LOADING) as connection:
                _fill(connection, dataset)
            rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
            admin.execute(rename.format(sql.Identifier(_LOADING), sql.Identifier(name)))
    except (OSError, psycopg.Error, pa.ArrowException) as error:
        raise DataError(
            f"cannot load {dataset.name} from {dataset.directory} into PostgreSQL: "
            f"{str(error).strip()}. Check that the Parquet files are whole and that the disk has "
            "space to spare"
        ) from error
    return name


def _digest(dataset: Dataset) -> str:
    keys = [sorted(dataset.primary_keys.items()), sorted(dataset.foreign_keys.items())]
    parts = (_LAYOUT, dataset.digest, sorted(dataset.tables), keys)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _connect(socket_directory: Path, database: str) -> psycopg.Connection[Any]:
    """Connect as the one who may do everything, waiting where the server recovers from a crash."""
    deadline = time.monotonic() + _RECOVERY_TIMEOUT_S
    while True:
        try:
            return psycopg.connect(
                host=str(socket_directory),
                port=5432,
                user="postgres",
                dbname=database,
                client_encoding="utf8",
                autocommit=True,
            )
        except psycopg.OperationalError as error:
            if "the database system is" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)


def _drop(admin: psycopg.Connection[Any], database: str) -> None:
    try:
        admin.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(database)))
    except psycopg.errors.ObjectInUse:
        if database == _LOADING:  # Left by a load that was killed, and not yet noticed.
            admin.execute(sql.SQL("DROP DATABASE {} (FORCE)").format(sql.Identifier(database)))


def _fill(connection: psycopg.Connection[Any], dataset: Dataset) -> None:
    with connection.transaction():
        for table, source in dataset.tables.items():
            _load_table(connection, table, source)
    for table, columns in dataset.primary_keys.items():
        primary = sql.SQL("ALTER TABLE {} ADD PRIMARY KEY ({})")
        connection.execute(primary.format(sql.Identifier(table), _list(columns)))
    for table, keys in dataset.foreign_keys.items():
        for key in keys:
            foreign = sql.SQL("ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {}").format(
                sql.Identifier(table), _list(key.columns), sql.Identifier(key.references)
            )
            connection.execute(foreign)
            # Where the primary key begins with these columns, its own index serves.
            if dataset.primary_keys.get(table, ())[: len(key.columns)] != key.columns:
                index = sql.SQL("CREATE INDEX ON {} ({})")
                connection.execute(index.format(sql.Identifier(table), _list(key.columns)))
    connection.execute("VACUUM (FREEZE, ANALYZE)")
    connection.execute(
        sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(sql.Identifier(READER))
    )
    connection.execute(
        sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(sql.Identifier(_LOADING))
    )


def _load_table(connection: psycopg.Connection[Any], table: str, source: Path) -> None:
    import pyarrow.csv as pac
    import pyarrow.dataset as pad

    parquet = pad.dataset(source, format="parquet")
    columns = [
        sql.SQL("{} {}{}").format(
            sql.Identifier(field.name),
            sql.SQL(_declared(table, field)),
            sql.SQL("" if field.nullable else " NOT NULL"),
        )
        for field in parquet.schema
    ]
    create = sql.SQL("CREATE TABLE {} ({})")
    connection.execute(create.format(sql.Identifier(table), sql.SQL(", ").join(columns)))
    # In CSV as Arrow writes it NULL is nothing and text stands in quotes, which is how COPY reads.
    options = pac.WriteOptions(include_header=False)
    statement = sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(sql.Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for batch in parquet.to_batches(batch_size=_BATCH_ROWS):
            if batch.num_rows:
                buffer = io.BytesIO()
                pac.write_csv(_writable(batch), buffer, options)
                copy.write(buffer.getvalue())


def _declared(table: str, field: pa.Field) -> str:
    import pyarrow.types as pat

    kind = field.type.value_type if pat.is_dictionary(field.type) else field.type
    if pat.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pat.is_timestamp(kind):
        return "timestamp with time zone" if kind.tz else "timestamp"
    if pat.is_nested(kind):
        return "jsonb"
    if _is_bytes(kind):
        return "bytea"
    name = str(kind).partition("[")[0]
    if name not in _TYPES:
        raise DataError(
            f"column {field.name!r} of table {table!r} has type {field.type}, which has no type in "
            "PostgreSQL. Leave the column out, or write it as another type"
        )
    return _TYPES[name]


def _is_bytes(kind: pa.DataType) -> bool:
    import pyarrow.types as pat

    plain = pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_binary_view(kind)
    return bool(plain or pat.is_fixed_size_binary(kind))


def _writable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the columns that Arrow's CSV has no form for, or another than COPY's, into text."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([_column(each) for each in batch.columns], batch.schema.names)


def _column(column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.types as pat

    if pat.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pat.is_nested(kind):
        values = column.to_pylist(maps_as_pydicts="lossy")
        return _texts(values, lambda value: json.dumps(value, default=str))
    if _is_bytes(kind):
        return _texts(column.to_pylist(), lambda value: "\\x" + value.hex())
    if pat.is_string_view(kind) or pat.is_large_string(kind):
        return column.cast(pa.string())
    if pat.is_float16(kind):
        return column.cast(pa.float32())
    if pat.is_timestamp(kind) and kind.unit == "ns":
        return column.cast(pa.timestamp("us", kind.tz), safe=False)
    if pat.is_time64(kind) and kind.unit == "ns":
        return column.cast(pa.time64("us"), safe=False)
    return column


def _texts(values: list[Any], convert: Callable[[Any], str]) -> pa.Array:
    import pyarrow as pa

    return pa.array([None if value is None else convert(value) for value in values], pa.string())


def _list(names: tuple[str, ...]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))
