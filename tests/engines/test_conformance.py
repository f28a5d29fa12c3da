"""What every engine must do, asked of every engine."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bothends.engines import Capability, Engine, Limits
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UnknownTableError

TYPES = {
    "sqlite": ("integer", "real", "real", "text", "text", "text", "integer"),
    "postgres": (
        *("bigint", "numeric(10,2)", "double precision", "text", "date"),
        *("timestamp without time zone", "boolean"),
    ),
    "spark": ("bigint", "decimal(10,2)", "double", "string", "date", "timestamp_ntz", "boolean"),
}
ENDLESS = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT max(x) FROM n",
    "postgres": "SELECT count(*) FROM generate_series(1, 1000000000000) AS s(n) WHERE n % 3 = 1",
    "spark": "SELECT count(*) FROM range(1000000000000) WHERE hash(id) % 3 = 1",
}
WRITES = [
    "INSERT INTO item SELECT * FROM item",
    "INSERT OVERWRITE item SELECT * FROM item WHERE id = 1",
    "UPDATE item SET name = 'x'",
    "DELETE FROM item",
    "DROP TABLE item",
    "CREATE TABLE copy AS SELECT * FROM item",
    "WITH one AS (SELECT * FROM item) INSERT INTO item SELECT * FROM one",
    "TRUNCATE TABLE item",
    "ALTER TABLE item ADD COLUMN extra INT",
    "SELECT 1; DELETE FROM item",
]


def first_item(engine: Engine) -> tuple[Any, ...]:
    """The first row of `item`, as an engine with the types that this one has returns it."""
    price: Any = Decimal("0.10")
    sold: Any = dt.date(1995, 3, 15)
    seen: Any = dt.datetime(1995, 3, 15, 13, 45, 6)  # noqa: DTZ001
    active: Any = True
    if Capability.decimals in engine.lacks:
        price = 0.1
    if Capability.dates in engine.lacks:
        sold, seen = "1995-03-15", "1995-03-15 13:45:06"
    if Capability.booleans in engine.lacks:
        active = 1
    return (1, price, 0.5, "00501", sold, seen, active)


def busy_s(processes: set[int], window_s: float) -> float:
    """The seconds of CPU that some processes take within some seconds."""
    before = {pid: cpu_s(pid) for pid in processes}
    time.sleep(window_s)
    return sum(cpu_s(pid) - s for pid, s in before.items() if cpu_s(pid))


def cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def family(*roots: int) -> set[int]:
    """Some processes and all that descend from them."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
    members = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in members} - members:
        members |= more
    return members


def quoted(engine: Engine, name: str) -> str:
    return f"`{name}`" if engine.dialect == "spark" else f'"{name}"'


def parquet_bytes(items: Dataset) -> dict[Path, bytes]:
    files = [path for path in items.directory.rglob("*") if path.is_file()]
    copies = (".sqlite", "/postgres/")
    return {path: path.read_bytes() for path in files if not any(c in str(path) for c in copies)}


def test_lists_tables_sorted(engine: Engine) -> None:
    assert engine.list_tables() == ("item", "order")


def test_ddl_names_every_column_and_no_path(engine: Engine, items: Dataset) -> None:
    ddl = engine.ddl("item")
    assert ddl.startswith("CREATE TABLE")
    for column in ("id", "price", "ratio", "name", "sold", "seen", "active"):
        assert column in ddl
    assert str(items.directory) not in ddl
    assert "COLLATE" not in ddl


def test_names_ignore_case(engine: Engine) -> None:
    assert engine.ddl("ITEM") == engine.ddl("item")


def test_sample_returns_rows(engine: Engine) -> None:
    outcome = engine.sample("order", 2)
    assert outcome.status == "ok"
    assert outcome.columns == ("number", "item_id")
    assert outcome.row_count == len(outcome.rows) == 2


def test_unknown_table_is_named_with_the_known_ones(engine: Engine) -> None:
    with pytest.raises(UnknownTableError, match=r"'nope'.*item, order"):
        engine.ddl("nope")
    with pytest.raises(UnknownTableError):
        engine.sample("nope; DROP TABLE item", 1)


def test_explain_plans_without_running(engine: Engine) -> None:
    outcome = engine.explain(ENDLESS[engine.name])
    assert outcome.status == "ok"
    assert len(outcome.rows) == 1
    assert isinstance(outcome.rows[0][0], str)
    assert outcome.rows[0][0]


def test_explain_leaks_no_path(engine: Engine, items: Dataset) -> None:
    assert str(items.directory) not in engine.explain("SELECT * FROM item").rows[0][0]


def test_explain_says_what_is_wrong(engine: Engine) -> None:
    outcome = engine.explain("SELECT nope FROM item")
    assert outcome.status == "failed"
    assert "nope" in (outcome.error or "")


def test_values_and_types(engine: Engine) -> None:
    outcome = engine.execute("SELECT * FROM item ORDER BY id")
    assert outcome.status == "ok"
    assert outcome.error is None
    assert outcome.columns == ("id", "price", "ratio", "name", "sold", "seen", "active")
    assert outcome.types == TYPES[engine.name]
    assert outcome.rows[0] == first_item(engine)
    assert [type(value) for value in outcome.rows[0]] == [
        type(value) for value in first_item(engine)
    ]
    assert outcome.rows[1][3] == "Zoë 'x'"
    assert outcome.rows[2] == (3, *[None] * 6)
    assert outcome.row_count == 3
    assert not outcome.truncated
    assert outcome.seconds > 0


def test_decimals_are_not_shifted_by_a_bit(engine: Engine) -> None:
    outcome = engine.execute("SELECT price FROM item WHERE id = 2")
    assert float(outcome.rows[0][0]) == float("1234567.89")


def test_empty_result_keeps_its_columns(engine: Engine) -> None:
    outcome = engine.execute("SELECT id, name FROM item WHERE id > 99")
    assert (outcome.status, outcome.columns, outcome.rows) == ("ok", ("id", "name"), ())
    assert outcome.row_count == 0
    assert len(outcome.types) == 2


def test_duplicate_column_names_survive(engine: Engine) -> None:
    outcome = engine.execute("SELECT id AS x, name AS x, id AS x FROM item WHERE id = 1")
    assert outcome.columns == ("x", "x", "x")
    assert outcome.rows == ((1, "00501", 1),)


def test_rows_past_the_cap_are_counted(engine: Engine) -> None:
    sql = f"SELECT number FROM {quoted(engine, 'order')} ORDER BY number"
    outcome = engine.execute(sql, Limits(max_rows=7))
    assert outcome.rows == tuple((number,) for number in range(7))
    assert outcome.row_count == 1000
    assert outcome.truncated
    assert not engine.execute(sql, Limits(max_rows=1000)).truncated
    assert engine.execute(sql, Limits(max_rows=0)).row_count == 1000


@pytest.mark.parametrize(
    "sql", ["SELECT nope FROM item", "SELECT FROM WHERE", "SELECT * FROM nope"]
)
def test_failure_is_an_outcome_in_a_line(engine: Engine, sql: str) -> None:
    outcome = engine.execute(sql)
    assert outcome.status == "failed"
    assert outcome.error
    assert len(outcome.error) <= 800
    assert "\tat " not in outcome.error
    assert outcome.row_count is None


def test_timeout_stops_the_query_and_the_next_one_is_not_slowed(
    engine: Engine, request: pytest.FixtureRequest
) -> None:
    roots = [os.getpid()]
    if engine.fingerprint().settings.get("spark.master", "").startswith("spark:"):
        roots.append(request.getfixturevalue("cluster").state.pids["keeper"])
    outcome = engine.execute(ENDLESS[engine.name], Limits(timeout_s=1.0))
    ended = time.monotonic()
    assert outcome.status == "timeout"
    assert "1 s" in (outcome.error or "")
    assert 1.0 <= outcome.seconds < 10.0
    # What ran then is idle or gone soon: processes that are started anew do not count.
    processes = family(*roots)
    while busy_s(processes, 0.4) > 0.2:
        assert time.monotonic() - ended < 5.0, "the query still runs"
    engine.prepare()
    after = engine.execute("SELECT count(*) FROM item")
    assert after.rows == ((3,),)
    assert after.seconds < 10.0


def test_cancel_ends_the_query_and_the_next_one_works(engine: Engine) -> None:
    engine.cancel()  # nothing runs: nothing happens
    canceller = threading.Timer(0.5, engine.cancel)
    canceller.start()
    start = time.monotonic()
    outcome = engine.execute(ENDLESS[engine.name], Limits(timeout_s=120.0))
    canceller.join()
    assert time.monotonic() - start < 20.0
    assert (outcome.status, outcome.error) == ("failed", "cancelled")
    assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)


def test_what_is_lacking_is_said(engine: Engine) -> None:
    assert all(said and not said.endswith(".") for said in engine.lacks.values())
    assert (Capability.decimals in engine.lacks) == (engine.name == "sqlite")
    assert (Capability.facts in engine.lacks) == (engine.name != "spark")
    facts = engine.execute("SELECT id FROM item WHERE id > 1").facts()
    assert (facts.read_rows if facts else None) == (3 if engine.name == "spark" else None)


@pytest.mark.parametrize("sql", WRITES)
def test_writes_are_rejected_and_change_nothing(engine: Engine, items: Dataset, sql: str) -> None:
    before = parquet_bytes(items)
    outcome = engine.execute(sql)
    assert outcome.status == "rejected"
    assert outcome.error
    assert engine.explain(sql).status == "rejected"
    assert parquet_bytes(items) == before


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO item SELECT * FROM item",
        "INSERT OVERWRITE item VALUES (1, 1, 1, 'a', NULL, NULL, true)",
        "DELETE FROM item",
        "CREATE TABLE copy AS SELECT * FROM item",
    ],
)
def test_engine_itself_cannot_write(engine: Engine, items: Dataset, sql: str) -> None:
    before = parquet_bytes(items)
    assert engine._execute(sql, Limits()).status == "failed"
    assert parquet_bytes(items) == before
    assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)


def test_fingerprint_is_stable_and_tells_no_secret(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = engine.fingerprint()
    monkeypatch.setenv("SOME_API_KEY", "hush-hush")
    assert engine.fingerprint() == first
    assert first.engine == engine.name
    assert first.version
    assert len(first.catalog_digest) == 16
    assert first.data == "items 0123abcd"
    assert "hush-hush" not in repr(first)


def test_dialect_is_known_to_the_guard(engine: Engine) -> None:
    assert engine.execute("SELECT 1").rows == ((1,),)
    assert engine.title
