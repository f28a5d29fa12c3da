"""PostgreSQL: a data set in a server of our own, or a database of the user's, read-only."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar

from bothends.engines.base import Capability, Engine, Fingerprint, Limits, Outcome
from bothends.engines.kept import Kept
from bothends.engines.lexemes import without_semicolon
from bothends.engines.time_limit import Run, Stopper
from bothends.infra.dataset import Dataset
from bothends.infra.errors import (
    BothendsError,
    EngineError,
    MissingExtraError,
    UsageError,
)

try:
    import psycopg
except ImportError as _error:
    raise MissingExtraError("psycopg", "postgres") from _error

from bothends.engines.digest import digest_text
from bothends.engines.estimate import Estimate
from bothends.engines.names import TableNames
from bothends.engines.postgres_catalog import catalog, ddl, names, sample
from bothends.engines.postgres_connect import cancel, connect_to, connect_with
from bothends.engines.postgres_digest import digest_query
from bothends.engines.postgres_estimate import plan_of, postgres_estimate, relations
from bothends.engines.postgres_load import READER, load_postgres
from bothends.engines.postgres_query import EXPLAIN, EXPLAIN_JSON, fetch, shortened
from bothends.engines.postgres_server import PostgresServer

__all__ = ["PostgresEngine"]

T = TypeVar("T")

_EXPLAIN_TIMEOUT_S: Final = 60.0
_CATALOG_TIMEOUT_S: Final = 60.0
# The server's own limit is the second fence, for when our cancel does not get through.
_GRACE_S: Final = 2.0
_MOST_MS: Final = 2**31 - 1
_RECORDED: Final = (
    *("effective_cache_size", "jit", "max_parallel_workers_per_gather", "random_page_cost"),
    *("shared_buffers", "work_mem"),
)
# What a query reads and how its values are written must not depend on the user's configuration.
_FIXED: Final = {
    "search_path": "public",
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "lock_timeout": "10s",
}


class PostgresEngine(Engine):
    """PostgreSQL over one database.

    Each query runs in a READ ONLY transaction of its own that is rolled back. A query whose
    connection breaks has failed, and the next one connects anew.
    """

    name = "postgres"
    dialect = "postgres"
    title = "PostgreSQL"
    lacks = MappingProxyType(
        {
            Capability.facts: "they are null, and so are prices by the bytes that a query scans",
            Capability.large_results: "such results are counted and not judged: raise --max-rows",
        }
    )

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Any]],
        *,
        data: str | None = None,
        scale_factor: float | None = None,
        settings: dict[str, str] | None = None,
        on_close: Callable[[], object] = lambda: None,
    ) -> None:
        """Connect.

        Args:
            connect: Opens a connection, or raises EngineError.
            data: What the fingerprint says about the data; None for server and database.
            scale_factor: The scale factor of the data, or None.
            settings: The server's settings for our queries.
            on_close: What else is to be closed.

        Raises:
            EngineError: If the database cannot be reached.
        """
        self._connect = connect
        self._data = data
        self._scale_factor = scale_factor
        self._settings = {**_FIXED, **(settings or {})}
        self._on_close = on_close
        self._stopper = Stopper()
        self._closed = False
        self._fingerprint: Fingerprint | None = None
        self._names = TableNames(self.dialect, lambda: self._ask(names))
        self._connection: psycopg.Connection[Any] | None = None
        try:
            self._ready()
        except BothendsError:
            self.close()
            raise

    @classmethod
    def open(cls, address: str | None, dataset: Dataset | None, cores: int | None) -> Self:
        """Open a data set in a server of our own, loading it on first use, or a user's database.

        Args:
            address: What follows `postgres://`: `user@host:port/database`, perhaps with a password
                and parameters of libpq. A password may also come from PGPASSWORD or ~/.pgpass.
            dataset: The data where there is no address.
            cores: Cores that one query may use in our own server; None for all.

        Raises:
            UsageError: If the address is not one.
            MissingExtraError: If an optional dependency is not installed.
            EngineError: If the server cannot be started or reached.
            DataError: If the data cannot be loaded.
        """
        if address is not None:
            return cls(lambda: connect_to(address))
        if dataset is None:
            raise UsageError("engine 'postgres' needs data: give --suite or --data")
        return cls._embedded(dataset, cores)

    @classmethod
    def _embedded(cls, dataset: Dataset, cores: int | None) -> Self:
        room = dataset.directory / "postgres"
        servers: list[PostgresServer] = []

        def stop() -> None:
            while servers:
                servers.pop().close()

        def connect() -> psycopg.Connection[Any]:
            if not servers or not servers[0].alive:
                stop()
                servers.append(PostgresServer(room))
            directory = servers[0].socket_directory
            with servers[0].alone():
                database = load_postgres(directory, dataset)
            address = {"host": str(directory), "port": "5432", "user": READER, "dbname": database}
            return connect_with(**address)

        workers = max(0, (cores or os.cpu_count() or 1) - 1)
        return cls(
            connect,
            data=f"{dataset.name} {dataset.digest}".strip(),
            scale_factor=dataset.scale_factor,
            settings={"max_parallel_workers_per_gather": str(workers)},
            on_close=stop,
        )

    def list_tables(self) -> tuple[str, ...]:
        """Return the names of the tables and views, sorted; with a schema other than public."""
        return tuple(self._names.all())

    def ddl(self, table: str) -> str:
        """Return DDL that is built from the catalog: columns, keys, constraints, comments."""
        name = self._names.find(table)
        text = self._ask(lambda connection: ddl(connection, name))
        if text is None:  # dropped since
            self._names.all()
            raise self._names.unknown(table)
        return text

    def sample(self, table: str, rows: int) -> Outcome:
        """Return the first rows of a table."""
        name = self._names.find(table)
        query = self._ask(lambda connection: sample(connection, name, rows))
        return self._execute(query, Limits())

    def fingerprint(self) -> Fingerprint:
        """Return the server's version and settings, and the catalog's digest."""
        if self._fingerprint is None:
            info = self._ready().info
            whole = repr(self._ask(catalog))
            self._fingerprint = Fingerprint(
                engine=self.name,
                version=info.parameter_status("server_version") or "unknown",
                catalog_digest=hashlib.sha256(whole.encode()).hexdigest()[:16],
                data=self._data or f"{info.host}:{info.port}/{info.dbname}",
                scale_factor=self._scale_factor,
                settings=self._ask(_settings),
            )
        return self._fingerprint

    def cancel(self) -> None:
        """Ask the server to stop the query."""
        self._stopper.cancel()

    def close(self) -> None:
        """Close the connection, and our own server if nobody else uses it."""
        self._closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._on_close()

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        connection = self._ready()
        kept = Kept(limits)
        run: Run | None = None
        start = time.perf_counter()
        try:
            with self._reading(connection, limits.timeout_s):
                start = time.perf_counter()
                # Only here: a stop must not reach the rollback.
                with self._stopper.watch(lambda: cancel(connection), limits.timeout_s) as run:
                    columns = fetch(connection, sql, kept)
                    seconds = time.perf_counter() - start
        except (psycopg.Error, ValueError, OverflowError) as error:
            seconds = time.perf_counter() - start
            message = shortened(error, sql)
            if connection.closed and isinstance(error, psycopg.OperationalError):
                message = "the connection to PostgreSQL was lost during this query"
            failed = Outcome(status="failed", seconds=seconds, error=message)
            return (run and run.outcome(seconds)) or failed
        return Outcome(
            status="ok",
            columns=columns.names,
            types=columns.types,
            rows=tuple(kept.rows),
            row_count=kept.count,
            truncated=kept.count > len(kept.rows),
            cells_cut=kept.cells_cut,
            seconds=seconds,
        )

    def _explain(self, sql: str) -> Outcome:
        plan = self._execute(EXPLAIN + sql, Limits(_EXPLAIN_TIMEOUT_S))
        if plan.status != "ok":
            return plan
        text = "\n".join(row[0] for row in plan.rows)
        return Outcome("ok", ("plan",), ("text",), ((text,),), 1, seconds=plan.seconds)

    def _estimate(self, sql: str) -> Estimate:
        start = time.perf_counter()
        answer = self._execute(EXPLAIN_JSON + sql, Limits(_EXPLAIN_TIMEOUT_S))
        if answer.status != "ok":
            return Estimate(error=answer.error, seconds=answer.seconds)
        if not answer.whole:  # a plan of a megabyte
            return Estimate(seconds=answer.seconds)
        plan = plan_of(answer.rows[0][0])
        estimate = postgres_estimate(plan, self._ask(lambda asked: relations(asked, plan)))
        return replace(estimate, seconds=time.perf_counter() - start)

    def _digest(self, sql: str, result: Outcome, limits: Limits) -> str | None:
        query = digest_query(without_semicolon(sql, self.dialect), len(result.columns))
        answer = self._execute(query, replace(limits, max_rows=1))
        return digest_text(self.name, answer, result.types)

    @contextlib.contextmanager
    def _reading(
        self, connection: psycopg.Connection[Any], timeout_s: float
    ) -> Iterator[psycopg.Connection[Any]]:
        """A READ ONLY transaction with our settings, rolled back."""
        limit_ms = str(min(_MOST_MS, round((timeout_s + _GRACE_S) * 1000)))
        settings = {**self._settings, "statement_timeout": limit_ms}
        calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
        values = [part for item in settings.items() for part in item]
        with connection.transaction(force_rollback=True):
            connection.execute(f"SELECT {calls}", values)
            yield connection

    def _ask(self, question: Callable[[psycopg.Connection[Any]], T], again: bool = True) -> T:
        """Ask the catalog; once more if only now the connection turns out to be broken."""
        connection = self._ready()
        try:
            with self._reading(connection, _CATALOG_TIMEOUT_S):
                return question(connection)
        except psycopg.Error as error:
            if connection.closed and again:
                return self._ask(question, again=False)
            raise EngineError(f"PostgreSQL cannot read its catalog: {shortened(error)}") from error

    def _ready(self) -> psycopg.Connection[Any]:
        """Return the connection, opening it where there is none."""
        if self._closed:
            raise EngineError("this PostgreSQL engine is closed; open another")
        if self._connection is None or self._connection.closed:
            self._connection = None
            self._connection = self._connect()
        return self._connection


def _settings(connection: psycopg.Connection[Any]) -> dict[str, str]:
    wanted = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)"
    settings = dict(connection.execute(wanted, [list(_RECORDED)]).fetchall())
    collation = connection.execute(
        "SELECT datcollate FROM pg_database WHERE datname = current_database()"
    ).fetchone()
    return {**settings, "lc_collate": str(collation[0]) if collation else ""}
