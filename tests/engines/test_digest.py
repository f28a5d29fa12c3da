"""Digests of whole results: the same rows have the same digest, other rows another one."""

from __future__ import annotations

import re

import pytest

from bothends.engines import Engine, Limits

CAPPED = Limits(max_rows=1, digest=True)
# Four rows of a number, two texts (one of them NULL or empty in turn) and a fraction.
ROWS = ("1, 'a', NULL, 0.5", "2, 'b', '', 0.5", "2, 'b', '', 0.5", "3, NULL, 'x', NULL")


def values(*rows: str, names: str = "a, b, c, d", select: str = "*") -> str:
    """Return a query whose rows are these, in a dialect that all engines speak."""
    listed = ", ".join(f"({row})" for row in rows)
    return f"WITH t({names}) AS (VALUES {listed}) SELECT {select} FROM t"


def digest(engine: Engine, sql: str) -> str:
    outcome = engine.execute(sql, CAPPED)
    assert outcome.status == "ok", outcome.error
    assert outcome.truncated
    assert outcome.digest is not None
    return outcome.digest


def test_order_names_and_comments_do_not_matter(engine: Engine) -> None:
    whole = digest(engine, values(*ROWS))
    assert re.fullmatch(rf"{engine.name}:4:[0-9a-f:-]+", whole)
    assert digest(engine, values(*ROWS[::-1])) == whole
    assert digest(engine, values(*ROWS) + " ORDER BY 1 DESC LIMIT 9; -- the end") == whole
    assert digest(engine, f"-- the start\n{values(*ROWS)} /* so */ -- the end") == whole
    doubled = "a AS x, b AS x, c AS x, d"
    assert digest(engine, values(*ROWS, select=doubled)) == whole


@pytest.mark.parametrize(
    "other",
    [
        # One value; a repeated row for another; a NULL moved to its neighbour; NULL and ''.
        values("1, 'a', NULL, 0.25", *ROWS[1:]),
        values(ROWS[0], ROWS[0], ROWS[1], ROWS[3]),
        values("1, NULL, 'a', 0.5", *ROWS[1:]),
        values("1, 'a', '', 0.5", *ROWS[1:]),
        values(*ROWS, select="a, c, b, d"),
        values(*ROWS, ROWS[0]),
        # The same text, divided otherwise; and a number's text.
        values(*ROWS, select="a, b, c, CAST(d AS VARCHAR(9))"),
        values(*ROWS, select="a, b, c"),
    ],
    ids=["value", "repeat", "moved NULL", "NULL", "swapped", "longer", "type", "narrower"],
)
def test_what_differs_has_another_digest(engine: Engine, other: str) -> None:
    assert digest(engine, values(*ROWS)) != digest(engine, other)


def test_only_what_was_cut_is_digested_and_only_on_demand(engine: Engine) -> None:
    sql = values(*ROWS)
    assert engine.execute(sql, Limits(max_rows=4, digest=True)).digest is None
    assert engine.execute(sql, Limits(max_rows=1)).digest is None
    outcome = engine.execute(sql, CAPPED)
    assert (outcome.row_count, len(outcome.rows), len(outcome.columns)) == (4, 1, 4)


def test_a_digest_that_fails_is_none(engine: Engine) -> None:
    result = engine.execute(values(*ROWS), Limits(max_rows=1))
    assert engine._digest("SELECT nope FROM item", result, CAPPED) is None
    assert engine.execute("SELECT count(*) FROM item").rows == ((3,),)
