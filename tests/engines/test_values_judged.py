"""Values as each engine returns them, judged against the same values from elsewhere."""

from __future__ import annotations

from bothends.engines import Engine, Outcome
from bothends.eval.compare import judge

# One row as SQLite has it: dates are text, booleans numbers, decimals doubles.
SQLITE_ROW = (1, 0.1, 0.5, "00501", "1995-03-15", "1995-03-15 13:45:06", 1)
NESTED = {
    "postgres": "SELECT ARRAY[1, 2] AS a, ARRAY[0.10, 0.3] AS b, '{\"x\": 1}'::json AS c, "
    "TIMESTAMPTZ '2024-01-31 14:00:00+02' AS d",
    "spark": "SELECT array(1, 2) AS a, array(0.10D, 0.1D + 0.2D) AS b, named_struct('x', 1) AS c, "
    "TIMESTAMP '2024-01-31 14:00:00+02:00' AS d",
}


def test_one_row_is_right_on_every_engine(engine: Engine) -> None:
    sql = "SELECT id, price, ratio, name, sold, seen, active FROM item WHERE id = 1"
    gold = Outcome("ok", ("x",) * 7, ("any",) * 7, (SQLITE_ROW,), 1)
    result = engine.execute(sql)
    verdict = judge(gold, result, gold_sql=sql, dialect=engine.dialect)
    assert verdict.exact, (verdict.reason, result.rows)


def test_nested_values_are_compared_by_value(engine: Engine) -> None:
    row = ([1, 2], [0.1, 0.3], {"x": 1}, "2024-01-31 12:00:00")
    gold = Outcome("ok", ("x",) * 4, ("any",) * 4, (row,), 1)
    if engine.name not in NESTED:
        assert engine.execute("SELECT array(1, 2)").status == "failed"
        return
    sql = NESTED[engine.name]
    verdict = judge(gold, engine.execute(sql), gold_sql=sql, dialect=engine.dialect)
    assert verdict.exact, verdict.reason
