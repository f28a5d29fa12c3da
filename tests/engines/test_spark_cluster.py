"""What is a cluster's own: workers that die, schemas that others fill, sessions that are lost."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bothends.engines import Limits, Outcome, open_engine
from bothends.engines.spark import SparkEngine
from bothends.engines.spark_catalog import create_table
from bothends.engines.spark_views import ViewCatalog
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def owner(cluster: Any, items: Dataset) -> Iterator[Any]:
    """A session of the server's owner, who has a schema with all the tables and one with some."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession(connection=cluster.state.connect)
    for schema, tables in {"whole": ("item", "order"), "half": ("item",)}.items():
        session.sql(f"CREATE DATABASE {schema}")
        session.sql(f"USE {schema}")
        for table in tables:
            session.sql(create_table(table, items.tables[table]))
    session.sql("USE default")
    yield session
    for schema in ("whole", "half"):
        session.sql(f"DROP DATABASE {schema} CASCADE")
    session.client.close()


def test_tables_of_a_schema(cluster: Any, owner: Any, items: Dataset) -> None:
    connect = cluster.state.connect
    place = connect.removeprefix("sc://")
    with open_engine(f"{connect}/;schema=whole", items) as engine:
        assert engine.fingerprint().data == f"{place}/spark_catalog.whole"
        assert {"item", "order"} <= set(engine.list_tables())
        assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)
        held = engine.ddl("item")
    with open_engine(f"{connect}/;schema=whole") as engine:
        assert engine.fingerprint().data == f"{place}/spark_catalog.whole"
        assert engine.sample("order", 2).row_count == 2
    with pytest.raises(EngineError, match=r"whole|half.* not: order\. .*schema=NAME"):
        open_engine(f"{connect}/;schema=half", items)
    with pytest.raises(EngineError, match="SCHEMA_NOT_FOUND"):
        open_engine(f"{connect}/;schema=nowhere", items)
    with open_engine(connect, items) as engine:
        # A view looks as the table does, and is nobody else's.
        assert engine.ddl("item").split("(", 1)[1] == held.split("(", 1)[1]
        assert engine.fingerprint().data == "items 0123abcd"
        assert owner.sql("SHOW TABLES").count() == 0
        assert owner.conf.get("spark.sql.runSQLOnFiles", "true") == "true"


def test_files_that_the_server_cannot_read(cluster: Any, items: Dataset) -> None:
    elsewhere = replace(items, tables={"item": Path("/nowhere/item.parquet")})
    with pytest.raises(EngineError, match=r"cannot read table 'item' at /nowhere.*PATH_NOT_FOUND"):
        open_engine(cluster.state.connect, elsewhere)


def test_a_lost_session_fails_its_query_and_is_replaced(cluster: Any, items: Dataset) -> None:
    with open_engine(cluster.state.connect, items) as engine:
        assert isinstance(engine, SparkEngine)
        assert engine._link is not None
        engine._link.session.client.release_session()
        outcome = engine.execute("SELECT count(*) FROM item")
        assert outcome.status == "failed"
        assert "was lost" in (outcome.error or "")
        assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)


def test_a_killed_worker_does_not_fail_the_query(cluster: Any) -> None:
    """16 tasks that take half a second each, on two cores: the kill comes in their midst."""
    # Past the guard, which refuses reflect(): asleep, a task takes as long on any machine.
    sql = (
        "SELECT id % 4 AS k, count(*), sum(id), count(slept) FROM (SELECT id, "
        "reflect('java.lang.Thread', 'sleep', 500L) AS slept FROM range(0, 16, 1, 16)) "
        "GROUP BY id % 4 ORDER BY k"
    )
    outcomes: list[Outcome] = []
    worker = cluster.state.pids["worker-1"]
    with open_engine(cluster.state.connect) as engine:
        query = threading.Thread(
            target=lambda: outcomes.append(engine._execute(sql, Limits(timeout_s=240)))
        )
        query.start()
        query.join(2.0)
        assert not outcomes
        # A worker's executors are in its process group.
        os.killpg(worker, signal.SIGKILL)
        assert query.is_alive()
        query.join()
    (outcome,) = outcomes
    assert outcome.status == "ok", outcome.error
    members = [[i for i in range(16) if i % 4 == k] for k in range(4)]
    assert outcome.rows == tuple((k, 4, sum(ids), 4) for k, ids in enumerate(members))
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker, 0)
        pytest.fail("the worker was not killed")


@pytest.mark.parametrize("name", ["plain_1", "with blank", "123", "a`b"])
def test_a_views_names_are_quoted_where_spark_quotes_them(name: str) -> None:
    from pyspark.sql.types import DecimalType, StructType

    schema = StructType().add(name, DecimalType(10, 2))
    plain = name == "plain_1"
    written = name if plain else "`" + name.replace("`", "``") + "`"
    assert ViewCatalog({"t": schema}, {}).ddl("T") == (
        f"CREATE TABLE t (\n  {written} DECIMAL(10,2))\nUSING parquet"
    )
