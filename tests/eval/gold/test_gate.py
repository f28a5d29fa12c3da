"""The gate: planted questions whose gold changes its meaning, or has none, are excluded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bothends.eval.gold.entries import GoldEntry, gold_file, load_gold, write_gold
from bothends.eval.gold.gate import Database, GoldQuestion, is_current, run_gate
from bothends.infra.errors import DataError
from bothends.infra.sqlite_import import import_sqlite

from .conftest import make_database

# A collation of a column's own is what no rule sees.
SCRIPT = """
CREATE TABLE word (id INTEGER PRIMARY KEY, w TEXT COLLATE NOCASE, g TEXT, v INTEGER);
INSERT INTO word VALUES
    (1, 'a', 'x', 5), (2, 'A', 'x', 5), (3, 'b', 'y', 4), (4, 'c', 'y', 3), (5, 'd', 'z', 5);
"""
QUESTIONS = {
    "equal": ("SELECT count(*) FROM word WHERE g = 'x'", None, ""),
    "collation": ("SELECT count(*) FROM word WHERE w = 'a'", "changed", "row 1 has 1 for 2"),
    "tie": ("SELECT w FROM word ORDER BY v DESC LIMIT 1", "chance", "3 rows compete"),
    "same tie": ("SELECT g FROM word WHERE g = 'x' ORDER BY v DESC LIMIT 1", None, ""),
    "inner tie": (
        "SELECT count(*) FROM word WHERE id = (SELECT id FROM word ORDER BY v DESC LIMIT 1)",
        "chance",
        "3 rows compete",
    ),
    "no order": ("SELECT id FROM word LIMIT 2", "chance", "LIMIT has no ORDER BY: 5 rows compete"),
    "all rows": ("SELECT id FROM word LIMIT 5", None, ""),
    "second page": ("SELECT w FROM word ORDER BY v LIMIT 1, 1", None, ""),
    "cut page": ("SELECT w FROM word ORDER BY v DESC LIMIT 1, 3", "chance", "3 rows compete"),
    "distinct": ("SELECT DISTINCT v FROM word ORDER BY v DESC LIMIT 1", None, ""),
    "sorted distinct": ("SELECT DISTINCT v FROM word WHERE id > 2 ORDER BY id LIMIT 1", None, ""),
    "undetermined": (
        "SELECT DISTINCT g FROM word ORDER BY id LIMIT 1",
        "chance",
        "it sorts distinct rows by what they do not determine",
    ),
    "union": (
        "SELECT g FROM word UNION SELECT 'q' ORDER BY 1 LIMIT 1",
        None,
        "",
    ),
    "common table": (
        "WITH c AS (SELECT g, count(*) AS n FROM word GROUP BY g) "
        "SELECT g FROM (SELECT g FROM c ORDER BY n DESC LIMIT 1)",
        "chance",
        "2 rows compete",
    ),
    "bare": ("SELECT g, w FROM word GROUP BY g", "chance", "w is not grouped by"),
    "bare, alone": ("SELECT g, v FROM word WHERE v > 3 GROUP BY g", None, ""),
    "tied window": (
        "SELECT id, row_number() OVER (PARTITION BY v ORDER BY g) FROM word",
        "chance",
        "ROW_NUMBER() depends on the order of rows with equal sort keys",
    ),
    "window": ("SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) FROM word", None, ""),
    "ranks": ("SELECT id, rank() OVER (ORDER BY g) FROM word", None, ""),
    "tied extreme": ("SELECT max(v), id FROM word", "chance", "several rows have the extreme"),
    "lone extreme": ("SELECT min(v), w FROM word", None, ""),
    "extremes of groups": ("SELECT g, max(id), w FROM word GROUP BY g", None, ""),
    "scan order": (
        "SELECT g, (SELECT b.w FROM word b WHERE b.v = a.v LIMIT 1) FROM word a",
        "chance",
        "the order in which rows are read",
    ),
    "concatenated": ("SELECT group_concat(w) FROM word", "chance", "in no order"),
    "broken": ("SELECT lost FROM word", "gold_failed", "no such column: lost"),
    "rowid": ("SELECT max(rowid) FROM word", "untranslatable", "rowids, which only SQLite has"),
    "printf": ("SELECT printf('%d', v) FROM word", "untranslatable", "no rule for the function"),
    "overflow": (
        "SELECT v * 4611686018427387904 FROM word WHERE id = 1",
        "failed",
        "out of range",
    ),
    "slow": (
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000000) "
        "SELECT max(i) FROM c",
        "gold_failed",
        "time limit",
    ),
}


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Database]:
    root = tmp_path_factory.mktemp("gate")
    path = make_database(root / "words.sqlite", SCRIPT)
    import_sqlite(path, root / "imported" / "words")
    return {"words": Database(path, root / "imported" / "words")}


@pytest.fixture(scope="module")
def questions() -> list[GoldQuestion]:
    listed = [GoldQuestion(name, "words", sql) for name, (sql, _, _) in QUESTIONS.items()]
    return [*listed, GoldQuestion("elsewhere", "other", "SELECT 1")]


@pytest.fixture(scope="module")
def entries(databases: dict[str, Database], questions: list[GoldQuestion]) -> dict[str, GoldEntry]:
    found = run_gate(questions, databases, "postgres", questions_sha256="q", timeout_s=2)
    return {entry.question_id: entry for entry in found}


@pytest.mark.parametrize("name", QUESTIONS)
def test_gold_is_admitted_only_where_it_means_the_same(
    entries: dict[str, GoldEntry], name: str
) -> None:
    sql, cause, reason = QUESTIONS[name]
    entry = entries[name]
    assert (entry.cause, entry.status) == (cause, "excluded" if cause else "admitted")
    assert reason in entry.reason
    assert entry.source_sql == sql
    assert (entry.sql is not None) == (cause in (None, "failed", "changed"))


def test_questions_of_other_databases_are_passed_over(entries: dict[str, GoldEntry]) -> None:
    assert set(entries) == set(QUESTIONS)


def test_an_entry_says_what_it_holds_for(
    entries: dict[str, GoldEntry], databases: dict[str, Database], questions: list[GoldQuestion]
) -> None:
    entry = entries["equal"]
    assert entry.engine_version.startswith("18")
    assert entry.tolerance.relative == 1e-9
    facts = {"target": "postgres", "questions_sha256": "q", "timeout_s": 2.0}

    def current(**changed: object) -> bool:
        return is_current(entries.values(), questions, databases, **{**facts, **changed})  # type: ignore[arg-type]

    assert current()
    assert not current(questions_sha256="another")
    assert not current(timeout_s=3.0)
    assert not is_current([], questions, databases, **facts)  # type: ignore[arg-type]
    older = [each.model_copy(update={"translation": 0}) for each in entries.values()]
    assert not is_current(older, questions, databases, **facts)  # type: ignore[arg-type]


def test_gold_is_read_as_it_was_written(entries: dict[str, GoldEntry], tmp_path: Path) -> None:
    assert load_gold(tmp_path, "postgres") == {}
    write_gold(tmp_path, "postgres", entries.values())
    assert load_gold(tmp_path, "postgres") == entries
    assert load_gold(tmp_path, "spark") == {}
    first = json.loads(gold_file(tmp_path, "postgres").read_text().splitlines()[0])
    assert first["question_id"] == "equal"
    gold_file(tmp_path, "postgres").write_text("{}\n")
    with pytest.raises(DataError, match="cannot be read as gold"):
        load_gold(tmp_path, "postgres")
