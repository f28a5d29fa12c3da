"""Brings a SQLite database over: each table as Parquet, with the keys that its data obeys."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bothends.infra.errors import DataError
from bothends.infra.imported import MANIFEST, ImportedTable, ImportManifest, Misfit, read_manifest
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
from bothends.infra.system import package_versions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["find_sqlite", "import_sqlite"]

# Raised whenever this module would write the same source differently.
_LAYOUT: Final = 1
_BATCH_ROWS: Final = 8_192
_COLUMNS_AT_ONCE: Final = 100
_EXAMPLES: Final = 3
_EXAMPLE_CHARACTERS: Final = 60
# Beside the file itself, the layouts of BIRD and of Spider.
_FOLDERS: Final = ("dev_databases", "database", "databases")
_SUFFIXES: Final = (".sqlite", ".sqlite3", ".db")
# Other names make trouble somewhere: Spark passes over files that begin with _ or a dot.
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_ -]*")

Watcher = Callable[[str, int, int], object]
"""Called with a table, its rows so far, and how many it has."""


def find_sqlite(source: Path) -> dict[str, Path]:
    """Return the SQLite files of a directory by the names of their databases.

    Args:
        source: A SQLite file; or a directory with `<db>/<db>.sqlite` or `<db>.sqlite` in it, or in
            its `dev_databases` (as BIRD has it) or `database` (as Spider has it).

    Raises:
        DataError: If there is none, or two have the same name.
    """
    if source.is_file():
        return {source.stem: source}
    if not source.is_dir():
        raise DataError(f"{source} does not exist; give a directory that holds SQLite databases")
    root = next((source / name for name in _FOLDERS if (source / name).is_dir()), source)
    found: dict[str, Path] = {}
    try:
        for path in sorted(root.iterdir()):
            inside = [path / f"{path.name}{suffix}" for suffix in _SUFFIXES]
            files = [path] if path.suffix in _SUFFIXES else inside
            for file in filter(Path.is_file, files):
                if file.stem in found:
                    raise DataError(
                        f"{found[file.stem]} and {file} have the same name; rename one of them"
                    )
                found[file.stem] = file
    except OSError as error:
        raise DataError(f"{root} cannot be listed: {error.strerror or error}") from error
    if not found:
        raise DataError(
            f"{root} holds no SQLite database; put <name>.sqlite or <name>/<name>.sqlite there"
        )
    return found


def import_sqlite(
    source: Path, directory: Path, watcher: Watcher = lambda *_: None
) -> ImportManifest:
    """Bring a SQLite database over into a directory of its own, once.

    Names are kept exactly. Each column gets one type that holds all of its values, text where
    there is no other; views become tables. A directory of the same source is left as it is, one of
    another is replaced, and it appears whole or not at all.

    Args:
        source: The SQLite file; it is opened for reading alone.
        directory: Where the Parquet files go.
        watcher: Is told how far it is.

    Returns:
        The manifest: what there is, and what did not fit.

    Raises:
        DataError: If the source cannot be read or the directory not be written.
    """
    sha256 = _sha256(source)
    digest = hashlib.sha256(f"{_LAYOUT} {sha256}".encode()).hexdigest()[:16]
    present = read_manifest(directory)
    if present is not None:
        if present.digest == digest:
            return present
    elif directory.exists() and any(directory.iterdir()):
        raise DataError(f"{directory} is there and no import; name another directory with --out")
    # A hidden sibling is filled and renamed when complete: what has the final name is whole.
    scratch = directory.with_name(f".{directory.name}.partial-{secrets.token_hex(4)}")
    try:
        scratch.mkdir(parents=True)
        with contextlib.closing(_open(source)) as connection:
            tables, misfits = _Import(connection, scratch, watcher).run()
        manifest = ImportManifest(
            layout=_LAYOUT,
            name=directory.name,
            source=source.name,
            source_sha256=sha256,
            digest=digest,
            versions={**package_versions(), "sqlite": sqlite3.sqlite_version},
            tables=tables,
            misfits=misfits,
        )
        (scratch / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
        if directory.exists():
            old = directory.with_name(f".{directory.name}.old-{secrets.token_hex(4)}")
            directory.rename(old)
            scratch.rename(directory)
            shutil.rmtree(old, ignore_errors=True)
        else:
            scratch.rename(directory)
    except OSError as error:
        raise DataError(
            f"{directory} cannot be written ({error.strerror or error}); "
            "name another directory with --out"
        ) from error
    except sqlite3.Error as error:
        raise DataError(
            f"{source} cannot be read as a SQLite database: {error}; check that it is one, whole, "
            "and that nobody writes to it"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return manifest


def _sha256(source: Path) -> str:
    """Hash the file, and what stands in a log beside it."""
    log = source.with_name(f"{source.name}-wal")
    try:
        digest = hashlib.sha256()
        for path in filter(Path.is_file, (source, log)):
            with path.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
    except OSError as error:
        raise DataError(f"{source} cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()


def _open(source: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{source.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute("BEGIN")  # One state of it, whoever else writes.
    return connection


@dataclass(frozen=True, slots=True)
class _Table:
    """A table or view: its columns, and what each becomes."""

    name: str
    columns: tuple[SqliteColumn, ...]
    kinds: dict[str, ColumnKind]
    nullable: dict[str, bool]
    rows: int


class _Import:
    """One import, from a connection into a directory."""

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
