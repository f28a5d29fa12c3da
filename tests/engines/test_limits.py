"""What is huge is cut and counted, and whoever waits may cancel: asked of every engine."""

from __future__ import annotations

import threading
import time

import pytest

from bothends.engines import Engine, Limits

# A text of 1000 times 'é', and 1000 bytes.
LONG = {
    "sqlite": "SELECT replace(hex(zeroblob(500)), '0', 'é') AS text, zeroblob(1000), 'é'",
    "postgres": "SELECT repeat('é', 1000) AS text, decode(repeat('00', 1000), 'hex'), 'é'",
    "spark": "SELECT repeat('é', 1000) AS text, unhex(repeat('00', 1000)), 'é'",
}


def test_long_cells_are_cut(engine: Engine) -> None:
    sql = LONG[engine.name]
    outcome = engine.execute(sql, Limits(max_cell_bytes=501))
    assert outcome.rows == (("é" * 250, bytes(501), "é"),)
    assert outcome.cells_cut
    assert not outcome.truncated
    assert not outcome.whole
    outcome = engine.execute(sql, Limits(max_cell_bytes=2000))
    assert outcome.rows == (("é" * 1000, bytes(1000), "é"),)
    assert not outcome.cells_cut
    assert outcome.whole


def test_bytes_past_the_limit_are_counted_as_rows(engine: Engine) -> None:
    name = "`order`" if engine.dialect == "spark" else '"order"'
    text = LONG[engine.name].split(" AS text")[0]
    outcome = engine.execute(f"{text}, number FROM {name} ORDER BY 2", Limits(max_bytes=100_000))
    assert outcome.row_count == 1000
    assert outcome.truncated
    assert not outcome.cells_cut
    # Each holds 1000 to 2000 bytes, depending on how they are held, and a little.
    assert 30 <= len(outcome.rows) <= 100
    assert [row[1] for row in outcome.rows] == list(range(len(outcome.rows)))


# On Spark each cancelled query costs a server.
@pytest.mark.parametrize("engine", ["sqlite", "postgres"], indirect=True)
def test_cancelled_at_any_moment_spoils_no_other_query(engine: Engine) -> None:
    done = threading.Event()

    def cancel() -> None:
        while not done.is_set():
            engine.cancel()
            time.sleep(0.001)

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        outcomes = [engine.execute('SELECT max(number) FROM "order"') for _ in range(100)]
    finally:
        done.set()
        canceller.join()
    for outcome in outcomes:
        assert outcome.rows == ((999,),) or outcome.error == "cancelled"
    assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)


@pytest.mark.parametrize("error", ["column", "syntax", "value"])
def test_errors_of_long_queries_keep_what_helps(engine: Engine, error: str) -> None:
    many = "\n".join(f"  , '{'y' * 2000}' AS c{number}" for number in range(100))
    sql, told = {
        "column": (f"SELECT nmae\n{many}\nFROM item", ["nmae"]),
        "syntax": (f"SELECT id\n{many}\nFROM item WHERE ORDER BY FROM id", ["syntax error"]),
        "value": (f"SELECT CAST('{'x' * 200_000}' AS INTEGER) FROM item", ["integer", "xxxx"]),
    }[error]
    assert len(sql) > 200_000
    outcome = engine.execute(sql)
    if engine.name == "sqlite" and error == "value":
        assert outcome.rows[0] == (0,)
        return
    assert outcome.status == "failed"
    assert outcome.error
    assert len(outcome.error) <= 800
    assert outcome.error.isprintable()
    assert "c50" not in outcome.error
    for each in told:
        assert each in outcome.error.lower().replace('"int"', "integer")
    if engine.name != "sqlite" and error == "syntax":  # which tells no position
        assert "line 102" in outcome.error
