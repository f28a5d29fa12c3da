"""A table that is a directory of part files reads as one file would, on each engine."""

from __future__ import annotations

import duckdb
import pytest

from bothends.engines import open_engine
from bothends.infra.dataset import Dataset
from bothends.infra.tpch import make_tpch


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """TPC-H at scale factor 0.01 with its three largest tables in several files each."""
    dataset = make_tpch(0.01, tmp_path_factory.mktemp("parts"), part_bytes=300_000)
    assert len(list(dataset.tables["lineitem"].iterdir())) == 8
    return dataset


@pytest.mark.parametrize(
    "name", ["sqlite", "postgres", pytest.param("spark", marks=pytest.mark.slow)]
)
def test_parts_read_as_one_table(
    name: str, parts: Dataset, tpch_dataset: Dataset, request: pytest.FixtureRequest
) -> None:
    # A Spark that runs already.
    spec = request.getfixturevalue("cluster").state.connect if name == "spark" else name
    with open_engine(spec, parts) as engine:
        assert set(engine.list_tables()) == set(parts.tables)
        for table, keys, amount in (
            ("lineitem", "l_orderkey * 8 + l_linenumber", "l_quantity"),
            ("orders", "o_orderkey", "o_custkey"),
            ("partsupp", "ps_partkey * 1000 + ps_suppkey", "ps_availqty"),
            ("nation", "n_nationkey", "n_regionkey"),
        ):
            query = f"SELECT count(*), count(DISTINCT {keys}), sum({amount}) FROM {{}}"
            expected = duckdb.sql(query.format(f"'{tpch_dataset.tables[table]}'")).fetchone()
            outcome = engine.execute(query.format(table))
            assert [tuple(map(float, row)) for row in outcome.rows] == [
                tuple(map(float, expected or ()))
            ]
