"""Estimates: against the files' true sizes, true row counts, and queries whose faults are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.engines import Capability, Engine, open_engine
from bothends.engines.estimate import Estimate
from bothends.engines.spark import SparkEngine
from bothends.engines.spark_estimate import spark_estimate
from bothends.eval.suites.registry import load_suite
from bothends.infra.dataset import Dataset

PLANS = Path(__file__).parent / "plans"
# A size in a plan of Spark's is rounded to a tenth of its unit, of which there are two at least.
ROUNDED = 0.025
DAYS = 3
TPCH = load_suite("tpch").questions
# Products, with the tables of both sides.
PRODUCTS = {
    "SELECT * FROM orders, lineitem": {"orders", "lineitem"},
    "SELECT count(*) FROM orders JOIN lineitem ON o_totalprice < l_extendedprice": {
        "orders",
        "lineitem",
    },
    # The second join has its key; the first one was forgotten.
    "SELECT c_name, sum(l_quantity) FROM customer, orders, lineitem "
    "WHERE o_orderkey = l_orderkey GROUP BY c_name": {"customer", "orders"},
}
# A side of one row, or of no table, and a question whether there is any row.
HARMLESS = (
    "SELECT * FROM orders WHERE o_totalprice > (SELECT avg(o_totalprice) FROM orders)",
    "SELECT o.*, m.most FROM orders o CROSS JOIN (SELECT max(o_totalprice) AS most FROM orders) m",
    "SELECT o.*, n.* FROM orders o CROSS JOIN (SELECT * FROM nation LIMIT 1) n",
    "SELECT * FROM nation CROSS JOIN (VALUES (1), (2)) AS v(x)",
    "SELECT * FROM nation WHERE EXISTS (SELECT 1 FROM region WHERE r_name = 'ASIA')",
    "SELECT * FROM orders WHERE o_custkey NOT IN (SELECT c_custkey FROM customer)",
)


def plan(name: str) -> str:
    return (PLANS / f"{name}.txt").read_text()


def only_sales(name: str) -> bool:
    return name == "spark_catalog.default.sales"


def size_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*.parquet")) or path.stat().st_size


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A table in a directory for each of three days; one of its columns' types is left to Spark."""
    directory = tmp_path_factory.mktemp("sales")
    table = pa.table(
        {
            "id": list(range(3000)),
            "seen": pa.array([0] * 3000, pa.timestamp("us")),
            "day": [f"2024-01-0{1 + number % DAYS}" for number in range(3000)],
        }
    )
    pq.write_to_dataset(table, directory / "sales", partition_cols=["day"])
    return Dataset("sales", None, directory, {"sales": directory / "sales"})


@pytest.fixture(scope="module")
def postgres(tpch_dataset: Dataset) -> Iterator[Engine]:
    with open_engine("postgres", tpch_dataset) as engine:
        yield engine


@pytest.fixture(scope="module")
def cluster_tpch(cluster: Any, tpch_dataset: Dataset) -> Iterator[Engine]:
    """TPC-H as views of somebody else's Spark, whose plans do not tell their names."""
    with open_engine(cluster.state.connect, tpch_dataset) as engine:
        yield engine


def test_a_pruned_scan_is_charged_for_what_is_left() -> None:
    assert spark_estimate(plan("pruned"), only_sales) == Estimate(scan_bytes=6042)  # 5.9 KiB


def test_what_partitions_are_pruned_by_is_read_once() -> None:
    """Two of three days on either side of the join, all of them for the average."""
    estimate = spark_estimate(plan("pruned_by_join"), only_sales)
    assert estimate.scan_bytes == round((11.9 + 11.9 + 17.8) * 1024)
    assert estimate.unfiltered_partitions == ("sales",)


def test_a_size_that_spark_does_not_know_is_none() -> None:
    estimate = spark_estimate(plan("unknown_size"), lambda name: name.endswith(".bare"))
    assert estimate == Estimate(unfiltered_partitions=("bare",))


def test_a_view_is_found_by_its_columns() -> None:
    views = {"orders": ("o_orderkey", "day"), "sold": ("id", "seen", "day")}
    estimate = spark_estimate(plan("view"), lambda name: name == "sold", views)
    assert estimate.cartesian == ("sold is joined with nation without a condition",)
    assert estimate.unfiltered_partitions == ("sold",)


def test_rows_are_told_where_tables_are_analyzed() -> None:
    estimate = spark_estimate(plan("analyzed"), only_sales)
    assert estimate.rows == 15_000 * 25
    assert estimate.cartesian == (
        "orders (15,000 rows) is joined with nation (25 rows) without a condition",
    )


def test_a_literal_of_two_lines_is_no_two_steps() -> None:
    estimate = spark_estimate(plan("literal"), only_sales)
    assert estimate.scan_bytes == round((597.2 + 3.3) * 1024)
    assert estimate.cartesian == ()


@pytest.mark.parametrize("text", ["", "== Physical Plan ==", "something else\nwith lines"])
def test_what_is_no_plan_tells_nothing(text: str) -> None:
    assert spark_estimate(text, only_sales).scan_bytes in {None, 0}
    assert spark_estimate(text, only_sales).cartesian == ()


def test_an_estimate_says_what_is_wrong_as_explain_does(engine: Engine) -> None:
    for sql in ("SELECT nope FROM item", "DELETE FROM item"):
        assert engine.estimate(sql).error == engine.explain(sql).error != None  # noqa: E711
        assert engine.estimate(sql).scan_bytes is None
    assert engine.estimate("SELECT id FROM item").error is None
    assert engine.estimate("SELECT id FROM item;").error is None


def test_a_product_is_told_by_every_engine_that_estimates(engine: Engine) -> None:
    order = "`order`" if engine.dialect == "spark" else '"order"'
    estimate = engine.estimate(f"SELECT * FROM item CROSS JOIN {order}")
    if Capability.estimates in engine.lacks:
        assert replace(estimate, seconds=0.0) == Estimate()
        return
    assert len(estimate.cartesian) == 1
    assert "item" in estimate.cartesian[0]
    assert "order" in estimate.cartesian[0]
    assert estimate.seconds > 0
    keyed = engine.estimate(f"SELECT * FROM item JOIN {order} ON id = item_id")
    assert keyed.cartesian == ()


@pytest.mark.slow
def test_spark_estimates_the_sizes_of_the_files(local_spark: Engine, items: Dataset) -> None:
    item, order = size_bytes(items.tables["item"]), size_bytes(items.tables["order"])
    for sql, size in {
        "SELECT id FROM item": item,
        "SELECT count(*) FROM item JOIN `order` ON id = item_id": item + order,
        "SELECT a.id FROM item a JOIN item b ON a.id = b.id": 2 * item,
        "SELECT 1": 0,
    }.items():
        assert local_spark.estimate(sql).scan_bytes == pytest.approx(size, rel=ROUNDED), sql


@pytest.mark.slow
def test_tpch_on_a_spark_server(cluster_tpch: Engine, tpch_dataset: Dataset) -> None:
    """No false alarm in the 22 queries, and as many bytes as their tables' files have."""
    lineitem = size_bytes(tpch_dataset.tables["lineitem"])
    for question in TPCH:
        estimate = cluster_tpch.estimate(question.gold_sql("spark"))
        assert (estimate.error, estimate.cartesian) == (None, ()), question.id
        assert estimate.unfiltered_partitions == (), question.id
        if question.id == "1":
            assert estimate.scan_bytes == pytest.approx(lineitem, rel=ROUNDED)
    for sql, tables in PRODUCTS.items():
        (told,) = cluster_tpch.estimate(sql).cartesian
        assert {table for table in tpch_dataset.tables if table in told.split()} >= tables, told
    for sql in HARMLESS:
        estimate = cluster_tpch.estimate(sql)
        assert (estimate.error, estimate.cartesian) == (None, ()), sql


@pytest.mark.slow
def test_spark_finds_the_partitions_of_a_table(
    local_spark: Engine, sales: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table whose types are left to Spark had no partitions, and so no rows."""
    assert isinstance(local_spark, SparkEngine)
    link: Any = local_spark._link
    monkeypatch.setattr(link, "_dataset", sales)
    link._register()
    path = sales.tables["sales"]
    try:
        assert local_spark.execute("SELECT count(*) FROM sales").rows == ((3000,),)
        whole = local_spark.estimate("SELECT sum(id) FROM sales WHERE id > 5")
        assert whole.unfiltered_partitions == ("sales",)
        assert whole.scan_bytes == pytest.approx(size_bytes(path), rel=ROUNDED)
        one = local_spark.estimate("SELECT sum(id) FROM sales WHERE day = '2024-01-02'")
        assert one.unfiltered_partitions == ()
        assert one.scan_bytes == pytest.approx(size_bytes(path / "day=2024-01-02"), rel=ROUNDED)
        # That a key is not null leaves no partition out.
        kept = local_spark.estimate("SELECT sum(id) FROM sales WHERE day IS NOT NULL")
        assert kept.unfiltered_partitions == ("sales",)
    finally:
        link.session.sql("DROP TABLE sales")


@pytest.mark.slow
def test_partitions_of_a_view_on_a_spark_server(cluster: Any, sales: Dataset) -> None:
    with open_engine(cluster.state.connect, sales) as engine:
        whole = engine.estimate("SELECT sum(id) FROM sales")
        assert whole.unfiltered_partitions == ("sales",)
        one = engine.estimate("SELECT sum(id) FROM sales WHERE day = '2024-01-02'")
        assert one.unfiltered_partitions == ()
        # The server prunes the view's files only when it runs: this is a bound, and a wide one.
        assert one.scan_bytes == whole.scan_bytes


def test_tpch_on_postgres(postgres: Engine, tpch_dataset: Dataset) -> None:
    for question in TPCH:
        estimate = postgres.estimate(question.gold_sql("postgres"))
        assert (estimate.error, estimate.cartesian) == (None, ()), question.id
    for sql, tables in PRODUCTS.items():
        (told,) = postgres.estimate(sql).cartesian
        assert {table for table in tpch_dataset.tables if table in told.split()} >= tables, told
    for sql in HARMLESS:
        estimate = postgres.estimate(sql)
        assert (estimate.error, estimate.cartesian) == (None, ()), sql


def test_postgres_estimates_sizes_and_rows(postgres: Engine, tpch_dataset: Dataset) -> None:
    held = postgres.execute("SELECT pg_relation_size('lineitem'), count(*) FROM lineitem").rows[0]
    whole = postgres.estimate("SELECT max(l_tax) FROM lineitem")
    assert whole.scan_bytes == held[0]
    assert whole.rows == held[1] == pq.read_metadata(tpch_dataset.tables["lineitem"]).num_rows
    # By an index, a page for each row at most.
    one = postgres.estimate("SELECT * FROM orders WHERE o_orderkey = 7")
    assert one.scan_bytes == 8192
    # What the join's equality became stands on both sides as a constant.
    tied = postgres.estimate(
        "SELECT * FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey WHERE a.o_custkey = 7"
    )
    assert tied.cartesian == ()
