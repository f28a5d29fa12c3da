"""Spark: on this machine, on a standalone cluster, or behind any Spark Connect server."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from bothends.engines.base import Capability, Engine, Fingerprint, Limits, Outcome
from bothends.engines.digest import digest_text
from bothends.engines.estimate import Estimate
from bothends.engines.java import find_java
from bothends.engines.lexemes import without_semicolon
from bothends.engines.spark_catalog import SparkCatalog
from bothends.engines.spark_conf import SparkConf
from bothends.engines.spark_digest import digest_query
from bothends.engines.spark_estimate import spark_estimate
from bothends.engines.spark_facts import VECTORED, SparkExecution, SparkUI
from bothends.engines.spark_link import SparkLink
from bothends.engines.spark_own import OwnServer
from bothends.engines.spark_query import shortened
from bothends.engines.spark_remote import RemoteAddress, RemoteServer
from bothends.engines.spark_views import ViewCatalog
from bothends.engines.time_limit import Stopper
from bothends.infra.dataset import Dataset
from bothends.infra.errors import BothendsError, EngineError, MissingExtraError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkEngine"]

_EXPLAIN_S: Final = 60.0


class SparkEngine(Engine):
    """Spark SQL through Spark Connect.

    The server is linked to by `SparkLink`: it is one of our own, on this machine or as the driver
    of a standalone cluster, or somebody else's. A server or session that is lost, or that was
    ended to stop a query, is replaced before the next query, outside its seconds.
    """

    name = "spark"
    dialect = "spark"
    title = "Spark SQL"

    def __init__(self, connect: Callable[[], SparkLink]) -> None:
        """Connect.

        Args:
            connect: Opens a link to a server, or raises EngineError.

        Raises:
            EngineError: If the server cannot be started or reached, or has not the data.
        """
        _quiet()
        self._connect = connect
        self._catalog = SparkCatalog(self._ask)
        self._link: SparkLink | None = None
        self._stopper = Stopper()
        self._stopped = False
        self._closed = False
        self._fingerprint: Fingerprint | None = None
        try:
            self.prepare()
        except BothendsError:
            self.close()
            raise

    @classmethod
    def open(cls, address: str | None, dataset: Dataset | None, cores: int | None) -> Self:
        """Open Spark over a data set's files, which are read in place.

        Args:
            address: What follows `spark://`: host and port of a standalone cluster's master; None
                for Spark on this machine.
            dataset: The data. All machines of a cluster must find it at the same path.
            cores: Cores that Spark may use; None for all that this process may, or for what the
                cluster gives.

        Raises:
            UsageError: If there is no dataset, or the address is not one.
            MissingExtraError: If pyspark or what its client needs is not installed.
            EngineError: If there is no Java, or Spark cannot be started or reached.
        """
        if dataset is None:
            raise UsageError("engine 'spark' needs data: give --suite or --data")
        _require_pyspark()
        conf = SparkConf.for_dataset(dataset, cores, address)
        java = find_java()
        return cls(lambda: OwnServer(java, conf, dataset))

    @classmethod
    def connect(cls, address: str | None, dataset: Dataset | None, cores: int | None) -> Self:
        """Open a session on a Spark Connect server that somebody else runs.

        Args:
            address: What follows `sc://`: `host:port`, perhaps with `/;` and parameters of Spark's
                client, and with `schema=NAME` for the schema to use.
            dataset: The data, in tables of that schema or in files that the server can read; None
                for the server's catalog as it is.
            cores: Ignored: the server has its own.

        Raises:
            UsageError: If the address is not one.
            MissingExtraError: If pyspark or what its client needs is not installed.
            EngineError: If the server cannot be reached, or has not the data.
        """
        del cores
        _require_pyspark()
        remote = RemoteAddress.parse(address or "")
        return cls(lambda: RemoteServer(remote, dataset))

    def prepare(self) -> None:
        """Link to a server where there is no link, and have it ready and warm.

        A server that was ended by a query's time limit is replaced here, so that its start, and
        the compiling that a fresh JVM does at its first queries, are not charged to the next one.

        Raises:
            EngineError: If there is no server to be had.
        """
        self._ready().prepare(self._stopped)
        self._stopped = False

    def list_tables(self) -> tuple[str, ...]:
        """Return the names of the tables and views, sorted."""
        return self._tables().tables()

    def ddl(self, table: str) -> str:
        """Return SHOW CREATE TABLE, without what speaks of this machine."""
        return self._tables().ddl(table)

    def sample(self, table: str, rows: int) -> Outcome:
        """Return the first rows of a table."""
        sql = f"SELECT * FROM {self._tables().identifier(table)} LIMIT {int(rows)}"  # noqa: S608
        return self._execute(sql, Limits())

    def fingerprint(self) -> Fingerprint:
        """Return the version, the settings and the catalog's digest."""
        if self._fingerprint is None:
            link = self._ready()
            catalog = self._tables().described()
            self._fingerprint = Fingerprint(
                engine=self.name,
                version=link.session.version,
                catalog_digest=hashlib.sha256(catalog.encode()).hexdigest()[:16],
                data=link.data,
                scale_factor=link.scale_factor,
                settings=dict(link.settings),
            )
        return self._fingerprint

    def cancel(self) -> None:
        """Stop the query that runs, as a time limit does."""
        self._stopper.cancel()

    def close(self) -> None:
        """End what is ours: the session, and the server if it is our own."""
        self._closed = True
        self._leave()

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        link = self._ready()
        with link.followed() as execution:
            return self._run(
                lambda link, query: link.fetch(query, limits),
                sql,
                limits.timeout_s,
                execution,
            )

    def _explain(self, sql: str) -> Outcome:
        return self._run(lambda link, query: link.plan(query), sql, _EXPLAIN_S)

    def _estimate(self, sql: str) -> Estimate:
        start = time.perf_counter()
        planned = self._run(lambda link, query: link.plan(query, "cost"), sql, _EXPLAIN_S)
        if planned.status != "ok":
            return Estimate(error=planned.error, seconds=planned.seconds)
        views = self._ready().views
        estimate = spark_estimate(
            planned.rows[0][0],
            self._catalog.partitioned if views is None else views.partitioned,
            {} if views is None else views.columns,
        )
        # A table's first estimate asks the catalog for its partitions, too.
        return replace(estimate, seconds=time.perf_counter() - start)

    def _run(
        self,
        act: Callable[[SparkLink, str], Outcome],
        sql: str,
        timeout_s: float,
        execution: SparkExecution | None = None,
    ) -> Outcome:
        """Act on a query within a time limit; what goes wrong in it becomes its outcome."""
        import pyarrow as pa
        from pyspark.errors import AnalysisException, PySparkException

        link = self._ready()
        query = without_semicolon(sql, self.dialect)
        start = time.perf_counter()
        asked = False
        with self._stopper.watch(link.stopper(), timeout_s) as run:
            try:
                link.require_query(query)
                asked = True
                return replace(act(link, query), execution=execution)
            except (PySparkException, pa.ArrowException, ValueError) as error:
                seconds = time.perf_counter() - start
                if (stopped := run.outcome(seconds)) is not None:
                    self._stopped = True
                    return replace(stopped, execution=execution)
                if execution is not None and (not asked or isinstance(error, AnalysisException)):
                    execution = execution.refused()
                message = link.fault(error) or shortened(error)
                return Outcome("failed", seconds=seconds, error=message, execution=execution)

    def _digest(self, sql: str, result: Outcome, limits: Limits) -> str | None:
        query = digest_query(without_semicolon(sql, self.dialect), result.types)
        if query is None:
            return None
        answer = self._execute(query, replace(limits, max_rows=1))
        return digest_text(self.name, answer, result.types)

    def _ask(self, statement: str) -> pa.Table:
        """Ask the catalog, with a statement of our own."""
        from pyspark.errors import PySparkException

        link = self._ready()
        try:
            return link.session.sql(statement).toArrow()
        except PySparkException as error:
            said = link.fault(error) or shortened(error)
            raise EngineError(f"Spark cannot read its catalog: {said}") from error

    def _ready(self) -> SparkLink:
        """Return the link, opening one where there is none."""
        if self._closed:
            raise EngineError("this Spark engine is closed; open another")
        if self._link is None or not self._link.alive:
            self._leave()
            self._link = self._connect()
            self.lacks = _lacks(self._link.ui)
        return self._link

    def _tables(self) -> SparkCatalog | ViewCatalog:
        return self._ready().views or self._catalog

    def _leave(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


def _lacks(ui: SparkUI | None) -> Mapping[Capability, str]:
    if ui is None:
        return {Capability.facts: "they are null, since the server's UI is off or out of reach"}
    if not ui.counts_bytes:
        return {Capability.facts: f"the bytes read are null, since the server's {VECTORED} is on"}
    return {}


def _quiet() -> None:
    """Keep the client from writing each error of a query to stderr, stack and all.

    An outcome holds it.
    """
    with contextlib.suppress(ImportError):  # Spark 3.5 writes none
        from pyspark.logger import PySparkLogger

        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def _require_pyspark() -> None:
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("pyspark with its Connect client", "spark") from error
