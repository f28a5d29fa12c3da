"""Each rule on data that would come out otherwise without it: SQLite's own answer is expected."""

from __future__ import annotations

import pytest

from .conftest import Pair

# By rule: expressions over one row of t.
EXPRESSIONS = {
    "division": (
        "n / m",
        "m / 2",
        "n / 2.0",
        "r / n",
        "7 / 2",
        "-7 / 2",
        "n / CAST('2x' AS INTEGER)",
        "n / (m - 2)",
        "r / 0",
    ),
    "remainder": ("n % m", "n % 0", "r % 3"),
    "doubles": ("n * 1.0", "1.10", "1e3", "n * 100.0 / 7"),
    "text as number": ("s + 1", "s * 2", "-s", "abs(s)"),
    "cast": (
        *("CAST(s AS INTEGER)", "CAST(s AS REAL)", "CAST(r AS INTEGER)", "CAST(n AS REAL)"),
        *("CAST(n AS TEXT)", "CAST(r AS TEXT)", "CAST(n > 2 AS INTEGER)"),
        *("CAST('9999999999999999999999' AS INTEGER)", "CAST(n AS NUMERIC)"),
        *("CAST(s AS FLOAT)", "CAST(n AS VARCHAR(9))", "CAST(s AS DECIMAL(10, 2))"),
    ),
    "round": ("round(r, 1)", "round(r)", "round(n)", "round(s, 1)", "round(r * 7, 3)"),
    "greatest and least": ("max(n, m)", "min(n, m, 3)", "max(n, 1)"),
    "number as text": ("n || '-' || r", "s || n", "length(n)", "length(r)", "instr(n, '1')"),
    "substr": (
        *("substr(u, -2)", "substr(u, 0, 2)", "substr(u, -3, 2)", "substr(u, -10, 7)"),
        *("substr(u, 1, length(u) - 3)", "substr(u, n)"),
        *("substr(u, m - 3, 2)", "substr(u, m, n)", "substr(u, -1, 1)", "substr(u, n, m)"),
        "substr(u, 1, instr(u, 'p') - 1)",
    ),
    "like": (
        *("u LIKE 'ALPHA'", "u LIKE '%A'", "u LIKE 'é%'", "u LIKE '%k'", "u LIKE 'a\\b%'"),
        *("u NOT LIKE 'a%'", "n LIKE '20%'", "'xAy' LIKE '%' || u || '%'", "r LIKE '1.5'"),
    ),
    "glob": ("u GLOB 'a*'", "u GLOB 'A?pha'", "u NOT GLOB '*a'"),
    "letter case": ("upper(u)", "lower(u)"),
    "comparison by affinity": (
        *("s = 5", "s = 12", "n = '3'", "n = '3.0'", "n > 'abc'", "n < '10'", "n = s", "s <> n"),
        *("substr(s, 1, 1) = 5", "length(u) > '1'", "n BETWEEN '1' AND '9'", "s IN (5, 7)"),
        *("n IN ('3', 'x', 10)", "n NOT IN ('3', 'x')", "CASE n WHEN '3' THEN 'a' ELSE 'b' END"),
        *("s BETWEEN 1 AND 6", "CAST(s AS INTEGER) = '12'", "n IS '3'", "'9' < n"),
    ),
    "conditions as numbers": ("n > 2", "(n = 3) + 1", "n > 2 AND m < 3", "NOT n", "u IS NULL"),
    "numbers as conditions": (
        *("CASE WHEN n THEN 1 ELSE 0 END", "iif(r, 'yes', 'no')", "CASE WHEN s THEN 1 END"),
        *("n AND m", "NOT (n OR 0)", "n IS TRUE", "n IS NOT FALSE", "(n > 2) IS TRUE"),
    ),
    "dates": (
        *("strftime('%Y', day)", "strftime('%Y-%m', seen)", "strftime('%d/%m/%Y %H:%M', seen)"),
        *(
            "date(written, '+0 days')",
            "datetime(written, '+0 days')",
            "time(written)",
            "date(day, '+1 month')",
        ),
        *("date(day, 'start of month')", "date(day, '-1 year')", "datetime(seen, '+90 minutes')"),
        *("julianday(day)", "julianday(seen) - julianday(day)", "strftime('%j', day)"),
        *(
            "strftime('%w', day)",
            "strftime('%s', seen)",
            "CAST(strftime('%Y', written) AS INTEGER)",
        ),
        "date(day, 'start of year', '+1 month', '-1 day')",
        *("datetime(n, 'unixepoch')", "date(n * 86400, 'unixepoch')", "strftime('%Hh', seen)"),
    ),
    "dates as text": (
        *("day", "seen", "substr(day, 1, 4)", "day LIKE '2019%'", "day > '2019-06'"),
        *("day = '2020-02-29'", "seen || '!'", "length(seen)", "day < 2019", "day + 1"),
        *("day > '2019'", "day IN ('2019', '2019-01-31')", "seen BETWEEN '2000' AND '2019-12'"),
        "day BETWEEN '2019-01-01' AND '2020-12-31'",
    ),
    "strings in double quotes": ('u = "Alpha"', 'u || "!"'),
    "": (
        *("trim(s)", "replace(u, 'a', 'b')", "replace(u, '', 'x')", "coalesce(n, m)", "n IS m"),
        *("nullif(n, 3)", "ifnull(r, 0)", "n <> m", "trim(u, 'aA')", "u IS NOT NULL", "abs(n)"),
        *(
            "substr(u, 2)",
            "substr(u, 2, 2)",
            "TRUE",
            "n = TRUE",
            "instr(u, '')",
            "u = 'alpha'",
            "u < 'b'",
            "ltrim(s)",
            "-n",
        ),
    ),
}
# By rule: whole queries.
QUERIES = (
    ("average", "SELECT avg(n), avg(r), avg(m), avg(s), avg(DISTINCT m) FROM t"),
    ("sum", "SELECT sum(n) / 4, sum(s), sum(m) / count(*) * 1.5, sum(DISTINCT m) FROM t"),
    ("division", "SELECT id, sum(n) OVER (PARTITION BY m ORDER BY id) / 2 FROM t"),
    ("division", "SELECT sum(n) FILTER (WHERE m > 1) / 2 FROM t"),
    ("collation", "SELECT u FROM t WHERE u COLLATE NOCASE = 'ALPHA' ORDER BY id"),
    ("collation", "SELECT u FROM t WHERE id < 4 ORDER BY u COLLATE NOCASE, id"),
    ("total", "SELECT total(n), total(r) FROM t WHERE id > 100"),
    ("conditions as numbers", "SELECT sum(n > 2), avg(u = 'alpha'), max(n = 3) FROM t"),
    ("numbers as conditions", "SELECT id FROM t WHERE n AND s"),
    ("numbers as conditions", "SELECT id FROM t WHERE CASE WHEN n > 2 THEN m = 2 ELSE m > 3 END"),
    ("numbers as conditions", "SELECT x.f FROM (SELECT n > 2 AS f FROM t) AS x WHERE x.f"),
    ("conditions as numbers", "SELECT max(n > 2) + 1, coalesce(n > 2, m > 2) FROM t WHERE id = 1"),
    ("numbers as conditions", "SELECT m FROM t GROUP BY m HAVING sum(n)"),
    ("names", 'SELECT "odd name"."GROUP", "ORDER" FROM "ODD NAME" ORDER BY "ORDER"'),
    ("names", 'SELECT o.[group], O."order" FROM "Odd Name" AS O WHERE o."T ID" > 1'),
    ("aliases", "SELECT n + m AS total FROM t WHERE total > 3"),
    ("aliases", "SELECT m * 2 AS twice, count(*) AS c FROM t GROUP BY twice HAVING c > 1"),
    ("aliases", "SELECT id, n AS a FROM t ORDER BY a + 1, id"),
    ("bare columns", "SELECT id, u, count(*) FROM t GROUP BY id"),
    (
        "bare columns",
        'SELECT t.u, count(o."order") FROM t JOIN "Odd Name" o ON o."T Id" = t.id '
        'GROUP BY o."T Id" ORDER BY t.u',
    ),
    ("bare columns", "SELECT u, max(n) FROM t"),
    ("bare columns", "SELECT u, s, min(r), count(*) FROM t WHERE r > 0"),
    ("bare columns", "SELECT u, max(CAST(s AS INTEGER) / 2) FROM t WHERE id < 7"),
    ("sorted distinct", "SELECT DISTINCT u FROM t WHERE id < 6 ORDER BY id DESC LIMIT 3"),
    ("sorted distinct", "SELECT DISTINCT u AS a, 1 FROM t WHERE id < 6 ORDER BY a = '', n, a"),
    ("", 'SELECT count(*) FROM t JOIN "Odd Name" WHERE t.id = 1'),
    ("", 'SELECT t.id FROM t, t AS v JOIN "Odd Name" o ON o."T Id" = t.id WHERE v.id = t.id'),
    ("negative limit", "SELECT id FROM t ORDER BY id LIMIT -1"),
    ("negative limit", "SELECT id FROM t ORDER BY id LIMIT -1 OFFSET 3"),
    ("dates as text", "SELECT max(day), min(seen) FROM t"),
    ("dates as text", "SELECT substr(day, 1, 4) AS y, count(*) FROM t GROUP BY y ORDER BY y"),
    ("dates as text", "SELECT u FROM t WHERE day = (SELECT max(day) FROM t)"),
    ("dates", "SELECT date('now') = CURRENT_DATE"),
    ("", "SELECT m FROM t GROUP BY m HAVING count(DISTINCT id) > 1 ORDER BY sum(n) DESC LIMIT 1"),
    ("", "SELECT m, count(*) c, 1 FROM t GROUP BY m HAVING c > 0 ORDER BY count(*), sum(r), m"),
    ("", "SELECT T.*, v.n FROM t AS T JOIN t AS V ON v.id = T.m"),
    ("", "SELECT u, n FROM t WHERE (m, n) IN (SELECT m, max(n) FROM t GROUP BY m)"),
    ("", "SELECT n FROM t ORDER BY n"),
    ("", "SELECT n FROM t ORDER BY n DESC"),
    ("", "SELECT u FROM t ORDER BY u"),
    ("", "SELECT min(u), max(u) FROM t"),
    ("", "SELECT id FROM t ORDER BY n DESC LIMIT 2, 3"),
    ("", "SELECT id, rank() OVER (ORDER BY n DESC) FROM t"),
    ("", "SELECT id, row_number() OVER (PARTITION BY m ORDER BY n) FROM t"),
    ("", "SELECT u FROM t EXCEPT SELECT u FROM t WHERE n > 2"),
    ("", 'SELECT u FROM t UNION ALL SELECT "Group" FROM "Odd Name" ORDER BY 1'),
    ("", "WITH w AS (SELECT m, count(*) AS c FROM t GROUP BY m) SELECT c FROM W ORDER BY C, m"),
    ("", 'SELECT id FROM t WHERE EXISTS (SELECT 1 FROM "Odd Name" WHERE "T Id" = t.id)'),
    ("", 'SELECT id, (SELECT "Group" FROM "Odd Name" o WHERE o."T Id" = t.id) FROM t'),
    ("", 'SELECT id FROM t WHERE id NOT IN (SELECT "T Id" FROM "Odd Name")'),
    ("", 'SELECT * FROM "Odd Name" LEFT JOIN t ON t.id = "T Id"'),
    ("", "SELECT x.Total FROM (SELECT m, sum(n) AS total FROM t GROUP BY m) AS X ORDER BY x.m"),
    ("", "SELECT count(*), count(n), count(DISTINCT m) FROM t"),
    ("", "SELECT DISTINCT m > 2 FROM t"),
)


@pytest.mark.parametrize("rule", EXPRESSIONS)
def test_expressions(pair: Pair, rule: str) -> None:
    pair.check(f"SELECT id, {', '.join(EXPRESSIONS[rule])} FROM t", *filter(None, [rule]))


@pytest.mark.parametrize(("rule", "sql"), QUERIES)
def test_queries(pair: Pair, rule: str, sql: str) -> None:
    pair.check(sql, *filter(None, [rule]))
