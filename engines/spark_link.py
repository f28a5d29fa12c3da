"""What `SparkEngine` needs of a Spark Connect server, whoever runs it."""

from __future__ import annotations

import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from bothends.engines.base import Limits, Outcome
from bothends.engines.spark_catalog import quoted
from bothends.engines.spark_facts import SparkExecution, SparkUI, followed
from bothends.engines.spark_query import connect_parser, fetch, plan, require_query, shortened
from bothends.infra.errors import EngineError

if TYPE_CHECKING:
    from bothends.engines.spark_views import ViewCatalog

__all__ = ["REACH_S", "SparkLink", "count_cores", "reach", "warm_up"]

REACH_S: Final = 10.0
_WARM_TABLES: Final = 10
# Reads, groups, joins and sorts: the parts of Spark that most queries need.
_WARM_UP: Final = (
    "SELECT a.n, COUNT(*) AS m FROM (SELECT COUNT(*) AS n FROM {table}) AS a "
    "JOIN (SELECT COUNT(*) AS n FROM {table}) AS b ON a.n = b.n GROUP BY a.n ORDER BY m"
)


class SparkLink(ABC):
    """A Spark Connect server and our session on it, over the tables that are asked about.

    A driver's own session is linked to by `DriverLink`, which does otherwise what is Connect's.

    Attributes:
        session: The session.
        views: The session's own views of a data set, where that is what is asked about; None
            where it is the server's catalog.
        data: Where the data lies or which server holds it.
        scale_factor: The scale factor of the data, or None.
        settings: The settings that bear on results or timings.
        ui: Where the server tells what queries took; None where it does not.
    """

    session: Any
    ui: SparkUI | None = None
    views: ViewCatalog | None = None
    data: str
    scale_factor: float | None
    settings: dict[str, str]

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it can take a query."""

    @abstractmethod
    def prepare(self, after_stop: bool) -> None:
        """Make it ready for the next query.

        Args:
            after_stop: Whether a query was stopped of which something may still run.

        Raises:
            EngineError: If it cannot be.
        """

    @abstractmethod
    def stopper(self) -> Callable[[], object]:
        """Return what stops the query that is about to run.

        It is callable from any thread, and again until the query returns.
        """

    @abstractmethod
    def fault(self, error: Exception) -> str | None:
        """Return what to say where an error means that the server is lost; None elsewhere."""

    @abstractmethod
    def close(self) -> None:
        """Free what is ours; idempotent."""

    def require_query(self, sql: str) -> None:
        """Refuse what is no query, as `spark_query.require_query` does."""
        require_query(connect_parser(self.session), sql)

    def fetch(self, sql: str, limits: Limits) -> Outcome:
        """Run a query, as `spark_query.fetch` does."""
        return fetch(self.session, sql, limits)

    def plan(self, sql: str, mode: str = "simple") -> Outcome:
        """Plan a query, as `spark_query.plan` does."""
        return plan(self.session, sql, mode)

    def followed(self) -> AbstractContextManager[SparkExecution | None]:
        """Have this thread's next query found again, as `spark_facts.followed` does."""
        return followed(self.session, self.ui)


def warm_up(link: SparkLink, tables: Iterable[str], hint: str = "") -> None:
    """Read a few tables once, and have the server load and compile what that takes.

    Args:
        link: The server.
        tables: The tables' names.
        hint: What may be the reason where a table cannot be read.

    Raises:
        EngineError: If a table cannot be read.
    """
    from pyspark.errors import PySparkException

    for table in islice(tables, _WARM_TABLES):
        try:
            link.fetch(_WARM_UP.format(table=quoted(table)), Limits())
        except (PySparkException, ValueError) as error:
            raise EngineError(
                f"Spark cannot read table {table!r}: {shortened(error)}{hint}"
            ) from error


def count_cores(session: Any) -> int:
    """Return the cores that Spark has for us now: the parts that it would cut a range into.

    Spark says 2 where a cluster gave it none or one.
    """
    from pyspark.sql.connect.plan import SQL

    client = session.client
    plan = client.explain_string(SQL("SELECT * FROM range(1000000)").to_proto(client), "simple")
    found = re.search(r"splits=(?:Some\()?(\d+)", plan)
    return int(found[1]) if found else 1


def reach(host: str, port: int, what: str) -> None:
    """Make sure that something listens at an address.

    Args:
        host: The host's name or number.
        port: The port.
        what: What should listen there, for the message.

    Raises:
        EngineError: If nothing does.
    """
    try:
        socket.create_connection((host.strip("[]"), port), timeout=REACH_S).close()
    except OSError as error:
        raise EngineError(
            f"cannot reach {what} at {host}:{port}: {error.strerror or error}. Check that it runs "
            "and the address"
        ) from error
