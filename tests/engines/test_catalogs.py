"""Catalogs as enterprises have them, on every engine: many tables, schemas, odd names, views."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bothends.engines import Engine, open_engine, spark_catalog
from bothends.engines.postgres_server import PostgresServer
from bothends.engines.spark import SparkEngine
from bothends.engines.spark_catalog import create_table
from bothends.infra.dataset import Dataset
from bothends.infra.errors import AmbiguousTableError, UnknownTableError

# Recorded conversations hold these texts: a change in them is a change in what was measured.
TPCH_DDL = {
    "sqlite": {
        "customer": "a86849a496f7",
        "lineitem": "3242df6929c4",
        "nation": "e1f095bbf51c",
        "orders": "944f2c5995da",
        "part": "9970e1f49561",
        "partsupp": "351ea85a193a",
        "region": "bae1e8824a89",
        "supplier": "c7efb67144e5",
    },
    "postgres": {
        "customer": "15c40bb8cddd",
        "lineitem": "50b07b57ca16",
        "nation": "a3ca5375b75f",
        "orders": "aeb41dc7ceb2",
        "part": "6c6eed120b4a",
        "partsupp": "f517b936bd1a",
        "region": "a0bdbc338789",
        "supplier": "0f84ebe7efb4",
    },
    "spark": {
        "customer": "bdd129f4f150",
        "lineitem": "9ccae2c71043",
        "nation": "f800ab3674dd",
        "orders": "219a943650b9",
        "part": "fe394bb735e4",
        "partsupp": "0a56ae819030",
        "region": "cc82ac13f9e9",
        "supplier": "dadeffbf7a2f",
    },
}
SPARK_OBJECTS = """
    CREATE SCHEMA sales;
    CREATE SCHEMA `2024`;
    CREATE TABLE sales.event (
      day DATE COMMENT 'the -- day, it''s (local)', `odd``name` STRING, part INT
    ) USING parquet PARTITIONED BY (part) COMMENT 'What happened';
    CREATE TABLE sales.order (id BIGINT) USING parquet
      OPTIONS ('password' = 'hush)hush') TBLPROPERTIES ('k' = 'v)');
    CREATE TABLE `2024`.event (day DATE) USING parquet;
    CREATE VIEW sales.daily (day COMMENT 'each', n) COMMENT 'Counts' AS
      SELECT day, count(*) AS c FROM sales.event GROUP BY day;
    CREATE TEMPORARY VIEW item AS SELECT 1 AS a, named_struct('X', 'y') AS pair;
    CREATE TEMPORARY VIEW `odd view` AS SELECT 2 AS b
"""


def digests(engine: Engine) -> dict[str, str]:
    return {
        table: hashlib.sha256(engine.ddl(table).encode()).hexdigest()[:12]
        for table in TPCH_DDL["sqlite"]
    }


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_ddl_of_tpch_stays_as_it_is(name: str, tpch_dataset: Dataset) -> None:
    with open_engine(name, tpch_dataset) as engine:
        assert engine.list_tables() == tuple(sorted(TPCH_DDL[name]))
        assert digests(engine) == TPCH_DDL[name]


def sqlite_of(path: Path, script: str) -> Engine:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"BEGIN; {script}; COMMIT")
    return open_engine(f"sqlite:///{path}")


def test_sqlite_with_many_tables_and_odd_names(tmp_path: Path) -> None:
    script = ";".join(f"CREATE TABLE t{number:04d} (a INT)" for number in range(2000))
    script += """;
        CREATE TABLE "a.b" (x INT); CREATE TABLE "order" (x INT); CREATE TABLE [two words] (x INT);
        CREATE TABLE Mixed (
          -- its key
          id INTEGER PRIMARY KEY, 'it''s' TEXT /* odd */
        );
        INSERT INTO "a.b" VALUES (7);
        CREATE VIEW v("order", [y z]) AS SELECT x, x + 1 FROM "a.b";
        CREATE VIEW broken AS SELECT * FROM gone
    """
    with sqlite_of(tmp_path / "many.db", script) as engine:
        names = engine.list_tables()
        assert len(names) == 2006
        assert names[:2] == ('"a.b"', '"two words"')
        assert {"Mixed", "order", "v", "broken", "t1999"} <= set(names)
        assert engine.ddl('"a.b"') == engine.ddl("`A.B`") == engine.ddl("main.[a.b]")
        assert engine.ddl("mixed").count("-- its key") == 1
        assert engine.sample('"a.b"', 3).rows == engine.sample("a.b", 3).rows == ((7,),)
        assert engine.ddl("v") == (
            'CREATE VIEW v (\n  "order" INT,\n  "y z"\n) AS\nSELECT x, x + 1 FROM "a.b"'
        )
        assert engine.ddl("broken") == "CREATE VIEW broken AS SELECT * FROM gone"
        assert engine.sample("broken", 1).status == "failed"
        with pytest.raises(UnknownTableError) as caught:
            engine.ddl("t12345")
        assert len(str(caught.value)) < 500
        assert "t1234, " in str(caught.value)


def test_a_table_that_was_dropped_since_is_unknown(tmp_path: Path) -> None:
    with sqlite_of(tmp_path / "t.db", "CREATE TABLE t (a); CREATE TABLE u (a)") as engine:
        assert engine.ddl("t")
        with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
            connection.execute("DROP TABLE t")
        with pytest.raises(UnknownTableError, match=r"the tables are: u$"):
            engine.ddl("t")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A PostgreSQL of 300 tables in three schemas, as a guest who may not read everything."""
    server = PostgresServer(tmp_path_factory.mktemp("warehouse"))
    place = str(server.socket_directory).replace("/", "%2F")
    address = f"postgresql://{{}}@{place}/postgres"
    wide = ", ".join(f"c{number} int" for number in range(500))
    with psycopg.connect(address.format("postgres")) as owner:
        schemas = ("sales", "web", '"Odd.One"', "secret")
        owner.execute("; ".join(f"CREATE SCHEMA {schema}" for schema in schemas).encode())
        tables = (f"CREATE TABLE sales.t{number:03d} (a int)" for number in range(300))
        owner.execute("; ".join(tables).encode())
        owner.execute(
            f"""
            CREATE TABLE wide ({wide});
            CREATE TABLE event (a int); CREATE TABLE sales.event (a int);
            CREATE TABLE sales.visit (a int); CREATE TABLE web.visit (a int);
            CREATE TABLE "Odd.One"."Big ""T" (a int, "B,c" text);
            COMMENT ON TABLE "Odd.One"."Big ""T" IS 'Odd, (yes)';
            INSERT INTO "Odd.One"."Big ""T" VALUES (1, 'x');
            CREATE VIEW web.seen AS SELECT a, a / 2.0 AS half FROM web.visit;
            COMMENT ON VIEW web.seen IS 'Who came';
            COMMENT ON COLUMN web.seen.half IS 'half of it';
            CREATE MATERIALIZED VIEW web.kept AS SELECT 1::bigint AS one;
            CREATE TABLE secret.plan (a int); CREATE TABLE hidden (a int);
            CREATE TABLE pay (id int PRIMARY KEY, name text, salary int);
            INSERT INTO pay VALUES (1, 'Ann', 9);
            CREATE ROLE guest LOGIN;
            GRANT USAGE ON SCHEMA sales, web, "Odd.One" TO guest;
            GRANT SELECT ON ALL TABLES IN SCHEMA public, sales, web, "Odd.One", secret TO guest;
            REVOKE ALL ON hidden, pay FROM guest;
            GRANT SELECT (id, name) ON pay TO guest;
            """.encode()
        )
    with open_engine(address.format("guest")) as engine:
        yield engine
    server.close()


def test_postgres_lists_schemas_and_what_may_be_read(warehouse: Engine) -> None:
    names = warehouse.list_tables()
    assert len(names) == 300 + 9
    assert [name for name in names if not name.startswith("sales.t")] == [
        *('"Odd.One"."Big ""T"', "event", "pay", "sales.event", "sales.visit"),
        *("web.kept", "web.seen", "web.visit", "wide"),
    ]


def test_postgres_ddl_across_schemas(warehouse: Engine) -> None:
    assert warehouse.ddl('[odd.one].`big "t`') == (
        'CREATE TABLE "Odd.One"."Big ""T" ( -- Odd, (yes)\n  a integer,\n  "B,c" text\n)'
    )
    assert warehouse.ddl("event").startswith("CREATE TABLE event (")
    assert warehouse.ddl("t007").startswith("CREATE TABLE sales.t007 (")
    with pytest.raises(AmbiguousTableError, match=r"write one of sales\.visit, web\.visit$"):
        warehouse.ddl("visit")
    assert warehouse.ddl("web.seen") == (
        "CREATE VIEW web.seen ( -- Who came\n  a integer,\n  half numeric -- half of it\n) AS\n"
        " SELECT a,\n    a::numeric / 2.0 AS half\n   FROM web.visit"
    )
    assert warehouse.ddl("web.kept").startswith("CREATE MATERIALIZED VIEW web.kept (\n  one bigint")
    assert warehouse.ddl("wide").count(" integer") == 500
    for unreadable in ("secret.plan", "hidden", "pg_catalog.pg_class"):
        with pytest.raises(UnknownTableError):
            warehouse.ddl(unreadable)


def test_postgres_shows_the_columns_that_may_be_read(warehouse: Engine) -> None:
    assert warehouse.ddl("pay") == (
        "CREATE TABLE pay (\n  id integer NOT NULL,\n  name text,\n  PRIMARY KEY (id)\n)"
    )
    assert warehouse.sample("pay", 3).rows == ((1, "Ann"),)
    assert warehouse.sample('"Odd.One"."Big ""T"', 3).rows == ((1, "x"),)


def test_postgres_fingerprint_of_many_tables(warehouse: Engine) -> None:
    assert len(warehouse.fingerprint().catalog_digest) == 16


@pytest.fixture
def objects(engine: SparkEngine) -> Iterator[SparkEngine]:
    """The session's Spark with schemas, views and odd names of ours, which go again."""
    session: Any = engine._ready().session
    try:
        for statement in SPARK_OBJECTS.split(";\n"):
            session.sql(statement)
        yield engine
    finally:
        for schema in ("sales", "`2024`"):
            session.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        for view in ("item", "odd view"):
            session.catalog.dropTempView(view)


only_spark = pytest.mark.parametrize("engine", ["spark"], indirect=True)


@pytest.mark.slow
@only_spark
def test_spark_catalog(objects: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = objects._catalog._ask
    monkeypatch.setattr(objects._catalog, "_ask", lambda sql: asked.append(sql) or ask(sql))
    assert objects.list_tables() == (
        *("`2024`.event", "`odd view`", "default.item", "item", "order"),
        *("sales.daily", "sales.event", "sales.order"),
    )
    del asked[:]
    assert objects.ddl("SALES.Event") == (
        "CREATE TABLE sales.event (\n"
        "  day DATE COMMENT 'the -- day, it\\'s (local)',\n"
        "  `odd``name` STRING,\n"
        "  part INT)\n"
        "USING parquet\n"
        "PARTITIONED BY (part)\n"
        "COMMENT 'What happened'"
    )
    assert objects.ddl('sales."order"') == (
        "CREATE TABLE sales.order (\n  id BIGINT)\nUSING parquet"
    )
    assert objects.ddl('"2024".event').startswith("CREATE TABLE `2024`.event (")
    assert objects.ddl("default.item").startswith("CREATE TABLE default.item (\n  id BIGINT")
    # The catalog is not listed for each of them.
    assert [sql.partition(" `")[0] for sql in asked] == ["SHOW CREATE TABLE"] * 4
    assert objects.ddl("daily").startswith(
        "CREATE VIEW sales.daily (\n  day DATE COMMENT 'each',\n  n BIGINT)\nCOMMENT 'Counts'"
    )
    assert objects.ddl("daily").endswith("SELECT day, count(*) AS c FROM sales.event GROUP BY day")
    assert objects.ddl("item") == (
        "CREATE TEMPORARY VIEW item (\n  a INT,\n  pair struct<X:string>)"
    )
    assert objects.sample("odd view", 2).rows == ((2,),)
    with pytest.raises(AmbiguousTableError, match=r"`2024`\.event, sales\.event$"):
        objects.ddl("event")
    with pytest.raises(UnknownTableError):
        objects.sample("parquet.`/etc/passwd`", 1)


@pytest.mark.slow
@only_spark
def test_spark_digest_of_a_large_catalog(
    objects: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_catalog, "_FEW_TABLES", 2)
    first = objects._catalog.described()
    assert objects._catalog.described() == first
    for word in ("daily", "event", "odd view", "What happened", "odd`name: string"):
        assert word in first
    for volatile in ("Created Time", "Location", "hush", "/"):
        assert volatile not in first
    objects._ready().session.sql("ALTER TABLE sales.order ADD COLUMNS (more INT)")
    assert objects._catalog.described() != first


@pytest.mark.slow
@only_spark
def test_ddl_of_tpch_on_spark_stays_as_it_is(engine: SparkEngine, tpch_dataset: Dataset) -> None:
    session: Any = engine._ready().session
    for table, path in tpch_dataset.tables.items():
        session.sql(create_table(table, path))
    try:
        assert digests(engine) == TPCH_DDL["spark"]
    finally:
        for table in tpch_dataset.tables:
            session.sql(f"DROP TABLE {table}")
