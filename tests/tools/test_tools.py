"""The four tools over a real engine: what the model sees, and what is handed back beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from bothends.engines import Engine, Limits, Outcome, open_engine
from bothends.tools import (
    ToolReport,
    as_cell,
    check_query_tool,
    get_schema_tool,
    list_tables_tool,
    rows_as_text,
    run_query_tool,
)

ROOM = 32_000


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    file = tmp_path / "stock.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """
            CREATE TABLE part (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE bin (part_id INTEGER, amount INTEGER);
            INSERT INTO part VALUES (1, 'nut'), (2, NULL);
            """
        )
    connection.close()
    with open_engine(f"sqlite:///{file}") as opened:
        yield opened


def call(tool: BaseTool, **arguments: Any) -> tuple[str, ToolReport]:
    message = tool.invoke({"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"})
    assert isinstance(message, ToolMessage)
    assert isinstance(message.artifact, ToolReport)
    return str(message.content), message.artifact


def test_list_tables(engine: Engine) -> None:
    text, report = call(list_tables_tool(engine, ROOM))
    assert text == "bin\npart"
    assert report.error is None
    assert report.engine_s > 0


@pytest.mark.parametrize("tables", [["part", "bin"], "part, bin", '["part", "bin"]', "`part`,bin"])
def test_get_schema_takes_names_as_models_write_them(engine: Engine, tables: Any) -> None:
    text, report = call(get_schema_tool(engine, 2, ROOM), tables=tables)
    assert text.index("CREATE TABLE part") < text.index("CREATE TABLE bin")
    assert "id\tname\n1\tnut\n2\tNULL" in text
    assert report.error is None


def test_get_schema_shows_as_many_rows_as_are_asked_for(engine: Engine) -> None:
    text, _ = call(get_schema_tool(engine, 3, ROOM), tables=["part"], sample_rows=1)
    assert "1\tnut" in text
    assert "NULL\n" not in text.split("/*")[1]
    text, _ = call(get_schema_tool(engine, 0, ROOM), tables=["part"])
    assert "/*" not in text


def test_get_schema_of_an_unknown_table_shows_the_others(engine: Engine) -> None:
    text, report = call(get_schema_tool(engine, 0, ROOM), tables=["part", "nowhere"])
    assert "CREATE TABLE part" in text
    assert "error: table 'nowhere' does not exist; the tables are: bin, part" in text
    assert report.error == "table 'nowhere' does not exist; the tables are: bin, part"


def test_check_query_rewrites_and_explains(engine: Engine) -> None:
    good, bad = "SELECT id FROM part", "SELECT nothing_such FROM part"
    fixing = check_query_tool(engine, rewrite=lambda _: good, explain=True)
    text, report = call(fixing, sql=bad)
    assert text.endswith(good)
    assert (report.sql, report.error) == (bad, None)
    text, report = call(check_query_tool(engine, rewrite=None, explain=True), sql=bad)
    assert text.startswith("The engine refuses the query: ")
    assert "nothing_such" in (report.error or "")


def test_run_query_hands_the_outcome_back(engine: Engine) -> None:
    text, report = call(run_query_tool(engine, Limits(), ROOM), sql="SELECT id, name FROM part")
    assert text == "id\tname\n1\tnut\n2\tNULL"
    assert report.outcome is not None
    assert report.outcome.rows == ((1, "nut"), (2, None))
    assert report.sql == "SELECT id, name FROM part"


@pytest.mark.parametrize(
    ("sql", "status"), [("SELECT * FROM nowhere", "failed"), ("DROP TABLE part", "rejected")]
)
def test_run_query_says_what_went_wrong(engine: Engine, sql: str, status: str) -> None:
    text, report = call(run_query_tool(engine, Limits(), ROOM), sql=sql)
    assert text.startswith(f"{status}: ")
    assert report.outcome is not None
    assert report.outcome.status == status
    assert report.error == report.outcome.error


def test_rows_and_cells_are_bounded() -> None:
    assert as_cell(None) == "NULL"
    assert as_cell("a\n b\tc") == "a b c"
    assert len(as_cell("x" * 5000)) == 100
    outcome = Outcome("ok", ("n",), ("int",), tuple((i,) for i in range(50)), row_count=1_234_567)
    lines = rows_as_text(outcome, 3, ROOM).splitlines()
    assert lines == ["n", "0", "1", "2", "... and 1,234,564 more rows"]
