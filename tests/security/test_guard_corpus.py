"""What the guard rejects, and what it must not, by whole collections of statements."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import duckdb
import duckdb_extension_tpcds
import pytest
import sqlglot

from bothends.engines.guard import check_read_only
from bothends.eval.suites.registry import load_suite

from .corpus import DIALECTS, harmless, hostile

HOSTILE = [
    pytest.param(dialect, sql, id=f"{dialect}-{aim}-{number}")
    for dialect in DIALECTS
    for aim, statements in hostile(dialect).items()
    for number, sql in enumerate(statements)
]
HARMLESS = [(dialect, sql) for dialect in DIALECTS for sql in harmless(dialect)]


@cache
def tpcds_queries() -> list[str]:
    """The 99 queries of TPC-DS, as DuckDB's extension carries them."""
    package = Path(duckdb_extension_tpcds.__file__).parent
    (extension,) = package.rglob("tpcds.duckdb_extension")
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        rows = connection.execute("SELECT query FROM tpcds_queries() ORDER BY query_nr").fetchall()
    return [query for (query,) in rows]


def test_corpus_is_as_large_as_it_should_be() -> None:
    assert len(HOSTILE) >= 150
    assert len(HARMLESS) >= 60


@pytest.mark.parametrize(("dialect", "sql"), HOSTILE)
def test_hostile_statement_is_rejected_with_a_sentence(dialect: str, sql: str) -> None:
    rejection = check_read_only(sql, dialect)
    assert rejection is not None
    assert rejection.reason.endswith(".")
    assert "\n" not in rejection.reason


@pytest.mark.parametrize(("dialect", "sql"), HARMLESS)
def test_harmless_query_is_admitted(dialect: str, sql: str) -> None:
    assert check_read_only(sql, dialect) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tpch_is_admitted(dialect: str) -> None:
    questions = load_suite("tpch").questions
    assert len(questions) == 22
    for question in questions:
        assert check_read_only(question.gold_sql(dialect), dialect) is None, question.id


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tpcds_is_admitted(dialect: str) -> None:
    queries = tpcds_queries()
    assert len(queries) == 99
    for number, query in enumerate(queries, start=1):
        translated = sqlglot.transpile(query, read="duckdb", write=dialect)[0]
        assert check_read_only(query, dialect) is None, number
        assert check_read_only(translated, dialect) is None, number


def test_bird_is_admitted(bird: Path) -> None:
    for question in json.loads((bird / "dev.json").read_text("utf-8")):
        rejection = check_read_only(question["SQL"], "sqlite")
        assert rejection is None, (question["SQL"], rejection)
