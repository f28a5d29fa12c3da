"""Gold that has several right results, told from gold that has one, on a table with known ties."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from bothends.engines import Engine, Limits
from bothends.engines.sqlite import SqliteEngine
from bothends.eval.soundness import check_gold

# From the greatest n on: a, then b and c tied, then d, e and e tied.
ROWS = [
    *((1, "a", 5, "x"), (2, "b", 4, "x"), (3, "c", 4, "x")),
    *((4, "d", 3, "y"), (5, "e", 3, "y"), (6, "e", 3, "y")),
]


class Counting(SqliteEngine):
    executed = 0

    def execute(self, sql: str, limits: Limits | None = None):  # type: ignore[no-untyped-def]
        self.executed += 1
        return super().execute(sql, limits)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = tmp_path_factory.mktemp("ties") / "ties.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT, n INTEGER, s TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    with Counting(path, "ties") as opened:
        yield opened


@pytest.mark.parametrize(
    ("sql", "deterministic", "executions"),
    [
        ("SELECT k FROM t", True, 0),
        ("SELECT k FROM t ORDER BY n", True, 0),
        ("SELECT k FROM t ORDER BY n DESC LIMIT 10", True, 0),
        ("SELECT k FROM t ORDER BY n DESC LIMIT 1", True, 1),
        ("SELECT k FROM t ORDER BY n DESC LIMIT 2", False, 1),
        ("SELECT k, n FROM t ORDER BY n DESC LIMIT 2", False, 1),
        ("SELECT k FROM t ORDER BY n DESC LIMIT 3", True, 1),
        ("SELECT k FROM t ORDER BY n DESC LIMIT 4", False, 1),
        ("SELECT k FROM t ORDER BY n DESC LIMIT 1 OFFSET 1", False, 1),
        ("SELECT k FROM t ORDER BY n DESC LIMIT 2 OFFSET 1", True, 1),
        ("SELECT k FROM t ORDER BY n DESC, id LIMIT 2", True, 1),
        # Tied rows that are the same row to a reader.
        ("SELECT s FROM t ORDER BY n DESC LIMIT 2", True, 1),
        ("SELECT k FROM t ORDER BY k DESC LIMIT 1", True, 1),
        ("SELECT k FROM t GROUP BY k ORDER BY sum(n) DESC LIMIT 1", True, 1),
        ("SELECT k FROM t GROUP BY k ORDER BY count(*) LIMIT 1", False, 1),
        ("SELECT n * 2 AS m FROM t ORDER BY m + 1 DESC LIMIT 1", True, 1),
        ("SELECT k FROM t UNION SELECT s FROM t ORDER BY 1 LIMIT 2", True, 1),
        ("SELECT k FROM t LIMIT 2", False, 1),
        ("SELECT s FROM t WHERE s = 'x' LIMIT 2", True, 1),
        ("SELECT DISTINCT k FROM t ORDER BY n LIMIT 1", None, 0),
        # In a subquery only a change of the answer counts.
        ("SELECT k FROM t WHERE id = (SELECT id FROM t ORDER BY n DESC LIMIT 1)", True, 1),
        ("SELECT k FROM t WHERE id = (SELECT id FROM t ORDER BY n LIMIT 1)", False, 2),
        ("SELECT s FROM t WHERE id = (SELECT id FROM t ORDER BY n LIMIT 1)", None, 3),
        ("WITH u AS (SELECT * FROM t ORDER BY n LIMIT 2) SELECT sum(id) FROM u", False, 2),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM t LIMIT 1)", True, 0),
        ("SELECT random()", False, 1),
        ("SELECT n, row_number() OVER (ORDER BY id) FROM t", None, 1),
        ("SELECT rank() OVER (ORDER BY n) FROM t", True, 0),
    ],
)
def test_gold(engine: Counting, sql: str, deterministic: bool | None, executions: int) -> None:
    outcome = engine.execute(sql)
    assert outcome.status == "ok"
    before = engine.executed
    found = check_gold(engine, sql, outcome, Limits())
    assert found.deterministic is deterministic
    assert bool(found.reason) == (deterministic is not True)
    executed = engine.executed - before
    # Which way a subquery's tie fell is SQLite's choice, and so which way is tried in vain.
    assert executed == executions or (deterministic is False and executed == executions + 1)


def test_the_reason_names_the_cut(engine: Engine) -> None:
    sql = "SELECT k FROM t ORDER BY n DESC LIMIT 4"
    reason = check_gold(engine, sql, engine.execute(sql), Limits()).reason
    assert reason == "the cut after row 4 goes through 3 rows that are tied (ORDER BY)"
