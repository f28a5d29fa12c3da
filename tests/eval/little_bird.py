"""A small suite in BIRD's layout, made on the spot: three databases, ten questions."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

__all__ = ["QUESTIONS", "make_bird", "make_spider"]

_SCHOOL = """
CREATE TABLE pupil (id INTEGER PRIMARY KEY, name TEXT, city TEXT, grade REAL);
INSERT INTO pupil VALUES (1, 'Åsa', 'Oslo', 4.5), (2, 'Bo', 'Oslo', 3.0), (3, 'Cy', 'Rome', NULL),
  (4, 'Di', 'Rome', 5.0), (5, 'Ed', 'Oslo', 3.0);
"""
_SHOP = """
CREATE TABLE sale (day TEXT, item TEXT, pieces INTEGER);
INSERT INTO sale VALUES ('2024-01-01', 'pen', 3), ('2024-01-01', 'cup', 1),
  ('2024-01-02', 'pen', 2), ('2024-01-03', 'pen', 2);
"""
_ZOO = """
CREATE TABLE "wild animal" ("its name" TEXT, legs INTEGER);
INSERT INTO "wild animal" VALUES ('ant', 6), ('emu', 2), ('eel', 0), ('owl', 2);
"""
_DATABASES = {"school": _SCHOOL, "shop": _SHOP, "zoo": _ZOO}

QUESTIONS: tuple[tuple[int, str, str, str, str, str], ...] = (
    # id, database, difficulty, question, evidence, gold
    (11, "school", "simple", "How many pupils live in Oslo?", "",
     "SELECT COUNT(*) FROM pupil WHERE city = 'Oslo'"),
    (12, "school", "simple", "Who is it?", "it refers to the pupil named 'Åsa'",
     "SELECT id, grade FROM pupil WHERE name = 'Åsa'"),
    (13, "school", "moderate", "Which cities are there?", "",
     "SELECT DISTINCT city FROM pupil"),
    (14, "school", "challenging", "Names from best to worst grade?", "best refers to MAX(grade)",
     "SELECT name, grade FROM pupil WHERE grade IS NOT NULL ORDER BY grade DESC"),
    (21, "shop", "simple", "What was sold?", "", "SELECT DISTINCT item FROM sale"),
    (22, "shop", "moderate", "Pieces of each item?", "",
     "SELECT item, SUM(pieces) FROM sale GROUP BY item"),
    (23, "shop", "challenging", "A gold that fails", "", "SELECT price FROM sale"),
    (31, "zoo", "simple", "Who has two legs?", "",
     'SELECT "its name" FROM "wild animal" WHERE legs = 2'),
    (32, "zoo", "moderate", "Mean legs?", "", 'SELECT AVG(legs) FROM "wild animal"'),
    (33, "zoo", "moderate", "Who has 100 legs?", "",
     'SELECT "its name" FROM "wild animal" WHERE legs = 100'),
)  # fmt: skip


def make_bird(root: Path, *more: tuple[int, str, str, str, str, str]) -> Path:
    """Make the suite below a directory, with more questions if any are given.

    Returns:
        The directory that `--data` names.
    """
    entries = [
        {
            "question_id": number,
            "db_id": database,
            "question": question,
            "evidence": evidence,
            "SQL": gold,
            "difficulty": difficulty,
        }
        for number, database, difficulty, question, evidence, gold in (*QUESTIONS, *more)
    ]
    _make_databases(root / "dev_databases")
    (root / "dev.json").write_text(json.dumps(entries, ensure_ascii=False), "utf-8")
    return root


def make_spider(root: Path) -> Path:
    """Make the same questions in Spider's layout."""
    entries: list[dict[str, Any]] = [
        {"db_id": database, "question": question, "query": gold}
        for _, database, _, question, _, gold in QUESTIONS
    ]
    _make_databases(root / "database")
    (root / "dev.json").write_text(json.dumps(entries), "utf-8")
    return root


def _make_databases(folder: Path) -> None:
    for name, script in _DATABASES.items():
        file = folder / name / f"{name}.sqlite"
        file.parent.mkdir(parents=True)
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.executescript(script)
