"""What a PostgreSQL catalog holds: names of tables, and DDL, which PostgreSQL does not keep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

from bothends.engines.names import TableName

__all__ = ["catalog", "ddl", "names", "sample"]

_DEFAULT_SCHEMA: Final = "public"
# The partitions of a table are part of it.
_READABLE: Final = """
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%%'
      AND has_schema_privilege(n.oid, 'USAGE')
      AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
"""
_NAMES: Final = f"SELECT n.nspname, c.relname {_READABLE}"
_RELATIONS: Final = f"""
    SELECT c.oid, n.nspname, quote_ident(n.nspname), quote_ident(c.relname), c.relkind::text,
           CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END,
           obj_description(c.oid, 'pg_class')
    {_READABLE}
"""
_ONE: Final = " AND n.nspname = %s AND c.relname = %s"
_COLUMNS: Final = """
    SELECT a.attrelid, quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), a.attnotnull,
           col_description(a.attrelid, a.attnum),
           (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
            FROM pg_enum e WHERE e.enumtypid = a.atttypid)
    FROM pg_attribute a
    WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
      AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum
"""
# Keys first, then what else is declared; NOT NULL, also a constraint since PostgreSQL 18, stands
# at its column.
_CONSTRAINTS: Final = """
    SELECT conrelid, pg_get_constraintdef(oid)
    FROM pg_constraint
    WHERE conrelid = ANY(%s) AND contype IN ('p', 'u', 'f', 'c')
    ORDER BY conrelid, position(contype::text IN 'pufc'), conname
"""
_VIEWS: Final = """
    SELECT oid, pg_get_viewdef(oid, true)
    FROM pg_class WHERE oid = ANY(%s) AND relkind IN ('v', 'm')
"""
_KIND: Final = {"v": "VIEW", "m": "MATERIALIZED VIEW", "f": "FOREIGN TABLE"}


class _Relation(NamedTuple):
    """A table or view, with what `pg_class` knows of it; its names are quoted where they must."""

    oid: int
    schema: str
    quoted_schema: str
    quoted_name: str
    kind: str
    partitioned_by: str | None
    comment: str | None

    @property
    def written(self) -> str:
        """What it is called in SQL."""
        bare = self.schema == _DEFAULT_SCHEMA
        return self.quoted_name if bare else f"{self.quoted_schema}.{self.quoted_name}"


def names(connection: psycopg.Connection[Any]) -> list[TableName]:
    """Return the tables and views of which something may be read.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    found = connection.execute(_NAMES, []).fetchall()
    return [TableName(schema, name, schema == _DEFAULT_SCHEMA) for schema, name in found]


def ddl(connection: psycopg.Connection[Any], table: TableName) -> str | None:
    """Build the DDL of a table or view; None where there is none of this name.

    Only columns that may be read are in it. Comments on columns, and the labels of an enum, stand
    behind the column.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    rows = connection.execute(_RELATIONS + _ONE, [table.schema, table.name])
    return next(_ddls(connection, [_Relation(*row) for row in rows]), None)


def catalog(connection: psycopg.Connection[Any]) -> list[str]:
    """Build the DDL of every table and view, in four questions however many there are.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    relations = [_Relation(*row) for row in connection.execute(_RELATIONS, [])]
    return list(_ddls(connection, sorted(relations, key=lambda each: each.written)))


def sample(connection: psycopg.Connection[Any], table: TableName, rows: int) -> str:
    """Return the query for the first rows of a table, in the columns that may be read.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    identifier = sql.Identifier(table.schema, table.name).as_string()
    found = connection.execute(
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped "
        "AND has_column_privilege(attrelid, attnum, 'SELECT')",
        [identifier],
    ).fetchone()
    return f"SELECT {(found and found[0]) or '*'} FROM {identifier} LIMIT {int(rows)}"  # noqa: S608


def _ddls(connection: psycopg.Connection[Any], relations: Sequence[_Relation]) -> Iterator[str]:
    columns: dict[int, list[tuple[str, str]]] = defaultdict(list)
    constraints: dict[int, list[tuple[str, str]]] = defaultdict(list)
    oids = [relation.oid for relation in relations]
    for oid, column, declared, required, comment, labels in connection.execute(_COLUMNS, [oids]):
        text = f"{column} {declared}{' NOT NULL' if required else ''}"
        columns[oid].append((text, _notes(comment, labels)))
    for oid, text in connection.execute(_CONSTRAINTS, [oids]):
        constraints[oid].append((text, ""))
    views = dict(connection.execute(_VIEWS, [oids]).fetchall())
    for relation in relations:
        lines = columns[relation.oid] + constraints[relation.oid]
        yield _written(relation, lines, views.get(relation.oid))


def _written(relation: _Relation, lines: list[tuple[str, str]], view: str | None) -> str:
    kind = _KIND.get(relation.kind, "TABLE")
    body = "\n".join(
        f"  {text}{',' if number < len(lines) else ''}{note}"
        for number, (text, note) in enumerate(lines, start=1)
    )
    tail = f" PARTITION BY {relation.partitioned_by}" if relation.partitioned_by else ""
    if view is not None:
        tail = f" AS\n{view.rstrip('; ')}"
    note = _notes(relation.comment, None)
    return f"CREATE {kind} {relation.written} ({note}\n{body}\n){tail}"


def _notes(comment: str | None, labels: str | None) -> str:
    notes = [" ".join(comment.split())] if comment else []
    notes += [f"one of {labels}"] if labels else []
    return f" -- {'; '.join(notes)}" if notes else ""
