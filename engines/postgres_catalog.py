"""What a PostgreSQL catalog holds: names of tables, and DDL, which PostgreSQL does not keep."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

__all__ = ["Relation", "ddl", "relations"]

_RELATIONS: Final = """
    SELECT c.oid, n.nspname, c.relname, c.relkind::text,
           CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END,
           obj_description(c.oid, 'pg_class')
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
      AND has_schema_privilege(n.oid, 'USAGE')
      AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
"""
_COLUMNS: Final = """
    SELECT quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), a.attnotnull,
           col_description(a.attrelid, a.attnum),
           (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
            FROM pg_enum e WHERE e.enumtypid = a.atttypid)
    FROM pg_attribute a
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
# Keys first, then what else is declared; NOT NULL, also a constraint since PostgreSQL 18, stands
# at its column.
_CONSTRAINTS: Final = """
    SELECT pg_get_constraintdef(oid)
    FROM pg_constraint
    WHERE conrelid = %s AND contype IN ('p', 'u', 'f', 'c')
    ORDER BY position(contype::text IN 'pufc'), conname
"""
_KIND: Final = {"v": "VIEW", "m": "MATERIALIZED VIEW", "f": "FOREIGN TABLE"}


class Relation(NamedTuple):
    """A table or view of the catalog.

    Attributes:
        oid: PostgreSQL's number of it.
        schema: The schema that it lies in.
        name: Its name in that schema.
        kind: `pg_class.relkind`: r, p, v, m or f.
        partitioned_by: How a partitioned table is partitioned.
        comment: The comment on it.
    """

    oid: int
    schema: str
    name: str
    kind: str
    partitioned_by: str | None
    comment: str | None

    @property
    def shown(self) -> str:
        """What it is called in lists: with its schema, unless that is `public`."""
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"

    @property
    def identifier(self) -> sql.Identifier:
        """What it is called in SQL of ours."""
        return sql.Identifier(self.schema, self.name)


def relations(connection: psycopg.Connection[Any]) -> list[Relation]:
    """Return the tables and views that may be read, sorted by what they are called.

    The partitions of a table are part of it.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    found = (Relation(*row) for row in connection.execute(_RELATIONS))
    return sorted(found, key=lambda relation: relation.shown)


def ddl(connection: psycopg.Connection[Any], relation: Relation) -> str:
    """Build the DDL of a table or view.

    Comments on columns, and the labels of an enum, stand behind the column.

    Raises:
        psycopg.Error: If the catalog cannot be read.
    """
    name = _quoted(connection, relation)
    kind = _KIND.get(relation.kind, "TABLE")
    if relation.kind in {"v", "m"}:
        row = connection.execute("SELECT pg_get_viewdef(%s, true)", [relation.oid]).fetchone()
        return f"CREATE {kind} {name} AS\n{row[0] if row else ''}".rstrip(" ;\n")
    columns = connection.execute(_COLUMNS, [relation.oid]).fetchall()
    lines = [
        (f"{column} {declared}{' NOT NULL' if required else ''}", _notes(comment, labels))
        for column, declared, required, comment, labels in columns
    ]
    lines += [(text, "") for (text,) in connection.execute(_CONSTRAINTS, [relation.oid])]
    body = "\n".join(
        f"  {text}{',' if number < len(lines) else ''}{note}"
        for number, (text, note) in enumerate(lines, start=1)
    )
    tail = f" PARTITION BY {relation.partitioned_by}" if relation.partitioned_by else ""
    return f"CREATE {kind} {name} ({_notes(relation.comment, None)}\n{body}\n){tail}"


def _quoted(connection: psycopg.Connection[Any], relation: Relation) -> str:
    """Quote a name only where PostgreSQL needs it, so that the DDL stays easy on the eye."""
    row = connection.execute(
        "SELECT quote_ident(%s), quote_ident(%s)", [relation.schema, relation.name]
    ).fetchone()
    schema, name = row or ("", "")
    return str(name if relation.schema == "public" else f"{schema}.{name}")


def _notes(comment: str | None, labels: str | None) -> str:
    notes = [" ".join(comment.split())] if comment else []
    notes += [f"one of {labels}"] if labels else []
    return f" -- {'; '.join(notes)}" if notes else ""
