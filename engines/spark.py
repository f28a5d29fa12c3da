"""Spark over a data set's Parquet files, through a Spark Connect server of our own."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from bothends.engines.base import Engine, Fingerprint, Limits, Outcome
from bothends.engines.java import find_java
from bothends.engines.lexemes import without_semicolon
from bothends.engines.spark_catalog import SparkCatalog, create_table, quoted
from bothends.engines.spark_conf import SparkConf
from bothends.engines.spark_digest import digest_query, digest_text
from bothends.engines.spark_query import fetch, plan, require_query, shortened
from bothends.engines.spark_server import SparkServer
from bothends.engines.time_limit import Stopper
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError, MissingExtraError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkEngine"]

_EXPLAIN_TIMEOUT_S: Final = 60.0
# Reads, groups, joins and sorts: the parts of Spark that most queries need.
_WARM_UP: Final = (
    "SELECT a.n, COUNT(*) AS m FROM (SELECT COUNT(*) AS n FROM {table}) AS a "
    "JOIN (SELECT COUNT(*) AS n FROM {table}) AS b ON a.n = b.n GROUP BY a.n ORDER BY m"
)


class _Link(NamedTuple):
    """A running server and our session on it."""

    server: SparkServer
    session: Any


class SparkEngine(Engine):
    """Spark SQL on this machine.

    A query that passes its time limit is ended by ending the server, not by Spark's own
    interrupt: Spark reports a query cancelled while its generated code runs on, which would slow
    every query after it. The next query starts a fresh server first, outside its own seconds; so
    does a query after the server died.
    """

    name: ClassVar[str] = "spark"
    dialect: ClassVar[str] = "spark"
    title: ClassVar[str] = "Spark SQL"

    def __init__(self, dataset: Dataset, cores: int | None = None) -> None:
        """Start a server and register the data set's tables.

        Args:
            dataset: The data; its files are read in place.
            cores: Cores that Spark may use; None for all that this process may.

        Raises:
            MissingExtraError: If pyspark or what its client needs is not installed.
            EngineError: If there is no Java for it or the server does not start.
        """
        try:
            import pyspark.sql.connect.session  # noqa: F401
            from pyspark.logger import PySparkLogger
        except ImportError as error:
            raise MissingExtraError("pyspark with its Connect client", "spark") from error
        # The client writes each error of a query to stderr, stack and all; an outcome holds it.
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
        self._dataset = dataset
        self._java = find_java()
        self._conf = SparkConf.for_dataset(dataset, cores)
        self._catalog = SparkCatalog(self._ask)
        self._link: _Link | None = None
        self._stopper = Stopper()
        self._closed = False
        self._fingerprint: Fingerprint | None = None
        self.prepare()

    @classmethod
    def open(cls, address: str | None, dataset: Dataset | None, cores: int | None) -> Self:
        """Open Spark over a data set.

        Raises:
            UsageError: If there is an address or no dataset.
            MissingExtraError: If pyspark or what its client needs is not installed.
            EngineError: If there is no Java for it or the server does not start.
        """
        if address is not None:
            raise UsageError(f"engine 'spark' runs on this machine and takes no '://{address}'")
        if dataset is None:
            raise UsageError("engine 'spark' needs data: give --suite or --data")
        return cls(dataset, cores)

    def prepare(self) -> None:
        """Start a server where there is none, and warm it up.

        A server that was ended by a query's time limit is replaced here, so that its start, and
        the compiling that a fresh JVM does at its first queries, are not charged to the next one.

        Raises:
            EngineError: If the server does not start.
        """
        if self._link is not None and self._link.server.alive:
            return
        session = self._ready().session
        for table in self._dataset.tables:
            fetch(session, _WARM_UP.format(table=quoted(table)), Limits())

    def list_tables(self) -> tuple[str, ...]:
        """Return the names of the tables and views of the current catalog, sorted."""
        return self._catalog.tables()

    def ddl(self, table: str) -> str:
        """Return SHOW CREATE TABLE, without what speaks of this machine."""
        return self._catalog.ddl(table)

    def sample(self, table: str, rows: int) -> Outcome:
        """Return the first rows of a table."""
        sql = f"SELECT * FROM {self._catalog.identifier(table)} LIMIT {int(rows)}"  # noqa: S608
        return self._execute(sql, Limits())

    def fingerprint(self) -> Fingerprint:
        """Return the version, the settings and the catalog's digest."""
        if self._fingerprint is None:
            catalog = self._catalog.described()
            self._fingerprint = Fingerprint(
                engine=self.name,
                version=self._ready().session.version,
                catalog_digest=hashlib.sha256(catalog.encode()).hexdigest()[:16],
                data=f"{self._dataset.name} {self._dataset.digest}".strip(),
                scale_factor=self._dataset.scale_factor,
                settings={**self._conf.described(), "java": str(self._java.version)},
            )
        return self._fingerprint

    def cancel(self) -> None:
        """End the server, and the query with it."""
        self._stopper.cancel()

    def close(self) -> None:
        """End the server."""
        self._closed = True
        self._stop()

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        return self._run(
            lambda session, query: fetch(session, query, limits), sql, limits.timeout_s
        )

    def _explain(self, sql: str) -> Outcome:
        return self._run(plan, sql, _EXPLAIN_TIMEOUT_S)

    def _run(self, act: Callable[[Any, str], Outcome], sql: str, timeout_s: float) -> Outcome:
        """Act on a query within a time limit; what goes wrong in it becomes its outcome."""
        import pyarrow as pa
        from pyspark.errors import PySparkException
        from pyspark.errors.exceptions.connect import SparkConnectGrpcException

        server, session = self._ready()
        query = without_semicolon(sql, self.dialect)
        start = time.perf_counter()
        with self._stopper.watch(server.close, timeout_s) as run:
            try:
                require_query(session, query)
                return act(session, query)
            except (PySparkException, pa.ArrowException, ValueError) as error:
                seconds = time.perf_counter() - start
                message = shortened(error)
                if (stopped := run.outcome(seconds)) is not None:
                    return stopped
                if "stopped SparkContext" in message:  # it is going down, and would linger
                    server.close()
                # A broken connection shows before the process has quite ended.
                if type(error) is SparkConnectGrpcException and server.died(within_s=1.0):
                    message = "the Spark server died during this query (out of memory?)"
                return Outcome(status="failed", seconds=seconds, error=message)

    def _digest(self, sql: str, result: Outcome, limits: Limits) -> str | None:
        query = digest_query(without_semicolon(sql, self.dialect), result.types)
        if query is None:
            return None
        return digest_text(self._execute(query, replace(limits, max_rows=1)), result.types)

    def _ask(self, statement: str) -> pa.Table:
        """Ask the catalog, with a statement of our own."""
        from pyspark.errors import PySparkException

        try:
            return self._ready().session.sql(statement).toArrow()
        except PySparkException as error:
            raise EngineError(f"Spark cannot read its catalog: {shortened(error)}") from error

    def _ready(self) -> _Link:
        """Return the running server and its session, starting them where there are none."""
        from pyspark.sql.connect.session import SparkSession

        if self._closed:
            raise EngineError("this Spark engine is closed; open another")
        if self._link is None or not self._link.server.alive:
            self._stop()
            server = SparkServer(self._java, options=self._conf.java, conf=self._conf.spark)
            session = SparkSession(connection=server.url)
            self._link = _Link(server, session)
            # The server is one process on the loopback: if it does not answer, it is gone, and
            # there is nothing to retry or to attach to again.
            session.client.set_retry_policies([])
            session.client.disable_reattachable_execute()
            self._register(session)
        return self._link

    def _register(self, session: Any) -> None:
        import pyarrow as pa
        from pyspark.errors import PySparkException

        for table, path in self._dataset.tables.items():
            try:
                session.sql(create_table(table, path))
            except (PySparkException, pa.ArrowException, OSError) as error:
                self._stop()
                raise EngineError(
                    f"Spark cannot register table {table!r} at {path}: {shortened(error)}"
                ) from error

    def _stop(self) -> None:
        if self._link is not None:
            self._link.session.client.close()
            self._link.server.close()
            self._link = None
