"""What a model is shown stays within a number of characters, and what is left out is said."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from bothends.engines import Engine, Outcome, open_engine
from bothends.engines.base import Limits
from bothends.tools import (
    get_schema_tool,
    list_tables_tool,
    rows_as_text,
    run_query_tool,
)
from bothends.tools.ddl import shown_ddl
from bothends.tools.pattern import matches

ROOM = 2_000
PG = (
    'CREATE TABLE "T" ( -- about, (it)\n'
    '  "a,b" numeric(10,2) NOT NULL, -- first, it\'s\n'
    "  c text, -- second\n"
    "  d int,\n"
    '  PRIMARY KEY ("a,b"),\n'
    "  CHECK ((d < 3))\n"
    ")"
)
SPARK = (
    "CREATE TABLE t (\n"
    "  a STRUCT<x: INT, y: MAP<STRING, INT>> COMMENT 'it\\'s, (a)',\n"
    "  `b,c` INT,\n"
    "  check BIGINT)\n"
    "USING parquet"
)
SQLITE = (
    "CREATE TABLE t (id INTEGER, [a,b)] TEXT DEFAULT 'x),y', -- about a, b\n c INT, UNIQUE (c))"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """600 small tables, one of 500 columns, and a view with a long text."""
    path = tmp_path_factory.mktemp("many") / "many.db"
    names = [f"column_{number:03d}" for number in range(500)]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("BEGIN")
        for number in range(600):
            connection.execute(f"CREATE TABLE small_{number:03d} (id INTEGER, name TEXT)")
        connection.execute('CREATE TABLE "odd, name" (a, b)')
        connection.execute(f"CREATE TABLE wide ({', '.join(f'{name} TEXT' for name in names)})")
        marks = ", ".join("?" * 500)
        connection.executemany(f"INSERT INTO wide VALUES ({marks})", [["x" * 90] * 500] * 30)
        terms = " UNION ALL ".join(["SELECT id FROM small_000"] * 400)
        connection.execute(f"CREATE VIEW lengthy AS SELECT id FROM ({terms})")
        connection.commit()
    with open_engine(f"sqlite:///{path}") as opened:
        yield opened


def call(tool: BaseTool, **arguments: Any) -> str:
    return str(
        tool.invoke({"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"}).content
    )


def test_a_long_list_ends_with_how_many_more(engine: Engine) -> None:
    lines = call(list_tables_tool(engine, 32_000)).splitlines()
    assert len(lines) == 501
    assert lines[:2] == ['"odd, name"', "lengthy"]
    assert lines[-1] == "... and 103 more tables: narrow the list with pattern"
    text = call(list_tables_tool(engine, ROOM))
    assert len(text) <= ROOM
    shown = len(text.splitlines()) - 1
    assert text.endswith(f"\n... and {603 - shown} more tables: narrow the list with pattern")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("WID", ["wide"]),
        ("w*", ["wide"]),
        ("small_00?", [f"small_00{digit}" for digit in range(10)]),
        ("*_12%", [f"small_12{digit}" for digit in range(10)]),
        ("odd, name", ['"odd, name"']),
        ("wide,lengthy", ["lengthy", "wide"]),
        (["wide", "lengthy"], ["lengthy", "wide"]),
        ("odd*", ['"odd, name"']),
    ],
)
def test_a_pattern_narrows_the_list(engine: Engine, pattern: Any, names: list[str]) -> None:
    found = call(list_tables_tool(engine, ROOM), pattern=pattern).splitlines()
    assert set(names) <= set(found)
    if pattern != "odd, name":  # a comma separates, so that it also asks for every "name"
        assert found == names


@pytest.mark.parametrize("pattern", [None, "", " ", "*", "%", []])
def test_a_pattern_for_everything_is_none(engine: Engine, pattern: Any) -> None:
    tool = list_tables_tool(engine, ROOM)
    assert call(tool, pattern=pattern) == call(tool)


def test_a_pattern_that_matches_nothing_says_so(engine: Engine) -> None:
    assert call(list_tables_tool(engine, ROOM), pattern="mall*") == (
        "no table matches 'mall*' (with * or ?, a pattern is the form of the whole name); "
        "there are 603 tables"
    )


def test_a_wide_table_is_cut_at_its_columns(engine: Engine) -> None:
    text = call(get_schema_tool(engine, 3, 8_000), tables=["wide"])
    assert len(text) <= 8_000
    more = re.search(r"\n  \.\.\. and (\d+) more columns: narrow them with columns\n\)\n", text)
    assert more is not None
    ddl, _, sample = text.partition("\n/* 3 sample rows:\n")
    assert ddl.count(" TEXT") == 500 - int(more[1])
    header = sample.splitlines()[0].split("\t")
    assert header == [f"column_{number:03d}" for number in range(len(header))]
    left = 500 - int(more[1]) - len(header)
    assert sample.splitlines()[-2:] == [f"... and {left} more columns", "*/"]


def test_columns_narrow_a_wide_table_and_its_sample(engine: Engine) -> None:
    text = call(get_schema_tool(engine, 1, 32_000), tables="wide", columns="column_49?,_007")
    value = "x" * 90
    columns = ["column_007", *(f"column_49{digit}" for digit in range(10))]
    kept = ", ".join(f"{name} TEXT" for name in columns)
    assert text == (
        f"CREATE TABLE wide ( {kept}\n  ... 489 other columns not like 'column_49?,_007'\n)\n"
        f"/* 1 sample rows:\n" + "\t".join(columns) + "\n" + "\t".join([value] * 11) + "\n*/"
    )
    assert call(get_schema_tool(engine, 1, 32_000), tables="wide", columns="zz") == (
        "CREATE TABLE wide (\n  ... 500 other columns not like 'zz'\n)"
    )


def test_tables_share_what_may_be_shown(engine: Engine) -> None:
    text = call(get_schema_tool(engine, 2, 6_000), tables=["wide", "small_001", "nope", "lengthy"])
    assert len(text) <= 6_000
    # Those that need little are whole, and the long ones get the rest.
    assert "CREATE TABLE small_001 (id INTEGER, name TEXT)\n/* 2 sample rows:\nid\tname\n*/" in text
    assert "error: table 'nope' does not exist" in text
    assert "more columns: narrow them with columns" in text
    assert re.search(r"CREATE VIEW lengthy \(\n  id INTEGER\n\) AS\nSELECT id FROM \(SELECT", text)
    assert re.search(r"\n\.\.\. and [\d,]+ more characters", text)
    assert len(text) > 5_000


def test_too_many_tables_are_left_out(engine: Engine) -> None:
    tables = [f"small_{number:03d}" for number in range(100)]
    text = call(get_schema_tool(engine, 0, 10_000), tables=tables)
    assert text.count("CREATE TABLE") == 10
    assert text.endswith("\n\n... and 90 more tables: ask for fewer at a time")
    assert len(text) <= 10_000


@pytest.mark.parametrize("tables", [["odd, name"], '"odd, name"', "`odd, name`"])
def test_a_name_with_a_comma_is_one_name(engine: Engine, tables: Any) -> None:
    text = call(get_schema_tool(engine, 0, ROOM), tables=tables)
    assert text == 'CREATE TABLE "odd, name" (a, b)'


def test_a_sample_that_fails_is_no_sample(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "v.db")) as connection:
        connection.execute("CREATE VIEW v AS SELECT * FROM gone")
    with open_engine(f"sqlite:///{tmp_path / 'v.db'}") as engine:
        text = call(get_schema_tool(engine, 2, ROOM), tables=["v"])
    assert text == (
        "CREATE VIEW v AS SELECT * FROM gone\n/* no sample rows: no such table: main.gone */"
    )


def test_a_wide_result_is_cut_at_its_columns(engine: Engine) -> None:
    text = call(run_query_tool(engine, Limits(), 20_000), sql="SELECT * FROM wide")
    assert len(text) <= 20_000
    lines = text.splitlines()
    assert lines[-2] == "... and 10 more rows"
    shown = len(lines[0].split("\t"))
    assert lines[-1] == f"... and {500 - shown} more columns"
    assert len(lines) == 1 + 20 + 2
    assert all(line == "\t".join(["x" * 90] * shown) for line in lines[1:21])


def test_rows_go_where_one_column_is_too_much() -> None:
    outcome = Outcome("ok", ("n" * 500, "m"), ("text",) * 2, (("x" * 500, 1),) * 20, row_count=20)
    lines = rows_as_text(outcome, 20, 500).splitlines()
    assert lines == [
        *("n" * 99 + "…", "x" * 99 + "…", "x" * 99 + "…"),
        *("... and 18 more rows", "... and 1 more column"),
    ]


@pytest.mark.parametrize(
    ("ddl", "dialect", "pattern", "shown"),
    [
        (
            PG,
            "postgres",
            "a,b",
            'CREATE TABLE "T" ( -- about, (it)\n  "a,b" numeric(10,2) NOT NULL, -- first, it\'s\n'
            "  PRIMARY KEY (\"a,b\"),\n  CHECK ((d < 3))\n  ... 2 other columns not like 'a,b'\n)",
        ),
        (
            PG,
            "postgres",
            "?",
            'CREATE TABLE "T" ( -- about, (it)\n  c text, -- second\n  d int,\n'
            "  PRIMARY KEY (\"a,b\"),\n  CHECK ((d < 3))\n  ... 1 other column not like '?'\n)",
        ),
        (PG, "postgres", None, PG),
        (
            SPARK,
            "spark",
            "b,ch",
            "CREATE TABLE t (\n  `b,c` INT,\n  check BIGINT\n"
            "  ... 1 other column not like 'b,ch'\n)\nUSING parquet",
        ),
        (
            SPARK,
            "spark",
            "a",
            "CREATE TABLE t (\n  a STRUCT<x: INT, y: MAP<STRING, INT>> COMMENT 'it\\'s, (a)',"
            "\n  ... 2 other columns not like 'a'\n)\nUSING parquet",
        ),
        (
            SQLITE,
            "sqlite",
            "a*",
            "CREATE TABLE t ( [a,b)] TEXT DEFAULT 'x),y', -- about a, b\n UNIQUE (c)"
            "\n  ... 2 other columns not like 'a*'\n)",
        ),
    ],
)
def test_ddl_is_cut_between_its_columns(
    ddl: str, dialect: str, pattern: str | None, shown: str
) -> None:
    assert shown_ddl(ddl, dialect, 1_000, pattern).text == shown


@pytest.mark.parametrize("room", [700, 1_000, 5_000])
@pytest.mark.parametrize(
    "ddl",
    [
        f"CREATE TABLE t ( -- {'c' * 9_000}\n  a int, -- {'d' * 9_000}\n  b int\n)",
        "CREATE TABLE t (\n  a int,\n"
        + ",\n".join(["  FOREIGN KEY (a) REFERENCES u"] * 900)
        + "\n)",
        f"CREATE VIEW v AS SELECT '{'x' * 9_000}'",
        f"CREATE VIEW v (\n  a int\n) AS\n SELECT $${'x' * 9_000}$$",
        f"CREATE TABLE t ('{'x' * 9_000}",
    ],
)
def test_whatever_is_long_is_cut(ddl: str, room: int) -> None:
    text = shown_ddl(ddl, "postgres", room, None).text
    assert len(text) <= room
    assert text.startswith(ddl[:15])
    assert re.search(r"\.\.\. and [\d,]+ more (characters|constraints)", text)


def test_patterns() -> None:
    assert matches(None, "x")
    assert matches("ORDER", '"Order".items')
    assert matches("order.items", '"Order".items')
    assert matches("a.c", "a.c")
    assert not matches("a.c", "abc")
    assert not matches("a[bc]*", "abx")
