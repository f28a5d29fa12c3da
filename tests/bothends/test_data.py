"""`bothends data import`, on a small suite in BIRD's layout."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bothends.cli import app
from bothends.eval.gold.entries import load_gold
from bothends.infra.errors import BothendsError
from bothends.infra.imported import imported_dataset, imported_names

QUESTIONS = [
    ("1", "zoo", "SELECT name FROM animal WHERE legs / 2 = 1"),
    ("2", "zoo", "SELECT name FROM animal LIMIT 1"),
    ("3", "zoo", "SELECT avg(legs) FROM animal WHERE name LIKE 'A%'"),
    ("4", "zoo", "SELECT count(*) FROM animal"),
]


@pytest.fixture(scope="module")
def bird(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("suite")
    for name, script in {
        "zoo": "CREATE TABLE animal (name TEXT, legs INTEGER); INSERT INTO animal VALUES "
        "('ant', 6), ('bee', 6), ('ape', 2), ('kiwi', 3), ('eel', 'none');",
        "park": "CREATE TABLE tree (id INTEGER PRIMARY KEY); INSERT INTO tree VALUES (1), (2);",
    }.items():
        (root / "dev_databases" / name).mkdir(parents=True)
        with closing(sqlite3.connect(root / "dev_databases" / name / f"{name}.sqlite")) as link:
            link.executescript(script)
    questions = [
        {"question_id": int(number), "db_id": database, "question": "What?", "SQL": sql}
        for number, database, sql in QUESTIONS
    ]
    (root / "dev.json").write_text(json.dumps(questions))
    return root


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def test_import_and_gate(bird: Path, here: Path) -> None:
    command = ["data", "import", str(bird), "--suite", "bird", "--engine", "postgres"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    out = Path("data") / bird.name
    assert imported_names(out) == ("park", "zoo")
    assert imported_dataset(out / "park").primary_keys == {"tree": ("id",)}
    lines = done.stdout.splitlines()
    assert lines[0] == f"{out}: 2 databases, 2 tables, 7 rows"
    assert lines[1] == ("  zoo.animal.legs, INTEGER: text (1 do not fit, such as 'none')")
    assert "postgres: 2 of 4 admitted (50.0%)" in lines
    assert "  1 excluded: gold has several right answers" in lines
    gold = load_gold(out, "postgres")
    assert {each.question_id for each in gold.values() if each.status == "admitted"} == {"3", "4"}
    # A column that is text here for a single value cannot be divided as SQLite divides it.
    assert gold["1"].cause == "untranslatable"
    assert gold["2"].cause == "chance"
    stamp = (out / "gold.postgres.jsonl").stat().st_mtime_ns
    again = CliRunner().invoke(app, command)
    assert again.stdout == done.stdout
    assert (out / "gold.postgres.jsonl").stat().st_mtime_ns == stamp


def test_data_alone_of_one_database(bird: Path, here: Path) -> None:
    command = ["data", "import", str(bird), "--database", "park", "--out", "elsewhere"]
    done = CliRunner().invoke(app, command)
    assert done.stdout == "elsewhere: 1 database, 1 table, 2 rows\n"
    assert [path.name for path in Path("elsewhere").iterdir()] == ["park"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing does not exist"),
        (["BIRD", "--database", "zo"], "no database 'zo'; its databases are: park, zoo"),
        (["BIRD/dev_databases", "--suite", "bird"], "is not BIRD's: it must hold dev.json"),
    ],
)
def test_mistakes_are_one_sentence(
    bird: Path, here: Path, arguments: list[str], message: str
) -> None:
    arguments = [each.replace("BIRD", str(bird)) for each in arguments]
    done = CliRunner().invoke(app, ["data", "import", *arguments])
    assert isinstance(done.exception, BothendsError)
    assert message in str(done.exception)
