"""Spark from within: the session of a driver that this process is, as a step on a cluster is."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final
from urllib.parse import urlsplit

from bothends.engines.base import Limits, Outcome
from bothends.engines.spark_arrow import fetch_here
from bothends.engines.spark_conf import SECOND_WALL
from bothends.engines.spark_facts import VECTORED, SparkExecution, SparkUI
from bothends.engines.spark_link import SparkLink, warm_up
from bothends.engines.spark_query import plan_outcome, require_query, shortened
from bothends.engines.spark_views import ViewCatalog, create_view
from bothends.infra.errors import EngineError

__all__ = ["JOB_CONF", "DriverLink", "StuckError"]

JOB_CONF: Final[Mapping[str, str]] = {
    # A task that does not end when it is cancelled is ended with its executor.
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.killTimeout": "10s",
    "spark.driver.maxResultSize": "0",
    VECTORED: "false",
    # The data is the job's alone: no metastore is read, and none can be written.
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.ui.retainedJobs": "500",
    "spark.ui.retainedStages": "1000",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "200",
}
"""What an application must be started with to be linked to; none can be set later."""

_SESSION: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    # Spark 3.5 has it off, where Spark 4 has it on.
    "spark.sql.ansi.enabled": "true",
}
_TELLING: Final = (
    *("spark.master", "spark.submit.deployMode", "spark.dynamicAllocation.enabled"),
    *("spark.executor.instances", "spark.executor.cores", "spark.executor.memory"),
    *("spark.cores.max", "spark.driver.memory"),
)
_BYTES_PER_PARTITION: Final = 64 * 2**20
_GRACE_S: Final = 60.0
_SETTLE_S: Final = 60.0
_POLL_S: Final = 0.25


class StuckError(EngineError):
    """A query that passed its time limit and cannot be ended without the application.

    Attributes:
        sql: The query.
        seconds: What it had taken when it was given up.
    """

    def __init__(self, sql: str, seconds: float) -> None:
        self.sql, self.seconds = sql, seconds
        super().__init__(
            f"a query was told to stop and had not {_GRACE_S:g} s later; it ends with the job"
        )


class DriverLink(SparkLink):
    """The classic session of a driver, in its own process, with files as temporary views.

    A query runs in a thread of its own under a job group, which is cancelled when it is to stop.
    Where its tasks run on, the task reaper ends them with their executors, and the next query
    waits for that; where the driver itself does not come back, `StuckError` is raised.

    Works with Spark 3.5, which EMR 7 has, and with Spark 4.
    """

    def __init__(
        self,
        session: Any,
        tables: Mapping[str, str],
        *,
        data: str,
        scale_factor: float | None,
        shuffle_partitions: int | None = None,
    ) -> None:
        """Register the tables.

        Args:
            session: A `SparkSession`, started with JOB_CONF.
            tables: The URI of each table's Parquet files, by name.
            data: What the data is, with its digest.
            scale_factor: Its scale factor.
            shuffle_partitions: Partitions after a shuffle, before Spark merges small ones; None
                for as many as its cores, or the data's size, ask for.

        Raises:
            EngineError: If a table cannot be read.
        """
        self.session = session
        self.data, self.scale_factor = data, scale_factor
        self._context = session.sparkContext
        self._tables = tables
        self._group = ""
        self._given_up = threading.Event()
        self._ready = False
        self._closed = False
        for key, value in _SESSION.items():
            session.conf.set(key, value)
        self.views = ViewCatalog(self._register(), {})
        for key, value in SECOND_WALL.items():
            session.conf.set(key, value)
        self.ui = self._find_ui()
        partitions = shuffle_partitions or self._partitions()
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))
        conf = dict(self._context.getConf().getAll())
        self.settings = {
            **{key: conf[key] for key in _TELLING if key in conf},
            **_SESSION,
            "spark.sql.shuffle.partitions": str(partitions),
        }
        self.shuffle_partitions = int(partitions)

    @property
    def alive(self) -> bool:
        """Whether the application runs."""
        return not self._closed

    @property
    def executors(self) -> str:
        """How many executors and cores there are, in words."""
        tracker = self._context._jsc.sc().statusTracker()
        count = max(1, len(tracker.getExecutorInfos()) - 1)  # the driver is among them
        cores = self._context.defaultParallelism
        return f"{count} executor{'s' * (count > 1)}, {cores} cores"

    def prepare(self, after_stop: bool) -> None:
        """Read the tables once, or wait, within bounds, until nothing of a stopped query runs.

        Raises:
            EngineError: If a table cannot be read.
        """
        if not self._ready:
            warm_up(self, self._tables, ". Each machine must be able to read the data's files")
            self._ready = True
        deadline = time.monotonic() + (_SETTLE_S if after_stop else 0.0)
        while time.monotonic() < deadline and self._running():
            time.sleep(_POLL_S)

    def stopper(self) -> Callable[[], object]:
        """Return what cancels the query's jobs, and gives it up where that does not help."""
        self._given_up.clear()
        began: list[float] = []

        def stop() -> None:
            began.append(time.monotonic())
            if began[-1] - began[0] > _GRACE_S:
                self._given_up.set()
            self._context.cancelJobGroup(self._group)

        return stop

    def fault(self, error: Exception) -> str | None:
        """Tell nothing: an application that is lost ends the process."""
        del error
        return None

    def close(self) -> None:
        """Let go of it; whoever made the session stops it."""
        self._closed = True

    def require_query(self, sql: str) -> None:
        """Refuse what is no query."""
        parser = self.session._jsparkSession.sessionState().sqlParser()
        require_query(parser.parsePlan, sql)

    def fetch(self, sql: str, limits: Limits) -> Outcome:
        """Run a query, and receive its rows.

        Raises:
            PySparkException: If Spark refuses it or it breaks.
            ValueError: If it breaks, or its result holds a value that Python cannot.
            StuckError: If it cannot be stopped.
            EngineError: If the application is lost.
        """
        return self._apart(lambda: fetch_here(self.session, sql, limits), sql)

    def plan(self, sql: str, mode: str = "simple") -> Outcome:
        """Return the plan of a query as one cell."""

        def explained() -> Outcome:
            start = time.perf_counter()
            execution = self.session.sql(sql)._jdf.queryExecution()
            explain = (
                self._context._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.explainString
            )
            return plan_outcome(explain(execution, mode), start)

        return self._apart(explained, sql)

    def followed(self) -> AbstractContextManager[SparkExecution | None]:
        """Have the next query found again by the group of its jobs."""
        return self._followed()

    @contextlib.contextmanager
    def _followed(self) -> Iterator[SparkExecution | None]:
        self._group = f"bothends-{uuid.uuid4()}"
        execution = None
        if self.ui is not None:
            execution = SparkExecution(self.ui, self._group, time.time_ns() // 1_000_000)
        yield execution

    def _apart(self, act: Callable[[], Outcome], sql: str) -> Outcome:
        """Act in a thread of its own, so that what does not come back can be left."""
        found: list[Outcome | Exception] = []
        ended = threading.Event()

        def work() -> None:
            try:
                self._context.setJobGroup(self._group, "bothends", interruptOnCancel=True)
                found.append(act())
            except Exception as error:  # told to the thread that waits
                found.append(error)
            finally:
                ended.set()

        start = time.perf_counter()
        threading.Thread(target=work, name="query", daemon=True).start()
        while not ended.wait(_POLL_S):
            if self._given_up.is_set():
                raise StuckError(sql, time.perf_counter() - start)
        if not found:  # the thread was ended by what is no Exception
            raise EngineError("the thread of a query ended without an answer")
        if isinstance(found[0], Outcome):
            return found[0]
        raise self._told(found[0])

    def _told(self, error: Exception) -> Exception:
        """Return an error as the engine knows it: of the query, or of the application."""
        import pyarrow as pa
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            stopped = bool(self._context._jsc.sc().isStopped())
        except Exception:  # whatever it is, nobody answers
            stopped = True
        if stopped:
            return EngineError("the Spark application ended during a query")
        if isinstance(error, Py4JJavaError):
            return ValueError(shortened(Exception(_messages(error.java_exception))))
        if isinstance(error, PySparkException | pa.ArrowException | ValueError):
            return error
        return EngineError(
            f"the Spark application cannot be asked: {type(error).__name__}: {error}"
        )

    def _register(self) -> dict[str, Any]:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        schemas = {}
        for table, uri in self._tables.items():
            try:
                self.session.sql(create_view(table, uri))
                schemas[table] = self.session.table(table).schema
            except (PySparkException, Py4JJavaError) as error:
                raise EngineError(
                    f"Spark cannot register table {table!r} at {uri}: {shortened(error)}"
                ) from error
        return schemas

    def _find_ui(self) -> SparkUI | None:
        """Return the application's UI, where this process may ask it."""
        place = urlsplit(self._context.uiWebUrl or "")
        if place.hostname is None or place.port is None:
            return None
        counts_bytes = self._context.getConf().get(VECTORED, "true") == "false"
        ui = SparkUI(place.hostname, place.port, self._context.applicationId, counts_bytes)
        return ui if ui.answers else None

    def _partitions(self) -> int:
        hadoop = self._context._jsc.hadoopConfiguration()
        path = self._context._jvm.org.apache.hadoop.fs.Path
        data_bytes = 0
        for uri in self._tables.values():
            file = path(uri)
            data_bytes += file.getFileSystem(hadoop).getContentSummary(file).getLength()
        cores = int(self._context.defaultParallelism)
        return max(cores, -(-data_bytes // _BYTES_PER_PARTITION))

    def _running(self) -> int:
        """Return how many tasks run."""
        tracker = self._context._jsc.sc().statusTracker()
        return sum(int(each.numRunningTasks()) for each in tracker.getExecutorInfos())


def _messages(error: Any) -> str:
    """Return the messages of a Java error and its causes, but for those that tell nothing."""
    said = []
    while error is not None:
        message = str(error.getMessage())
        if not message.startswith("Exception thrown in awaitResult"):
            said.append(message)
        error = error.getCause()
    return "\n".join(said) or "Spark does not say why"
