"""What is SQLite's own: loading, files of the user's, odd text."""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
import threading
import time
import tracemalloc
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.engines import Limits, Outcome, open_engine
from bothends.engines.sqlite_load import load_sqlite
from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError, EngineError


@pytest.fixture
def copy(items: Dataset, tmp_path: Path) -> Dataset:
    for path in items.tables.values():
        shutil.copy(path, tmp_path)
    tables = {name: tmp_path / path.name for name, path in items.tables.items()}
    return dataclasses.replace(items, directory=tmp_path, tables=tables)


def test_ddl_holds_keys_types_and_not_null(items: Dataset) -> None:
    with open_engine("sqlite", items) as engine:
        assert engine.ddl("item") == (
            "CREATE TABLE item (\n"
            "  id INTEGER NOT NULL,\n"
            "  price REAL,\n"
            "  ratio REAL,\n"
            "  name TEXT,\n"
            "  sold TEXT /* YYYY-MM-DD */,\n"
            "  seen TEXT /* YYYY-MM-DD HH:MM:SS */,\n"
            "  active BOOLEAN,\n"
            "  PRIMARY KEY (id)\n"
            ")"
        )
        assert 'CREATE TABLE "order"' in engine.ddl("order")
        assert "FOREIGN KEY (item_id) REFERENCES item" in engine.ddl("order")


def test_foreign_key_has_an_index(items: Dataset) -> None:
    with open_engine("sqlite", items) as engine:
        plan = engine.explain('SELECT * FROM "order" WHERE item_id = 2')
    assert "USING INDEX order_item_id" in plan.rows[0][0]


def test_loaded_once_and_again_for_other_data(copy: Dataset) -> None:
    path = load_sqlite(copy)
    first = path.stat().st_ino
    assert load_sqlite(copy) == path
    assert path.stat().st_ino == first
    load_sqlite(dataclasses.replace(copy, digest="other"))
    assert path.stat().st_ino != first
    assert sorted(each.name for each in copy.directory.iterdir()) == [
        "bothends.sqlite",
        "item.parquet",
        "order.parquet",
    ]


def test_loaded_again_over_a_broken_file(copy: Dataset) -> None:
    (copy.directory / "bothends.sqlite").write_bytes(b"not a database" * 100)
    with open_engine("sqlite", copy) as engine:
        assert engine.list_tables() == ("item", "order")


def test_broken_parquet_leaves_nothing_behind(copy: Dataset) -> None:
    copy.tables["item"].write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="items"):
        load_sqlite(copy)
    assert not list(copy.directory.glob("*.sqlite*"))


def test_values_without_a_column_type_of_their_own(tmp_path: Path) -> None:
    table = pa.table(
        {
            "tags": [["a", "b"], None],
            "raw": [b"\x00\xff", None],
            "exact": pa.array(
                [Decimal("0.3"), Decimal("-12345678901234.56")], pa.decimal128(20, 2)
            ),
        }
    )
    pq.write_table(table, tmp_path / "odd.parquet")
    data = Dataset("odd", None, tmp_path, {"odd": tmp_path / "odd.parquet"})
    with open_engine("sqlite", data) as engine:
        outcome = engine.execute("SELECT * FROM odd")
    assert outcome.rows == (
        ('["a", "b"]', b"\x00\xff", 0.3),
        (None, None, -12345678901234.56),
    )
    assert outcome.types == ("text", "blob", "real")


def test_directory_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for part in range(3):
        pq.write_table(pa.table({"a": [part]}), tmp_path / "t" / f"t.{part}.parquet")
    data = Dataset("parts", None, tmp_path, {"t": tmp_path / "t"})
    with open_engine("sqlite", data) as engine:
        assert engine.execute("SELECT sum(a) FROM t").rows == ((3,),)


def test_text_that_is_not_utf8_is_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "odd.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT CAST(x'61FF62' AS TEXT) AS a")
        connection.commit()
    with open_engine(f"sqlite:///{tmp_path / 'odd.db'}") as engine:
        assert engine.execute("SELECT a FROM t").rows == (("a\ufffdb",),)


def test_text_that_is_not_utf8_is_read_at_once_the_next_time(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "odd.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS n, 'plain' AS a")
        connection.execute("INSERT INTO t VALUES (2, CAST(x'FF' AS TEXT))")
        connection.commit()
    with open_engine(f"sqlite:///{tmp_path / 'odd.db'}") as engine:
        for _ in range(2):
            assert engine.execute("SELECT a FROM t").rows == (("plain",), ("\ufffd",))
            assert engine.execute("SELECT n FROM t").rows == ((1,), (2,))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT hex(zeroblob(500000000))",
        'SELECT group_concat(hex(zeroblob(10000000))) FROM "order"',
        "SELECT replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000)))",
    ],
)
def test_a_value_too_long_for_this_process_is_a_failure(items: Dataset, sql: str) -> None:
    with open_engine("sqlite", items) as engine:
        outcome = engine.execute(sql)
    assert (outcome.status, outcome.error) == ("failed", "string or blob too big")


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT sum(length(hex(randomblob(20000000)))) FROM "order"',
        "SELECT count(*) FROM \"order\" WHERE hex(zeroblob(20000000 + number)) LIKE '%1%0%1'",
        'SELECT a.number FROM "order" a, "order" b, "order" c ORDER BY a.number || b.number || 1',
    ],
)
def test_a_query_of_long_steps_ends_soon_after_its_time(items: Dataset, sql: str) -> None:
    with open_engine("sqlite", items) as engine:
        start = time.monotonic()
        assert engine.execute(sql, Limits(timeout_s=0.2)).status == "timeout"
        assert time.monotonic() - start < 5.2
        # It ran in this thread, so that nothing of it is left, and the next one is itself again.
        assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)


def test_rows_become_fewer_at_a_time_where_they_are_long(items: Dataset) -> None:
    sql = 'SELECT number, zeroblob(3000000) FROM "order" WHERE number < 200'
    with open_engine("sqlite", items) as engine:
        tracemalloc.start()
        outcome = engine.execute(sql, Limits(max_bytes=10_000_000))
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert [(row[0], len(row[1])) for row in outcome.rows] == [(n, 2**20) for n in range(9)]
    assert outcome.row_count == 200
    assert outcome.truncated
    assert outcome.cells_cut
    assert peak_bytes < 200 * 3_000_000 / 4


def test_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello, this is not a database at all\n" * 50)
    with pytest.raises(EngineError, match="not a database"):
        open_engine(f"sqlite:///{tmp_path / 'note.txt'}")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO item (id) VALUES (9)",
        "CREATE TEMP TABLE x AS SELECT 1",
        "ATTACH ':memory:' AS x",
        "PRAGMA query_only = 0",
        "SELECT load_extension('x')",
    ],
)
def test_connection_itself_only_reads(items: Dataset, sql: str) -> None:
    with open_engine("sqlite", items) as engine:
        assert engine._execute(sql, Limits()).status == "failed"


def test_views_are_listed_and_described(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "views.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("CREATE VIEW v AS SELECT a FROM t")
    with open_engine(f"sqlite:///{tmp_path / 'views.db'}") as engine:
        assert engine.list_tables() == ("t", "v")
        assert engine.ddl("v") == "CREATE VIEW v (\n  a\n) AS\nSELECT a FROM t"


def test_usable_from_another_thread(items: Dataset) -> None:
    outcomes: list[Outcome] = []
    with open_engine("sqlite", items) as engine:
        worker = threading.Thread(target=lambda: outcomes.append(engine.execute("SELECT 1")))
        worker.start()
        worker.join()
    assert outcomes[0].rows == ((1,),)


def test_close_twice(items: Dataset) -> None:
    engine = open_engine("sqlite", items)
    engine.close()
    engine.close()
