"""The keys of a SQLite database that its data obeys; SQLite itself enforces few of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from bothends.infra.imported import ImportedKey, Misfit
from bothends.infra.sqlite_columns import ColumnKind, SqliteColumn, quoted

__all__ = ["Keys"]


class Keys:
    """Reads declared keys and holds them against the data.

    Args:
        connection: The database.
        kinds: What each column of each table has become.

    Attributes:
        broken: The declared keys that could not be kept.
    """

    def __init__(
        self, connection: sqlite3.Connection, kinds: Mapping[str, Mapping[str, ColumnKind]]
    ) -> None:
        self._connection = connection
        self._kinds = kinds
        self._primary: dict[str, tuple[str, ...]] = {}
        self.broken: list[Misfit] = []

    def primary(self, table: str, columns: Sequence[SqliteColumn]) -> tuple[str, ...]:
        """Return the columns of a table's primary key; none where it has none that holds."""
        key = tuple(
            column.name for column in sorted(columns, key=lambda column: column.key) if column.key
        )
        if key:
            nulls = " OR ".join(f"{quoted(name)} IS NULL" for name in key)
            missing = self._count(f"{quoted(table)} WHERE {nulls}")
            # A key that is unique as SQLite stores it may not be so as text.
            alike = self._count(
                f"(SELECT 1 FROM {quoted(table)} GROUP BY {self._texts(table, key)} "  # noqa: S608
                "HAVING count(*) > 1)"
            )
            if missing or alike:
                self._broken(table, key, "primary key", missing or alike)
                key = ()
        self._primary[table] = key
        return key

    def foreign(self, table: str) -> tuple[ImportedKey, ...]:
        """Return a table's foreign keys that hold; each refers to a primary key."""
        declared: dict[int, tuple[str, list[tuple[str, str | None]]]] = {}
        for number, parent, column, to in self._connection.execute(
            'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq',
            [table],
        ):
            declared.setdefault(number, (parent, []))[1].append((column, to))
        kept: dict[ImportedKey, None] = {}
        for parent, pairs in declared.values():
            key = self._held(table, parent, pairs)
            if key is not None:
                kept[key] = None
        return tuple(kept)

    def _held(
        self, table: str, parent: str, pairs: Sequence[tuple[str, str | None]]
    ) -> ImportedKey | None:
        written = tuple(column for column, _ in pairs)
        shown = f"foreign key to {parent}"
        known = next((name for name in self._kinds if name.lower() == parent.lower()), None)
        if known is None:
            self._broken(table, written, shown, 0, f"left out: no table {parent!r}")
            return None
        primary = self._primary_of(known)
        targets = [
            (to or primary[index] if index < len(primary) else to or "").lower()
            for index, (_, to) in enumerate(pairs)
        ]
        if sorted(targets) != sorted(name.lower() for name in primary):
            self._broken(table, written, shown, 0, "left out: it is not to a primary key")
            return None
        by_target = {
            target: self._spelt(table, column)
            for target, column in zip(targets, written, strict=True)
        }
        columns = tuple(by_target[name.lower()] for name in primary)
        if any(
            self._kinds[table].get(ours) != self._kinds[known][theirs]
            for ours, theirs in zip(columns, primary, strict=True)
        ):
            self._broken(table, columns, shown, 0, "left out: its columns differ in type")
            return None
        present = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in columns)
        orphans = (
            f"{quoted(table)} WHERE {present} AND ({self._texts(table, columns)}) NOT IN "  # noqa: S608
            f"(SELECT {self._texts(known, primary)} FROM {quoted(known)})"
        )
        lost = self._count(orphans)
        if lost:
            quotes = " || ', ' || ".join(f"quote({quoted(name)})" for name in columns)
            examples = self._connection.execute(
                f"SELECT DISTINCT substr({quotes}, 1, 60) FROM {orphans} LIMIT 3"  # noqa: S608
            )
            self._broken(table, columns, shown, lost, examples=[text for (text,) in examples])
            return None
        return ImportedKey(columns=columns, references=known)

    def _primary_of(self, table: str) -> tuple[str, ...]:
        if table not in self._primary:
            columns = [
                SqliteColumn(name, "", False, place)
                for name, place in self._connection.execute(
                    "SELECT name, pk FROM pragma_table_info(?)", [table]
                )
            ]
            before = list(self.broken)
            self.primary(table, columns)
            self.broken = before  # It is reported when its own turn comes.
        return self._primary[table]

    def _spelt(self, table: str, column: str) -> str:
        names = self._kinds[table]
        return next((name for name in names if name.lower() == column.lower()), column)

    def _texts(self, table: str, columns: Sequence[str]) -> str:
        """Return columns as they are compared elsewhere: byte by byte, and mixed ones as text."""
        kinds = self._kinds[table]
        return ", ".join(
            f"CAST({quoted(name)} AS TEXT) COLLATE BINARY"
            if kinds.get(name) == "text"
            else quoted(name)
            for name in columns
        )

    def _count(self, source: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0])  # noqa: S608

    def _broken(
        self,
        table: str,
        columns: Sequence[str],
        declared: str,
        count: int,
        became: str = "left out: the data does not obey it",
        examples: Sequence[str] = (),
    ) -> None:
        """Report a key that is left out."""
        self.broken.append(
            Misfit(
                table=table,
                column=", ".join(columns),
                declared=declared,
                became=became,
                count=count,
                examples=tuple(examples),
            )
        )
