"""What queries took, as Spark tells it, against the files' own footers and plans read by eye."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from bothends.engines import Engine, Limits, Outcome, open_engine
from bothends.engines import spark_facts as module
from bothends.engines.facts import EngineFacts
from bothends.engines.spark import SparkEngine
from bothends.engines.spark_facts import VECTORED, SparkUI
from bothends.engines.spark_plan import plan_digest
from bothends.infra.dataset import Dataset

slow = pytest.mark.slow

# A file is read into a buffer of this size (Spark's `spark.buffer.size`), at its end for the footer
# and for each run of columns that lie side by side: so much may be read that was not asked for.
BUFFER_BYTES = 65_536


@pytest.fixture(scope="module")
def sessions(cluster: Any, tpch_dataset: Dataset) -> Iterator[tuple[Engine, Engine]]:
    """A little of TPC-H on the cluster's Connect server, by two sessions."""
    named = ("lineitem", "nation", "region")
    little = replace(tpch_dataset, tables={name: tpch_dataset.tables[name] for name in named})
    with (
        open_engine(cluster.state.connect, little) as one,
        open_engine(cluster.state.connect, little) as other,
    ):
        yield one, other


@pytest.fixture
def spark(sessions: tuple[Engine, Engine]) -> Engine:
    return sessions[0]


def facts_of(outcome: Outcome) -> EngineFacts:
    facts = outcome.facts()
    assert facts is not None, outcome.error
    return facts


def stored_bytes(file: Path, columns: set[str] | None) -> tuple[int, int]:
    """What a table's columns take in its file, and how many runs of them lie side by side."""
    footer = pq.ParquetFile(file).metadata
    total = runs = 0
    for group in range(footer.num_row_groups):
        before = False
        for place in range(footer.num_columns):
            chunk = footer.row_group(group).column(place)
            wanted = columns is None or chunk.path_in_schema in columns
            total += chunk.total_compressed_size if wanted else 0
            runs += wanted and not before
            before = wanted
    return total, runs


@slow
@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT sum(l_quantity) FROM lineitem", {"l_quantity"}),
        (
            "SELECT count(l_comment), max(l_orderkey) FROM lineitem",
            {"l_comment", "l_orderkey"},
        ),
        ("SELECT * FROM lineitem", None),
    ],
)
def test_what_a_query_read_is_what_the_file_holds(
    spark: Engine, tpch_dataset: Dataset, sql: str, columns: set[str] | None
) -> None:
    file = tpch_dataset.tables["lineitem"]
    facts = facts_of(spark.execute(sql, Limits(max_rows=1)))
    stored, runs = stored_bytes(file, columns)
    assert facts.read_rows == pq.ParquetFile(file).metadata.num_rows == 60_175
    assert facts.read_bytes is not None
    assert stored <= facts.read_bytes <= stored + (runs + 1) * BUFFER_BYTES


@slow
def test_only_an_exchange_shuffles_and_each_table_counts(spark: Engine) -> None:
    none = facts_of(spark.execute("SELECT l_orderkey FROM lineitem WHERE l_quantity < 2"))
    assert (none.shuffle_read_bytes, none.shuffle_write_bytes) == (0, 0)
    assert (none.jobs, none.stages) == (1, 1)
    keys = facts_of(spark.execute("SELECT l_suppkey, count(*) FROM lineitem GROUP BY l_suppkey"))
    one = facts_of(spark.execute("SELECT count(*) FROM lineitem"))
    assert one.shuffle_write_bytes is not None
    assert keys.shuffle_write_bytes is not None
    assert 0 < one.shuffle_write_bytes < keys.shuffle_write_bytes
    assert keys.shuffle_read_bytes == keys.shuffle_write_bytes
    assert (keys.spill_memory_bytes, keys.spill_disk_bytes) == (0, 0)
    assert keys.peak_memory_bytes
    assert keys.cpu_s
    # 25 nations and 5 regions; the nations twice.
    both = "SELECT count(*) FROM nation JOIN region ON n_regionkey = r_regionkey"
    twice = "SELECT count(*) FROM nation a JOIN nation b ON a.n_nationkey = b.n_regionkey"
    assert facts_of(spark.execute(both)).read_rows == 30
    assert facts_of(spark.execute(twice)).read_rows == 50


@slow
def test_a_plans_digest_is_the_plans(spark: Engine, sessions: tuple[Engine, Engine]) -> None:
    sql = (
        "SELECT r_name, count(*) FROM nation, region WHERE n_regionkey = r_regionkey "
        "AND n_nationkey > (SELECT avg(n_nationkey) FROM nation) GROUP BY r_name ORDER BY 2"
    )
    digest = facts_of(spark.execute(sql)).plan_digest
    assert digest is not None
    assert len(digest) == 16
    for engine in sessions:
        assert facts_of(engine.execute(sql)).plan_digest == digest
    for changed in (sql.replace(">", "<"), sql.replace("count(*)", "count(n_name)")):
        assert facts_of(spark.execute(changed)).plan_digest not in {None, digest}


@slow
def test_engines_and_callers_get_what_is_theirs(
    local_spark: Engine, sessions: tuple[Engine, Engine]
) -> None:
    """A query for each number of rows, on three engines, two of one server; asked for at once."""
    one, other = sessions
    ran = [
        (engine.execute(sql), rows)
        for _ in range(3)
        for engine, sql, rows in (
            (one, "SELECT count(n_name) FROM nation", 25),
            (other, "SELECT count(r_name) FROM region", 5),
            (local_spark, "SELECT count(number) FROM `order`", 1000),
        )
    ]
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda each: each[0].facts(), ran))
    assert [facts.read_rows for facts in told if facts] == [rows for _, rows in ran]


@slow
def test_queries_without_jobs_took_nothing(spark: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.5)
    for sql in ("SELECT nothing FROM nation", "SELECT 1 / 0"):
        outcome = spark.execute(sql)
        assert outcome.status == "failed"
        facts = facts_of(outcome)
        assert (facts.jobs, facts.read_bytes, facts.plan_digest) == (0, 0, None)
    assert spark.execute("DROP TABLE nation").facts() is None
    empty = facts_of(spark.execute("SELECT * FROM nation WHERE 1 = 0"))
    assert (empty.jobs, empty.read_rows) == (0, 0)


@slow
def test_a_stopped_query_is_told_as_far_as_it_came(spark: Engine) -> None:
    # Past the guard: of 40 tasks of half a second, two or so at a time.
    sql = "SELECT reflect('java.lang.Thread', 'sleep', 500L) FROM range(0, 40, 1, 40)"
    outcome = spark._execute(sql, Limits(timeout_s=2.0))
    assert outcome.status == "timeout"
    facts = facts_of(outcome)
    assert facts.jobs == 1
    assert facts.tasks is not None
    assert 0 < facts.tasks < 40


@slow
def test_a_server_that_does_not_tell(spark: Engine) -> None:
    assert isinstance(spark, SparkEngine)
    assert spark._link is not None
    ui = spark._link.ui
    assert ui is not None
    conf = {"spark.app.id": ui.application, "spark.ui.port": str(ui.port), VECTORED: "false"}

    def find(**changed: str) -> SparkUI | None:
        told = {**conf, **{name.replace("_", "."): value for name, value in changed.items()}}
        return SparkUI.find(SimpleNamespace(conf=told), "127.0.0.1")

    assert find() == ui
    assert find(spark_ui_enabled="false") is None
    assert find(spark_ui_port="1") is None
    assert find(spark_app_id="app-of-somebody-else") is None
    del conf[VECTORED]
    careless = find()
    assert careless is not None
    assert not careless.counts_bytes
    spark._link.ui = careless
    try:
        facts = facts_of(spark.execute("SELECT count(n_name) FROM nation"))
    finally:
        spark._link.ui = ui
    assert (facts.read_bytes, facts.read_rows) == (None, 25)


PLAN = """\
== Physical Plan ==
AdaptiveSparkPlan (9)
+- == Final Plan ==
   ResultQueryStage (5), Statistics(sizeInBytes=8.0 EiB)
   +- * HashAggregate (4)
      +- ShuffleQueryStage (3), Statistics(sizeInBytes=192.0 B, rowCount=3)
         +- Exchange (2)
            +- Scan parquet t (1)
+- == Initial Plan ==
   HashAggregate (8)
   +- Exchange (7)
      +- Scan parquet t (1)


(1) Scan parquet t
Output [2]: [a#268, b#272]
Location: InMemoryFileIndex [file:/some/where/t.parquet]
ReadSchema: struct<a:int>

(2) Exchange
Arguments: hashpartitioning(a#268, 2), ENSURE_REQUIREMENTS, [plan_id=1787]

(3) ShuffleQueryStage
Output [1]: [a#268]
Arguments: 0

(4) HashAggregate [codegen id : 2]
Keys [1]: [a#268]

(5) ResultQueryStage
Output [1]: [a#268]
Arguments: 1

(7) Exchange
Arguments: hashpartitioning(a#268, 200), ENSURE_REQUIREMENTS, [plan_id=1771]

(8) HashAggregate
Keys [1]: [a#268]

(9) AdaptiveSparkPlan
Arguments: isFinalPlan=true
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("#268", "#1268", True),
        ("plan_id=17", "plan_id=99", True),
        ("/some/where", "/else/where", True),
        ("192.0 B, rowCount=3", "1921.0 KiB, rowCount=4", True),
        ("[codegen id : 2]", "[codegen id : 7]", True),
        ("Arguments: 1\n", "Arguments: 4\n", True),
        ("(a#268, 200)", "(b#272, 200)", True),
        ("[a#268, b#272]", "[a#268]", False),
        ("Keys [1]: [a#268]", "Keys [1]: [b#272]", False),
        ("(a#268, 2)", "(a#268, 3)", False),
        ("* HashAggregate (4)", "SortAggregate (4)", False),
        ("isFinalPlan=true", "isFinalPlan=false", False),
    ],
)
def test_digest_leaves_out_what_is_of_one_run(old: str, new: str, same: bool) -> None:
    assert old in PLAN
    assert (plan_digest(PLAN.replace(old, new)) == plan_digest(PLAN)) == same
