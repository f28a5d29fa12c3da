"""Pre-flight limits: what is refused, by which words, and that nothing runs or is asked."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from bothends.engines import Limits, Outcome
from bothends.engines.estimate import Estimate
from bothends.engines.sqlite import SqliteEngine
from bothends.tools import Preflight, ToolReport, check_query_tool, refusal, run_query_tool

SQL = "SELECT id FROM item"
PRODUCT = "item is joined with sale without a condition"
WASTEFUL = Estimate(
    scan_bytes=2_500_000_000,
    rows=10**9,
    cartesian=(PRODUCT,),
    unfiltered_partitions=("sale",),
    seconds=0.25,
)


class Estimating(SqliteEngine):
    """SQLite that is told what it estimates, and counts what it is asked."""

    told = Estimate()
    estimates = executions = explains = 0

    def _estimate(self, sql: str) -> Estimate:
        del sql
        self.estimates += 1
        return self.told

    def _explain(self, sql: str) -> Outcome:
        self.explains += 1
        return super()._explain(sql)

    def _execute(self, sql: str, limits: Limits) -> Outcome:
        self.executions += 1
        return super()._execute(sql, limits)


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.executescript("CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1);")
    connection.close()
    with Estimating(file, "shop") as opened:
        yield opened


def call(tool: BaseTool, sql: str = SQL) -> tuple[str, ToolReport]:
    message = tool.invoke({"name": tool.name, "args": {"sql": sql}, "id": "1", "type": "tool_call"})
    assert isinstance(message, ToolMessage)
    assert isinstance(message.artifact, ToolReport)
    return str(message.content), message.artifact


def run_query(engine: Estimating, **limits: Any) -> tuple[str, ToolReport]:
    preflight = Preflight.model_validate(limits)
    return call(run_query_tool(engine, Limits(), 32_000, preflight=preflight))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_scan_bytes": "1GB"}, "it would read 2.5 GB of table files, and 1 GB are allowed: "),
        ({"max_plan_rows": 10**6}, "return 1,000,000,000 rows, and 1,000,000 are allowed: "),
        ({"refuse_cartesian": True}, f"{PRODUCT}, which compares every pair of rows: join by"),
        ({"require_partition_filter": True}, "it reads every partition of sale: filter by"),
    ],
)
def test_each_limit_refuses_with_its_reason(
    engine: Estimating, limits: dict[str, Any], said: str
) -> None:
    engine.told = WASTEFUL
    text, report = run_query(engine, **limits)
    assert text.startswith("rejected: refused before it ran: ")
    assert said in text
    assert report.outcome == Outcome(status="rejected", error=report.error)
    assert (engine.estimates, engine.executions) == (1, 0)
    assert report.engine_s == WASTEFUL.seconds


def test_at_the_limit_a_query_runs(engine: Estimating) -> None:
    engine.told = Estimate(scan_bytes=10**9, rows=10**6, seconds=0.25)
    text, report = run_query(
        engine,
        max_scan_bytes=10**9,
        max_plan_rows=10**6,
        refuse_cartesian=True,
        require_partition_filter=True,
    )
    assert text == "id\n1"
    assert report.outcome is not None
    # What the estimate took is the tool's, and not the query's.
    assert report.engine_s == 0.25 + report.outcome.seconds


def test_without_limits_nothing_is_asked(engine: Estimating) -> None:
    engine.told = WASTEFUL
    assert run_query(engine)[0] == "id\n1"
    assert call(run_query_tool(engine, Limits(), 32_000))[0] == "id\n1"
    assert (engine.estimates, engine.explains, engine.executions) == (0, 0, 2)


def test_what_the_engine_does_not_tell_refuses_nothing() -> None:
    every = Preflight.model_validate(
        {
            "max_scan_bytes": 1,
            "max_plan_rows": 1,
            "refuse_cartesian": True,
            "require_partition_filter": True,
        }
    )
    assert refusal(Estimate(), every) is None
    assert refusal(Estimate(error="no such column"), every) is None
    reasons = refusal(WASTEFUL, every)
    assert reasons is not None
    assert reasons.count("; ") == 3


def test_sqlite_tells_nothing_and_runs(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE item (id INTEGER)")
    connection.close()
    with SqliteEngine(tmp_path / "a.db", "a") as engine:
        preflight = Preflight.model_validate({"max_scan_bytes": 1, "refuse_cartesian": True})
        sql = "SELECT a.id FROM item a, item b"
        _, report = call(run_query_tool(engine, Limits(), 32_000, preflight=preflight), sql)
    assert report.outcome is not None
    assert report.outcome.status == "ok"


def test_check_says_what_is_wrong_and_nothing_where_nothing_is(engine: Estimating) -> None:
    tool = check_query_tool(engine, rewrite=None, explain=True)
    engine.told = Estimate(scan_bytes=10**12)
    assert call(tool)[0] == f"The query is checked. Now call run_query with it:\n\n{SQL}"
    engine.told = WASTEFUL
    text, report = call(tool)
    assert text.startswith("The engine would run the query, but look at this first:\n- ")
    for said in (PRODUCT, "every partition of sale", "it would read 2.5 GB of table files"):
        assert said in text
    assert "run_query would refuse" not in text
    assert text.endswith(f"\n\n{SQL}")
    assert (report.error, report.engine_s, engine.executions) == (None, 0.25, 0)
    engine.told = Estimate(error="no such column: x", seconds=0.5)
    text, report = call(tool)
    assert text == f"The engine refuses the query: no such column: x\n\n{SQL}"
    assert (report.error, report.engine_s) == ("no such column: x", 0.5)


def test_check_tells_a_limit_that_the_query_would_break(engine: Estimating) -> None:
    engine.told = Estimate(scan_bytes=2 * 10**9)
    preflight = Preflight.model_validate({"max_scan_bytes": "1GB"})
    text, _ = call(check_query_tool(engine, rewrite=None, explain=True, preflight=preflight))
    assert "- run_query would refuse it: it would read 2 GB of table files, and 1 GB are" in text


@pytest.mark.parametrize("limit", [{"max_scan_bytes": "0"}, {"max_scan_bytes": "x"}, {"most": 1}])
def test_a_limit_must_be_one(limit: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Preflight.model_validate(limit)
