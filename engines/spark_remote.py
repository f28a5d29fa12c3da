"""A Spark Connect server that somebody else runs: nothing of it is ours but our session."""

from __future__ import annotations

import time
import urllib.parse
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

from bothends.engines.base import Limits
from bothends.engines.spark_catalog import quoted
from bothends.engines.spark_conf import SECOND_WALL
from bothends.engines.spark_facts import SparkUI
from bothends.engines.spark_link import REACH_S, SparkLink, count_cores, reach, warm_up
from bothends.engines.spark_query import fetch, shortened
from bothends.engines.spark_views import ViewCatalog, create_view
from bothends.engines.time_limit import Stopper
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError, UsageError

__all__ = ["RemoteAddress", "RemoteServer"]

# After these seconds a query that an interrupt does not end is left behind, session and all.
_INTERRUPT_S: Final = 5.0
_SETTLE_S: Final = 30.0
_SETTLE_POLL_S: Final = 0.5
_REACH_POLL_S: Final = 1.0
_RECORDED: Final = (
    *("spark.master", "spark.executor.memory", "spark.sql.shuffle.partitions"),
    *("spark.sql.session.timeZone", "spark.task.reaper.enabled", "spark.task.reaper.killTimeout"),
    *SECOND_WALL,
)
# Whether as many tasks as there are cores run at the same time, each of them idle for a moment.
_ALL_FREE: Final = (
    "SELECT max(began) < min(ended), count(slept) FROM (SELECT "
    "CAST(reflect('java.lang.System', 'currentTimeMillis') AS BIGINT) AS began, "
    "reflect('java.lang.Thread', 'sleep', 300L) AS slept, "
    "CAST(reflect('java.lang.System', 'currentTimeMillis') AS BIGINT) AS ended "
    "FROM range(0, {cores}, 1, {cores}))"
)


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """The address of a server.

    Attributes:
        url: As Spark's own client takes it; it may hold a token.
        host: The host.
        port: The port.
        schema: The schema to use, or None for the server's default.
        wait_s: How long to try to reach it, while it or a tunnel to it comes up.
    """

    url: str
    host: str
    port: int
    schema: str | None
    wait_s: float = 0.0

    @classmethod
    def parse(cls, address: str) -> Self:
        """Read what follows `sc://`: `host:port/;param=value...`.

        `schema` and `wait`, in seconds, are our own; the others are Spark's.

        Raises:
            UsageError: If it is not an address.
        """
        from pyspark.errors import PySparkException
        from pyspark.sql.connect.client import DefaultChannelBuilder

        where, separator, listed = address.partition("/;")
        parameters = [part for part in listed.split(";") if part]
        own: dict[str, list[str]] = {"schema": [], "wait": []}
        for part in parameters:
            name, _, value = part.partition("=")
            if name in own:
                own[name].append(value)
        rest = ";".join(part for part in parameters if part.partition("=")[0] not in own)
        url = f"sc://{where}" + (f"/;{rest}" if rest else "")
        try:
            builder = DefaultChannelBuilder(url)
            host, _, port = builder.endpoint.rpartition(":")
            # The builder's own: it drops none of these.
            known = bool(host) and (not separator or bool(parameters)) and "@" not in where
        except (PySparkException, ValueError):
            known = False
        once = all(len(values) <= 1 and "" not in values for values in own.values())
        waits = [int(value) if value.isdecimal() else -1 for value in own["wait"]]
        if not known or not once or -1 in waits:
            # The client's message quotes the address, token and all.
            raise UsageError(
                "the address of the Spark Connect server cannot be read: write sc://host:15002, "
                "perhaps with parameters as in sc://host:443/;use_ssl=true;token=...;schema=sales"
                ";wait=60"
            ) from None
        schema = urllib.parse.unquote(own["schema"][0]) if own["schema"] else None
        return cls(url=url, host=host, port=int(port), schema=schema, wait_s=sum(waits))

    @property
    def shown(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"


class RemoteServer(SparkLink):
    """A session of ours on a server.

    It sets nothing but settings of its own session, and makes nothing but temporary views, which
    no other session sees. A query is stopped by an interrupt, which a server heeds as well as it
    is set up to: where it sets `spark.task.reaper.enabled`, executors that do not heed it are
    ended.
    """

    def __init__(self, address: RemoteAddress, dataset: Dataset | None) -> None:
        """Connect, and find or make the tables.

        A data set's tables are those of the current schema if it holds all of them. If it holds
        none, they are the data set's files, which the server must be able to read.

        Args:
            address: The server's.
            dataset: The data that is asked about; None for the server's catalog as it is.

        Raises:
            EngineError: If the server cannot be reached or asked, or has not the data.
        """
        from pyspark.errors import PySparkException

        self._address, self._dataset = address, dataset
        self._lost = self._warm = False
        self._cores = 1
        self.session = _connect(address)
        # A session that is not closed has Python wait for it at its end.
        self._end = weakref.finalize(self, _close, self.session)
        try:
            if address.schema is not None:
                self.session.sql("USE " + ".".join(map(quoted, address.schema.split("."))))
            for key, value in {"spark.sql.session.timeZone": "UTC", **SECOND_WALL}.items():
                self.session.conf.set(key, value)
            self.settings = {key: str(self.session.conf.get(key, None)) for key in _RECORDED}
            self.ui = SparkUI.find(self.session, address.host)
            place = self._ask("SELECT current_catalog(), current_schema()")[0]
            self.data = f"{address.shown}/{'.'.join(place)}"
            self.scale_factor = dataset.scale_factor if dataset else None
            if dataset is not None and not self._holds(dataset):
                self.views = self._register(dataset)
                self.data = f"{dataset.name} {dataset.digest}".strip()
        except PySparkException as error:
            self.close()
            raise EngineError(
                f"the Spark server at {address.shown} refuses: {shortened(error)}"
            ) from error
        except EngineError:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether the session is there, as far as we know."""
        return not self._lost

    def prepare(self, after_stop: bool) -> None:
        """Warm the server up, and wait, within bounds, until nothing of a stopped query runs.

        Raises:
            EngineError: If a table cannot be read.
        """
        if not self._warm:
            hint = ". Each machine of the cluster must be able to read the data's files"
            tables = self._dataset.tables if self._dataset else ()
            warm_up(self, tables, hint if self.views else "")
            self._cores = count_cores(self.session)
            self.settings["cores"] = str(self._cores)
            self._warm = True
        if after_stop:
            self._settle()

    def stopper(self) -> Callable[[], object]:
        """Return what interrupts our session, and leaves it behind if that does not help."""
        from pyspark.errors import PySparkException

        began: list[float] = []

        def stop() -> None:
            began.append(time.monotonic())
            if began[-1] - began[0] > _INTERRUPT_S:
                self._lost = True
                self.session.client._channel.close()
                return
            try:
                self.session.interruptAll()
            except (PySparkException, ValueError):
                return  # Tried again, or else left behind.

        return stop

    def fault(self, error: Exception) -> str | None:
        """Tell whether the server or our session on it is gone."""
        from pyspark.errors.exceptions.base import PySparkException
        from pyspark.errors.exceptions.connect import SparkConnectGrpcException

        text = str(error)
        broken = type(error) is SparkConnectGrpcException and "RESOURCE_EXHAUSTED" not in text
        retried = isinstance(error, PySparkException) and "RETRIES_EXCEEDED" in text
        if not (broken or retried or "INVALID_HANDLE.SESSION" in text):
            return None
        self._lost = True
        return f"the connection to the Spark server at {self._address.shown} was lost: " + (
            shortened(error) or type(error).__name__
        )

    def close(self) -> None:
        """Give our session back."""
        self._end()

    def _ask(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.session.sql(statement).toArrow().to_pylist()]

    def _holds(self, dataset: Dataset) -> bool:
        """Tell whether the current schema holds a data set's tables, all of them."""
        held = {str(row[1]).lower() for row in self._ask("SHOW TABLES")}
        missing = [table for table in dataset.tables if table.lower() not in held]
        if missing and len(missing) < len(dataset.tables):
            raise EngineError(
                f"schema {self.data} holds some tables of {dataset.name}, but not: "
                f"{', '.join(missing)}. Add these, or choose another schema with ;schema=NAME"
            )
        return not missing

    def _register(self, dataset: Dataset) -> ViewCatalog:
        from pyspark.errors import PySparkException

        for table, path in dataset.tables.items():
            try:
                self.session.sql(create_view(table, path))
            except PySparkException as error:
                raise EngineError(
                    f"the Spark server at {self._address.shown} cannot read table {table!r} at "
                    f"{path}: {shortened(error)}. Put the data where it can, or choose a schema "
                    "that holds the tables with ;schema=NAME"
                ) from error
        schemas = {table: self.session.table(table).schema for table in dataset.tables}
        return ViewCatalog(schemas, dataset.tables)

    def _settle(self) -> None:
        from pyspark.errors import PySparkException

        deadline = time.monotonic() + _SETTLE_S
        query = _ALL_FREE.format(cores=self._cores)
        with Stopper().watch(self.stopper(), _SETTLE_S):
            while time.monotonic() < deadline:
                try:
                    if fetch(self.session, query, Limits()).rows[0][0]:
                        return
                except (PySparkException, ValueError):
                    return  # A server that does not allow the question, or the time is up.
                time.sleep(_SETTLE_POLL_S)


def _connect(address: RemoteAddress) -> Any:
    """Open a session, or find out soon, or after the wait that was asked for, that it cannot be."""
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    deadline = time.monotonic() + address.wait_s
    while True:
        try:
            _probe(address)
            break
        except EngineError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_REACH_POLL_S)
    session = SparkSession(connection=DefaultChannelBuilder(address.url))
    # Spark's own would try for ten minutes; a network's short fault passes within seconds.
    session.client.set_retry_policies([DefaultPolicy(max_retries=5, max_backoff=2_000)])
    return session


def _probe(address: RemoteAddress) -> None:
    """Find out whether a Spark Connect server answers."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    reach(address.host, address.port, "a Spark Connect server")
    probe = DefaultChannelBuilder(address.url).toChannel()
    try:
        grpc.channel_ready_future(probe).result(timeout=REACH_S)
    except grpc.FutureTimeoutError as error:
        raise EngineError(
            f"what listens at {address.shown} does not answer as a Spark Connect server within "
            f"{REACH_S:g} s. Check the address, and whether it wants ;use_ssl=true (which a token "
            "turns on by itself)"
        ) from error
    finally:
        probe.close()


def _close(session: Any) -> None:
    session.client.close()
