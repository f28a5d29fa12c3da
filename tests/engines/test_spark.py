"""What is Spark's own: the server's life and death, DDL, errors, types, settings."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bothends.engines import Engine, Limits, open_engine
from bothends.engines.java import JavaRuntime
from bothends.engines.spark import SparkEngine
from bothends.engines.spark_catalog import clean_ddl, quoted
from bothends.engines.spark_conf import SparkConf
from bothends.engines.spark_own import OwnServer
from bothends.engines.spark_server import SparkServer
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError, MissingExtraError


@pytest.fixture
def spark(local_spark: Engine) -> SparkEngine:
    assert isinstance(local_spark, SparkEngine)
    return local_spark


def server_pid(engine: SparkEngine) -> int:
    link = engine._ready()
    assert isinstance(link, OwnServer)
    return link.server.pid


@pytest.mark.slow
def test_ddl_is_what_helps_a_model(spark: SparkEngine) -> None:
    assert spark.ddl("order") == (
        "CREATE TABLE order (\n  number BIGINT,\n  item_id BIGINT)\nUSING parquet"
    )


@pytest.mark.slow
def test_error_is_class_and_suggestion(spark: SparkEngine) -> None:
    error = spark.execute("SELECT nam FROM item").error or ""
    assert error.startswith("[UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert "`name`" in error
    assert "\n" not in error
    error = spark.execute("SELECT 1 / (id - id) FROM item").error or ""
    assert error.startswith("[DIVIDE_BY_ZERO]")


@pytest.mark.slow
def test_nested_and_zoned_values(spark: SparkEngine) -> None:
    outcome = spark.execute(
        "SELECT array(1, NULL), map('a', 1), named_struct('x', 1), "
        "TIMESTAMP '2020-01-01 10:00:00+02:00', x'00FF', double('NaN'), NULL"
    )
    assert outcome.rows[0][:5] == (
        [1, None],
        {"a": 1},
        {"x": 1},
        dt.datetime(2020, 1, 1, 8, 0),  # noqa: DTZ001
        b"\x00\xff",
    )
    assert outcome.rows[0][5] != outcome.rows[0][5]
    assert outcome.rows[0][6] is None
    assert outcome.types[:4] == ("array<int>", "map<string,int>", "struct<x:int>", "timestamp")


@pytest.mark.slow
@pytest.mark.parametrize("sql", ["SELECT INTERVAL 1 MONTH", "SELECT TIMESTAMP '-0001-01-01'"])
def test_value_that_python_lacks_is_a_failure(spark: SparkEngine, sql: str) -> None:
    outcome = spark.execute(sql)
    assert outcome.status == "failed"
    assert "no Python value" in (outcome.error or "")


@pytest.mark.slow
def test_neither_files_nor_environment_are_read(
    spark: SparkEngine, items: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Past the guard: what the server itself refuses.
    outcome = spark._execute(f"SELECT * FROM parquet.`{items.tables['item']}`", Limits())
    assert outcome.status == "failed"
    assert spark._execute("SELECT '${env:HOME}'", Limits()).rows == (("${env:HOME}",),)


@pytest.mark.slow
def test_dead_server_fails_its_query_and_is_replaced(spark: SparkEngine) -> None:
    pid = server_pid(spark)
    assert isinstance(spark._link, OwnServer)
    address = spark._link.server.url.removeprefix("sc://")
    with SparkEngine.connect(address, None, None) as guest:
        threading.Timer(1.0, os.kill, (pid, signal.SIGKILL)).start()
        outcome = spark.execute("SELECT count(*) FROM range(1000000000000) WHERE hash(id) % 3 = 1")
        assert outcome.status == "failed"
        assert "server died" in (outcome.error or "")
        # To somebody else it was a server that went away.
        outcome = guest.execute("SELECT 1")
        assert outcome.status == "failed"
        assert f"server at {address} was lost" in (outcome.error or "")
        with pytest.raises(EngineError, match="cannot reach"):
            guest.prepare()
    # Its successor's start is nobody's query time.
    spark.prepare()
    second = server_pid(spark)
    assert second != pid
    assert spark.execute("SELECT count(*) FROM item").rows == ((3,),)
    spark.prepare()
    assert server_pid(spark) == second


@pytest.mark.slow
def test_server_ends_when_its_parent_is_killed(tmp_path: Path, runs: Callable[[int], bool]) -> None:
    code = """
import sys, threading, time
from bothends.engines.java import find_java
from bothends.engines.spark_server import SparkServer
servers = []
def start():
    servers.append(SparkServer(find_java(), options=(), conf={"spark.master": "local[1]"}))
starter = threading.Thread(target=start)
starter.start()
starter.join()
print(servers[0].pid, flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    # It outlives the thread that started it, and nothing more.
    assert runs(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while runs(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho out of luck >&2\nexit 3\n")
    java.chmod(0o755)
    with pytest.raises(EngineError, match="out of luck"):
        SparkServer(JavaRuntime(tmp_path / "java", 17, "PATH"), options=(), conf={})
    assert [path.name for path in tmp_path.iterdir()] == ["java"]


def test_missing_pyspark_names_the_extra(items: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    with pytest.raises(MissingExtraError, match=r"bothends\[spark\]"):
        open_engine("spark", items)


def test_settings_follow_data_and_cores(items: Dataset, tmp_path: Path) -> None:
    conf = SparkConf.for_dataset(items, cores=3)
    assert conf.spark["spark.master"] == "local[3]"
    assert conf.spark["spark.sql.shuffle.partitions"] == "3"
    assert "-XX:TieredStopAtLevel=1" in conf.java
    with (tmp_path / "large.parquet").open("wb") as file:
        file.truncate(640 * 2**20)  # sparse
    large = replace(items, tables={"large": tmp_path / "large.parquet"})
    conf = SparkConf.for_dataset(large, cores=3)
    assert conf.spark["spark.sql.shuffle.partitions"] == "10"
    assert "-XX:TieredStopAtLevel=1" not in conf.java


def test_clean_ddl() -> None:
    raw = (
        "CREATE TABLE spark_catalog.default.t (\n  a STRING COLLATE UTF8_BINARY,\n  b INT)\n"
        "USING parquet\nLOCATION 'file:/some/it\\'s/where'\nTBLPROPERTIES (\n  'x' = 'y')\n"
    )
    assert clean_ddl(raw, "t") == "CREATE TABLE t (\n  a STRING,\n  b INT)\nUSING parquet"


def test_quoted() -> None:
    assert quoted("a`b") == "`a``b`"


def test_settings_of_a_cluster(items: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    near = SparkConf.for_dataset(items, None, "127.0.0.1:7000")
    assert near.spark["spark.master"] == "spark://127.0.0.1:7000"
    assert near.spark["spark.executor.memory"] == "1g"
    assert "spark.cores.max" not in near.spark
    assert near.loopback
    monkeypatch.setenv("SPARK_EXECUTOR_MEMORY", "6g")
    far = SparkConf.for_dataset(items, 12, "head.example.org")
    assert far.spark["spark.master"] == "spark://head.example.org:7077"
    assert (far.spark["spark.executor.memory"], far.spark["spark.cores.max"]) == ("6g", "12")
    assert not far.loopback
