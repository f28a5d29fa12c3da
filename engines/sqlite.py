"""SQLite: a data set loaded from Parquet, or a file of the user's, open for reading alone."""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from bothends.engines.base import Capability, Engine, Fingerprint, Limits, Outcome
from bothends.engines.guard_rules import HARMLESS_PRAGMAS
from bothends.engines.kept import Kept
from bothends.engines.names import TableNames, quoted
from bothends.engines.shorten import shorten
from bothends.engines.sqlite_catalog import ddl, definitions, names
from bothends.engines.sqlite_digest import digest
from bothends.engines.time_limit import Stopper
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError, UsageError

__all__ = ["SqliteEngine"]

_FETCH_ROWS: Final = 100
_FETCH_BYTES: Final = 2**25
# An interrupt is only seen between SQLite's instructions, and one can make a value as long as this
# allows: by default a gigabyte. Longer values in a file cannot be read.
_LONGEST_BYTES: Final = 2**26
_EXPLAIN_TIMEOUT_S: Final = 30.0
_NOT_UTF8: Final = "Could not decode to UTF-8"
_TYPE_NAMES: Final = {int: "integer", float: "real", str: "text", bytes: "blob"}
_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


class SqliteEngine(Engine):
    """SQLite over one file.

    It may be opened in one thread and used in another, by one at a time. Text that is not UTF-8
    is read with replacement characters.
    """

    name = "sqlite"
    dialect = "sqlite"
    title = "SQLite"
    lacks = MappingProxyType(
        {
            Capability.decimals: "they are floating-point numbers",
            Capability.dates: "they are text, as ISO 8601 writes them",
            Capability.booleans: "they are the integers 0 and 1",
            Capability.schemas: "a file is one schema",
            Capability.comments: "there are none but those within the text of the DDL",
            Capability.facts: "they are null, and so are prices by the bytes that a query scans",
            Capability.large_results: "such results are counted and not judged: raise --max-rows",
            Capability.estimates: "nothing is refused before it runs; set a time limit",
        }
    )

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
        self._stopper = Stopper()
        self._decoding: Callable[[bytes], str] = str
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.text_factory = _decode
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_BYTES)
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
        self._names = TableNames(self.dialect, lambda: names(self._connection))

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
        return tuple(self._names.all())

    def ddl(self, table: str) -> str:
        """Return a table's DDL as the file holds it; a view's with its columns."""
        text = ddl(self._connection, self._names.find(table).name)
        if text is None:  # dropped since
            self._names.all()
            raise self._names.unknown(table)
        return text

    def sample(self, table: str, rows: int) -> Outcome:
        """Return the first rows of a table."""
        name = quoted(self._names.find(table).name, self.dialect)
        return self._execute(f"SELECT * FROM {name} LIMIT {int(rows)}", Limits())  # noqa: S608

    def fingerprint(self) -> Fingerprint:
        """Return the library's version and the catalog's digest."""
        catalog = repr(sorted(definitions(self._connection).items())).encode()
        return Fingerprint(
            engine=self.name,
            version=sqlite3.sqlite_version,
            catalog_digest=hashlib.sha256(catalog).hexdigest()[:16],
            data=self._data,
            scale_factor=self._scale_factor,
        )

    def cancel(self) -> None:
        """Interrupt the query."""
        self._stopper.cancel()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        start = time.perf_counter()
        # A thread that interrupts, not SQLite's progress handler: a handler takes Python's lock
        # in the middle of a query, and waits there for whatever else this process does.
        with self._stopper.watch(self._connection.interrupt, limits.timeout_s) as run:
            try:
                try:
                    columns, kept = self._fetch(sql, limits)
                except sqlite3.OperationalError as error:
                    if _NOT_UTF8 not in str(error):
                        raise
                    # The driver's own decoding is the quicker by a fifth, and right for most files.
                    self._decoding = _decode
                    start = time.perf_counter()
                    columns, kept = self._fetch(sql, limits)
            except (sqlite3.Error, sqlite3.Warning) as error:
                seconds = time.perf_counter() - start
                failed = Outcome(status="failed", seconds=seconds, error=shorten(str(error)))
                return run.outcome(seconds) or failed
        return Outcome(
            status="ok",
            columns=columns,
            types=_types(kept.rows, len(columns)),
            rows=tuple(kept.rows),
            row_count=kept.count,
            truncated=kept.count > len(kept.rows),
            cells_cut=kept.cells_cut,
            seconds=time.perf_counter() - start,
        )

    def _fetch(self, sql: str, limits: Limits) -> tuple[tuple[str, ...], Kept]:
        """Run a query and fetch all its rows, fewer at a time where they are long."""
        kept = Kept(limits)
        size = 1 if kept.room_rows else _FETCH_ROWS
        self._connection.text_factory = self._decoding
        try:
            with contextlib.closing(self._connection.execute(sql)) as cursor:
                while batch := cursor.fetchmany(size):
                    if not kept.room_rows:
                        kept.skip(len(batch))
                        continue
                    # It knows all that SQLite returns, and nothing looks at each cell quicker.
                    batch_bytes = len(marshal.dumps(batch))
                    kept.add(batch, batch_bytes)
                    size = max(1, min(_FETCH_ROWS, _FETCH_BYTES * len(batch) // batch_bytes))
                return tuple(column[0] for column in cursor.description or ()), kept
        finally:
            self._connection.text_factory = _decode

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
        del result
        return digest(self._connection, sql, self._stopper, limits.timeout_s)


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
