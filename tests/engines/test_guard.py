"""Statements that must pass the guard, and statements that must not."""

from __future__ import annotations

import pytest

from bothends.engines.guard import check_read_only

HARMLESS = [
    ("sqlite", "SELECT 1"),
    ("sqlite", "SELECT 1;"),
    ("sqlite", "SELECT 1; -- done"),
    ("sqlite", "-- what is asked\nSELECT 1"),
    ("sqlite", "VALUES (1, 2), (3, 4)"),
    ("sqlite", "SELECT replace(name, 'a', 'b') FROM t"),
    ("sqlite", "SELECT 'a; DROP TABLE t' AS text"),
    ("sqlite", 'SELECT "delete", [update] FROM "insert"'),
    ("sqlite", "SELECT * FROM pragma_table_info('t')"),
    ("sqlite", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT * FROM n"),
    ("postgres", "SELECT name::text, price::numeric(10, 2) FROM t WHERE name ILIKE 'a%'"),
    ("postgres", "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b DESC"),
    ("postgres", "SELECT data ->> 'a', tags[1], date_trunc('month', d) FROM t"),
    ("postgres", "SELECT count(*) FILTER (WHERE a > 1) FROM t, LATERAL (SELECT 1) AS l"),
    ("spark", "(SELECT 1) UNION ALL (SELECT 2)"),
    ("spark", "SELECT * FROM a EXCEPT SELECT * FROM b"),
    ("spark", "WITH a AS (SELECT 1 AS x) SELECT x FROM a"),
    ("spark", "SELECT 'it\\'s; DROP TABLE t'"),
    ("spark", "SELECT `drop` FROM t"),
    ("spark", "SELECT a FROM t LATERAL VIEW explode(x) e AS a"),
    ("spark", "SELECT * FROM VALUES (1, 2) AS t(a, b)"),
    ("spark", "SELECT * FROM default.t"),
    ("spark", "SELECT csv FROM t AS text"),
    ("spark", "SELECT /*+ BROADCAST(t) */ * FROM t"),
    ("spark", "SELECT date'2020-01-01' + INTERVAL 3 MONTHS"),
    # sqlglot cannot parse these; the engine says better what is wrong with them.
    ("spark", "SELECT foo.(b"),
    ("sqlite", "SELECT FROM WHERE"),
    ("spark", "SELECT a FROM t GROUP BY ((a)"),
]
HOSTILE = [
    ("sqlite", ""),
    ("sqlite", ";"),
    ("sqlite", "-- nothing"),
    ("sqlite", "I cannot answer this."),
    ("sqlite", "SELECT 1; SELECT 2"),
    ("sqlite", "SELECT 1; DROP TABLE t"),
    ("sqlite", "SELECT 'a\\'; DROP TABLE t; --'"),
    ("sqlite", "SELECT 'unterminated"),
    ("sqlite", "INSERT INTO t VALUES (1)"),
    ("sqlite", "REPLACE INTO t VALUES (1)"),
    ("sqlite", "UPDATE t SET a = 1"),
    ("sqlite", "DELETE FROM t"),
    ("sqlite", "WITH a AS (SELECT 1) DELETE FROM t"),
    ("sqlite", "CREATE TEMP TABLE u AS SELECT 1"),
    ("sqlite", "CREATE VIEW v AS SELECT 1"),
    ("sqlite", "DROP TABLE t"),
    ("sqlite", "ALTER TABLE t RENAME TO u"),
    ("sqlite", "PRAGMA writable_schema = 1"),
    ("sqlite", "ATTACH 'other.db' AS other"),
    ("sqlite", "VACUUM INTO 'copy.db'"),
    ("sqlite", "REINDEX"),
    ("sqlite", "BEGIN"),
    ("sqlite", "EXPLAIN SELECT 1"),
    ("sqlite", "SELECT load_extension('evil')"),
    ("sqlite", "SELECT \"load_extension\"('evil')"),
    ("sqlite", "SELECT WRITEFILE('x', 'y')"),
    ("sqlite", "SELECT foo.(b; DROP TABLE t"),
    ("sqlite", "SELECT foo.( INTO t"),
    ("postgres", "SELECT set_config('statement_timeout', '0', false)"),
    ("postgres", "SELECT pg_catalog.pg_ls_logdir()"),
    ("postgres", "SELECT query_to_xml('DELETE FROM t', true, true, '')"),
    ("postgres", "SELECT * FROM dblink('dbname=x', 'DELETE FROM t') AS d(a int)"),
    ("postgres", "SELECT pg_terminate_backend(1)"),
    ("postgres", "COPY t TO PROGRAM 'sh'"),
    ("postgres", "DO $$ BEGIN DELETE FROM t; END $$"),
    ("spark", "INSERT OVERWRITE DIRECTORY 'x' SELECT 1"),
    ("spark", "FROM t INSERT INTO u SELECT *"),
    ("spark", "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a"),
    ("spark", "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE"),
    ("spark", "TRUNCATE TABLE t"),
    ("spark", "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1"),
    ("spark", "/* /* */ SELECT 1 /* */ */ INSERT INTO t SELECT 1"),
    ("spark", "SELECT * INTO u FROM t"),
    ("spark", "SELECT * FROM t FOR UPDATE"),
    ("spark", "SET spark.sql.ansi.enabled = false"),
    ("spark", "ADD JAR evil.jar"),
    ("spark", "CACHE TABLE t"),
    ("spark", "REFRESH TABLE t"),
    ("spark", "SHOW TABLES"),
    ("spark", "DESCRIBE t"),
    ("spark", "USE other"),
    ("spark", "EXECUTE IMMEDIATE 'DROP TABLE t'"),
    ("spark", "BEGIN SELECT 1; END"),
    ("spark", "SELECT reflect('java.lang.System', 'exit', 1)"),
    ("spark", "SELECT system.builtin.`Java_Method`('java.lang.System', 'exit', 1)"),
    ("spark", "SELECT a FROM t WHERE try_reflect('java.lang.System', 'exit', 1) = a"),
    ("spark", "SELECT transform(a) USING 'rm' AS b FROM t"),
    ("spark", "SELECT * FROM (MAP a USING 'rm' FROM t)"),
    ("spark", "SELECT * FROM csv.`/etc/passwd`"),
    ("spark", "SELECT * FROM `Parquet`.`x`"),
    ("spark", "SELECT * FROM org.apache.spark.sql.parquet.`/x`"),
    ("spark", "SELECT (SELECT max(value) FROM text.`s3://bucket/key`)"),
    ("spark", "SELECT * FROM identifier('text.`/etc/passwd`')"),
    ("spark", "SELECT foo.( FROM text.`/etc/passwd`"),
]


@pytest.mark.parametrize(("dialect", "sql"), HARMLESS)
def test_harmless_statement_is_admitted(dialect: str, sql: str) -> None:
    assert check_read_only(sql, dialect) is None


@pytest.mark.parametrize(("dialect", "sql"), HOSTILE)
def test_hostile_statement_is_rejected_with_a_sentence(dialect: str, sql: str) -> None:
    rejection = check_read_only(sql, dialect)
    assert rejection is not None
    assert rejection.reason.endswith(".")
    assert "\n" not in rejection.reason


def test_too_deep_nesting_is_rejected_not_raised() -> None:
    rejection = check_read_only("SELECT " + "(" * 20_000 + "1" + ")" * 20_000, "sqlite")
    assert rejection is not None
    assert "nested too deeply" in rejection.reason


def test_reason_names_what_was_wrong() -> None:
    rejection = check_read_only("DELETE FROM t", "sqlite")
    assert rejection is not None
    assert "DELETE is not a query" in rejection.reason
    assert "SELECT" in rejection.reason
