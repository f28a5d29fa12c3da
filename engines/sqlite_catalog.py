"""What a SQLite file holds: names of tables, and DDL, which SQLite keeps as it was written."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Final

from bothends.engines.lexemes import UnreadableError, read
from bothends.engines.names import TableName, quoted

__all__ = ["ddl", "definitions", "identifier", "names"]

_TABLES: Final = (
    "FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
_SCHEMA: Final = "main"


def names(connection: sqlite3.Connection) -> Iterator[TableName]:
    """Return the tables and views of a file, without SQLite's own."""
    for (name,) in connection.execute(f"SELECT name {_TABLES}"):
        yield TableName(_SCHEMA, name, bare=True)


def definitions(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the text of every table and view, by its name."""
    return {name: sql or "" for name, sql in connection.execute(f"SELECT name, sql {_TABLES}")}


def ddl(connection: sqlite3.Connection, name: str) -> str | None:
    """Return the text that made a table or view; None where there is none of this name.

    A table's is as the file holds it, comments and all. A view is given the list of its columns,
    with their types where SQLite knows them.
    """
    query = f"SELECT type, sql {_TABLES} AND name = ?"
    row = connection.execute(query, [name]).fetchone()
    if row is None:
        return None
    kind, sql = str(row[0]), str(row[1] or "")
    body = _select(sql) if kind == "view" else None
    columns: list[tuple[str, str]] = []
    # A view over what is no longer there has none.
    with contextlib.suppress(sqlite3.Error):
        if body is not None:
            listed = "SELECT name, type FROM pragma_table_xinfo(?) ORDER BY cid"
            columns = connection.execute(listed, [name]).fetchall()
    if not columns:
        return sql
    lines = ",\n".join(f"  {identifier(column)} {kind}".rstrip() for column, kind in columns)
    return f"CREATE VIEW {identifier(name)} (\n{lines}\n) AS\n{body}"


def identifier(name: str) -> str:
    """Quote a name only where SQLite needs it, so that the DDL stays easy on the eye."""
    if name.isidentifier() and name.isascii():
        with (
            contextlib.closing(sqlite3.connect(":memory:")) as scratch,
            contextlib.suppress(sqlite3.Error),
        ):
            scratch.execute(f"CREATE TABLE {name} ({name})")
            return name
    return quoted(name, "sqlite")


def _select(sql: str) -> str | None:
    """Return the query of a view, which stands behind the first AS: before it are only names."""
    try:
        lexemes = read(sql, "sqlite")
    except UnreadableError:
        return None
    start = next((each.start for each in lexemes if each.keyword == "AS"), None)
    return None if start is None else sql[start + 2 :].strip()
