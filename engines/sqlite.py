"""SQLite: a data set loaded from Parquet, or a file of the user's, open for reading alone."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from bothends.engines.base import Engine, Fingerprint, Limits, Outcome
from bothends.engines.guard_rules import HARMLESS_PRAGMAS
from bothends.engines.time_limit import time_limit
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError, UnknownTableError, UsageError

__all__ = ["SqliteEngine"]

_FETCH_ROWS: Final = 1_000
_ERROR_CHARACTERS: Final = 800
_EXPLAIN_TIMEOUT_S: Final = 30.0
_TYPE_NAMES: Final = {int: "integer", float: "real", str: "text", bytes: "blob"}
_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


class SqliteEngine(Engine):
    """SQLite over one file.

    It may be opened in one thread and used in another, by one at a time. Text that is not UTF-8
    is read with replacement characters.
    """

    name: ClassVar[str] = "sqlite"
    dialect: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "SQLite"

    def __init__(self, path: Path, data: str, scale_factor: float | None = None) -> None:
        """Open a file read-only.

        Args:
            path: The database file.
            data: What the fingerprint says about it.
            scale_factor: The scale factor of the data, or None.

        Raises:
            EngineError: If it is missing or not a SQLite database.
        """
        self._data = data
        self._scale_factor = scale_factor
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.text_factory = _decode
            self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise EngineError(
                f"cannot open {path} as a SQLite database: {error}. Check the path (three slashes "
                "before a relative one, four before an absolute one) and the file"
            ) from error
        _prepare_table_functions(self._connection)
        # Extension loading is off unless enabled; the file is read-only; this closes ATTACH,
        # PRAGMA and temporary tables as well, but for the pragmas that describe the schema.
        self._connection.set_authorizer(_authorize)

    @classmethod
    def open(cls, address: str | None, dataset: Dataset | None, cores: int | None) -> Self:
        """Open a data set's own SQLite file, or one loaded on first use, or that at an address.

        Args:
            address: What follows `sqlite://`: a slash and the file's path.
            dataset: The data where there is no address.
            cores: Ignored: SQLite uses one.

        Raises:
            UsageError: If the address is not a slash and a path.
            EngineError: If the file cannot be opened.
            DataError: If the data cannot be loaded.
        """
        del cores
        if address is not None:
            if len(address) < 2 or not address.startswith("/"):
                raise UsageError(f"'sqlite://{address}' names no file: write sqlite:///path/to.db")
            path = Path(address[1:]).expanduser()
            size = path.stat().st_size if path.is_file() else 0
            return cls(path, f"{path} ({size} bytes)")
        if dataset is None:
            raise UsageError("engine 'sqlite' needs data: give --suite or --data")
        from bothends.engines.sqlite_load import load_sqlite

        data = f"{dataset.name} {dataset.digest}".strip()
        return cls(dataset.sqlite or load_sqlite(dataset), data, dataset.scale_factor)

    def list_tables(self) -> tuple[str, ...]:
        """Return the names of the tables and views, sorted."""
        return tuple(sorted(self._definitions()))

    def ddl(self, table: str) -> str:
        """Return a table's DDL as the file holds it."""
        return self._definitions()[self._known(table)]

    def sample(self, table: str, rows: int) -> Outcome:
        """Return the first rows of a table."""
        quoted = self._known(table).replace('"', '""')
        return self._execute(f'SELECT * FROM "{quoted}" LIMIT {int(rows)}', Limits())  # noqa: S608

    def fingerprint(self) -> Fingerprint:
        """Return the library's version and the catalog's digest."""
        catalog = repr(sorted(self._definitions().items())).encode()
        return Fingerprint(
            engine=self.name,
            version=sqlite3.sqlite_version,
            catalog_digest=hashlib.sha256(catalog).hexdigest()[:16],
            data=self._data,
            scale_factor=self._scale_factor,
        )

    def cancel(self) -> None:
        """Interrupt the query."""
        self._connection.interrupt()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _definitions(self) -> dict[str, str]:
        rows = self._connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        return {name: sql or "" for name, sql in rows}

    def _known(self, table: str) -> str:
        """Return a table's name as the catalog spells it; SQLite's names ignore case."""
        names = self.list_tables()
        for name in names:
            if name.lower() == table.lower():
                return name
        raise UnknownTableError(table, names)

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        start = time.perf_counter()
        # A thread that interrupts, not SQLite's progress handler: a handler takes Python's lock
        # in the middle of a query, and waits there for whatever else this process does.
        rows: list[tuple[Any, ...]] = []
        count = 0
        with time_limit(self._connection.interrupt, limits.timeout_s) as expired:
            try:
                with contextlib.closing(self._connection.execute(sql)) as cursor:
                    columns = tuple(column[0] for column in cursor.description or ())
                    while batch := cursor.fetchmany(_FETCH_ROWS):
                        count += len(batch)
                        rows += batch[: max(0, limits.max_rows - len(rows))]
            except (sqlite3.Error, sqlite3.Warning) as error:
                seconds = time.perf_counter() - start
                if expired.is_set():
                    message = f"stopped after the time limit of {limits.timeout_s:g} s"
                    return Outcome(status="timeout", seconds=seconds, error=message)
                message = str(error)[:_ERROR_CHARACTERS]
                return Outcome(status="failed", seconds=seconds, error=message)
        return Outcome(
            status="ok",
            columns=columns,
            types=_types(rows, len(columns)),
            rows=tuple(rows),
            row_count=count,
            truncated=count > len(rows),
            seconds=time.perf_counter() - start,
        )

    def _explain(self, sql: str) -> Outcome:
        plan = self._execute(f"EXPLAIN QUERY PLAN {sql}", Limits(_EXPLAIN_TIMEOUT_S))
        if plan.status != "ok":
            return plan
        return Outcome(
            status="ok",
            columns=("plan",),
            types=("text",),
            rows=((_render(plan.rows),),),
            row_count=1,
            seconds=plan.seconds,
        )

    def _digest(self, sql: str, result: Outcome, limits: Limits) -> str | None:
        del sql, result, limits
        return None


def _prepare_table_functions(connection: sqlite3.Connection) -> None:
    """Use each function that returns a table once: at its first use SQLite declares that table.

    The authorizer would take the declaration for a CREATE TABLE.
    """
    pragmas = [f"pragma_{name}('')" for name in sorted(HARMLESS_PRAGMAS)]
    for call in ["json_each('[]')", "json_tree('[]')", *pragmas]:
        with contextlib.suppress(sqlite3.Error):  # an older SQLite lacks some
            connection.execute(f"SELECT 1 FROM {call}").fetchall()  # noqa: S608


def _authorize(action: int, argument: str | None, function: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_PRAGMA and argument in HARMLESS_PRAGMAS:
        return sqlite3.SQLITE_OK
    if action in _ALLOWED and function != "load_extension":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _types(rows: list[tuple[Any, ...]], columns: int) -> tuple[str, ...]:
    """Name each column's type after its first value: SQLite types values, not result columns."""
    names = []
    for position in range(columns):
        value = next((row[position] for row in rows if row[position] is not None), None)
        names.append(_TYPE_NAMES.get(type(value), "null"))
    return tuple(names)


def _render(rows: tuple[tuple[Any, ...], ...]) -> str:
    """Indent the plan's nodes: each row is (id, parent, unused, text)."""
    depth = {0: -1}
    lines = []
    for node, parent, _, text in rows:
        depth[node] = depth[parent] + 1
        lines.append("  " * depth[node] + text)
    return "\n".join(lines)
