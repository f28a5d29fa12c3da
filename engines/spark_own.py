"""A Spark Connect server of our own: Spark on this machine, or the driver of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from bothends.engines.base import Limits
from bothends.engines.java import JavaRuntime
from bothends.engines.spark_catalog import create_table, is_partitioned, register_partitions
from bothends.engines.spark_conf import SparkConf
from bothends.engines.spark_facts import SparkUI
from bothends.engines.spark_link import SparkLink, count_cores, reach, warm_up
from bothends.engines.spark_query import fetch, shortened
from bothends.engines.spark_server import SparkServer
from bothends.engines.time_limit import Stopper
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError

__all__ = ["OwnServer"]

_EXECUTORS_TIMEOUT_S: Final = 120.0
_CORES_TIMEOUT_S: Final = 20.0
_CORES_POLL_S: Final = 0.5


class OwnServer(SparkLink):
    """A server that is a child of this process, with a data set's files as its tables.

    A query is stopped by ending the server, not by Spark's own interrupt: Spark reports a query
    cancelled while its generated code runs on, which would slow every query after it. Of a
    cluster the server is the driver, and the cluster ends the executors of a driver that is gone.
    """

    def __init__(self, java: JavaRuntime, conf: SparkConf, dataset: Dataset) -> None:
        """Start a server and register the data set's tables.

        Raises:
            EngineError: If the cluster cannot be reached, or the server does not start.
        """
        from pyspark.sql.connect.session import SparkSession

        if conf.cluster is not None:
            reach(*conf.cluster, "the master of a Spark cluster")
        self._conf, self._dataset = conf, dataset
        self._warm = False
        self.server = SparkServer(java, options=conf.java, conf=conf.spark, loopback=conf.loopback)
        self.session: Any = SparkSession(connection=self.server.url)
        # The server is one process on the loopback: if it does not answer, it is gone, and there
        # is nothing to retry or to attach to again.
        self.session.client.set_retry_policies([])
        self.session.client.disable_reattachable_execute()
        if self.server.ui_port is not None:
            application = str(self.session.conf.get("spark.app.id"))
            self.ui = SparkUI("127.0.0.1", self.server.ui_port, application)
        self.data = f"{dataset.name} {dataset.digest}".strip()
        self.scale_factor = dataset.scale_factor
        self.settings = {**conf.described(), "java": str(java.version)}
        self._register()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.server.alive

    def prepare(self, after_stop: bool) -> None:
        """Warm a fresh server up, so that what a fresh JVM compiles at first is no query's.

        On a cluster this waits for the executors too.

        Raises:
            EngineError: If the cluster gives none, or a table cannot be read.
        """
        del after_stop  # with the server that ran it a query is gone
        if self._warm:
            return
        if self._conf.cluster is not None:
            self._await_executors()
        warm_up(self, self._dataset.tables)
        if self._conf.cluster is not None:
            self._use_cores()
        self._warm = True

    def stopper(self) -> Callable[[], object]:
        """Return what ends the server, and the query with it."""
        return self.server.close

    def fault(self, error: Exception) -> str | None:
        """Tell whether the server died, and end one that is going down."""
        from pyspark.errors.exceptions.connect import SparkConnectGrpcException

        if "stopped SparkContext" in shortened(error):  # it is going down, and would linger
            self.server.close()
        # A broken connection shows before the process has quite ended.
        if type(error) is SparkConnectGrpcException and self.server.died(within_s=1.0):
            return "the Spark server died during this query (out of memory?)"
        return None

    def close(self) -> None:
        """End the server."""
        self.session.client.close()
        self.server.close()

    def _register(self) -> None:
        import pyarrow as pa
        from pyspark.errors import PySparkException

        for table, path in self._dataset.tables.items():
            try:
                self.session.sql(create_table(table, path))
                for statement in register_partitions(table) if is_partitioned(path) else ():
                    self.session.sql(statement)
            except (PySparkException, pa.ArrowException, OSError) as error:
                self.close()
                raise EngineError(
                    f"Spark cannot register table {table!r} at {path}: {shortened(error)}"
                ) from error

    def _await_executors(self) -> None:
        from pyspark.errors import PySparkException

        with Stopper().watch(self.server.close, _EXECUTORS_TIMEOUT_S) as run:
            try:
                fetch(self.session, "SELECT count(*) FROM range(0, 1000, 1, 2)", Limits())
            except PySparkException as error:
                what = "gives no executor" if run.stopped else f"fails: {shortened(error)}"
                raise EngineError(
                    f"the Spark cluster at {self._conf.master} {what}. It needs a worker with a "
                    f"free core and {self._conf.executor_memory} of free memory (as "
                    "SPARK_EXECUTOR_MEMORY says), and its machines must reach this one"
                ) from error

    def _use_cores(self) -> None:
        """Cut shuffles for the cores that the cluster gave, once no more of them come."""
        deadline = time.monotonic() + _CORES_TIMEOUT_S
        cores, before = count_cores(self.session), 0
        while time.monotonic() < deadline and (cores != before or cores < (self._conf.cores or 0)):
            time.sleep(_CORES_POLL_S)
            cores, before = count_cores(self.session), cores
        partitions = str(max(cores, self._conf.shuffle_partitions))
        self.session.conf.set("spark.sql.shuffle.partitions", partitions)
        self.settings |= {"spark.sql.shuffle.partitions": partitions, "cores": str(cores)}
