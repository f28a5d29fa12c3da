"""A small data set of every common type, and the engines over it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.engines import Engine, open_engine
from bothends.infra.dataset import Dataset, ForeignKey

ITEMS: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "price": [Decimal("0.10"), Decimal("1234567.89"), None],
    "ratio": [0.5, -2.25, None],
    "name": ["00501", "Zoë 'x'", None],
    "sold": [dt.date(1995, 3, 15), dt.date(2024, 2, 29), None],
    "seen": [dt.datetime(1995, 3, 15, 13, 45, 6), dt.datetime(2024, 2, 29, 0, 0), None],  # noqa: DTZ001
    "active": [True, False, None],
}
ITEM_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("ratio", pa.float64()),
        pa.field("name", pa.string()),
        pa.field("sold", pa.date32()),
        pa.field("seen", pa.timestamp("us")),
        pa.field("active", pa.bool_()),
    ]
)


@pytest.fixture(scope="session")
def items(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Tables `item` (3 rows, one of NULLs) and `order` (1000 rows; a reserved word as a name)."""
    directory = tmp_path_factory.mktemp("items")
    pq.write_table(pa.table(ITEMS, schema=ITEM_SCHEMA), directory / "item.parquet")
    numbers = list(range(1000))
    orders = pa.table({"number": numbers, "item_id": [1 + number % 3 for number in numbers]})
    pq.write_table(orders, directory / "order.parquet")
    return Dataset(
        name="items",
        scale_factor=None,
        directory=directory,
        tables={"item": directory / "item.parquet", "order": directory / "order.parquet"},
        primary_keys={"item": ("id",)},
        foreign_keys={"order": (ForeignKey(("item_id",), "item"),)},
        digest="0123abcd",
    )


def slow(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.fixture(scope="session")
def local_spark(items: Dataset) -> Iterator[Engine]:
    """Spark on this machine over the items, one server for the whole session."""
    with open_engine("spark", items) as opened:
        yield opened


@pytest.fixture(
    scope="session",
    params=["sqlite", "postgres", *map(slow, ("spark", "spark-standalone", "spark-connect"))],
)
def engine(request: pytest.FixtureRequest, items: Dataset) -> Iterator[Engine]:
    """Each engine over the items, one after the other: a cluster has room for few applications."""
    spec = request.param
    if spec == "spark":
        yield request.getfixturevalue("local_spark")
        return
    if spec.startswith("spark-"):
        state = request.getfixturevalue("cluster").state
        spec = state.master if spec == "spark-standalone" else state.connect
    with open_engine(spec, items) as opened:
        yield opened
