"""The timing regimen: gold and generated treated alike, in turn, nothing thrown away."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from statistics import median

import pytest

from bothends.engines import Limits, Outcome
from bothends.engines.sqlite import SqliteEngine
from bothends.eval.experiment import Regimen
from bothends.eval.timing import measure


class Watched(SqliteEngine):
    """SQLite that remembers what it was asked."""

    asked: list[str]

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        self.asked.append(sql)
        return super()._execute(sql, limits)


@pytest.fixture
def engine(tmp_path: Path) -> Watched:
    file = tmp_path / "x.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    watched = Watched(file, "x")
    watched.asked = []
    return watched


def test_both_are_warmed_up_and_then_take_turns(engine: Watched) -> None:
    timing = measure(engine, "SELECT 1", "SELECT 2", Regimen(warmups=1, repeats=3), Limits())
    assert engine.asked == ["SELECT 1", "SELECT 2"] * 4
    assert (len(timing.gold_s), len(timing.generated_s)) == (3, 3)
    assert timing.gold_median_s == median(timing.gold_s)
    assert timing.generated_median_s == median(timing.generated_s)


def test_a_query_that_fails_in_a_repeat_has_no_median(engine: Watched) -> None:
    timing = measure(
        engine, "SELECT 1", "SELECT * FROM gone", Regimen(warmups=0, repeats=2), Limits()
    )
    assert len(timing.generated_s) == 2
    assert timing.generated_median_s is None
