"""`bothends score` as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BIRD = [
    (1, "d", "simple", "SELECT a FROM t"),
    (2, "d", "hard", "SELECT COUNT(*) FROM t"),
    (3, "e", "hard", "SELECT a FROM t WHERE a > 1 ORDER BY a"),
]
MARK = "\t----- bird -----\t"


def bothends(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "bothends", *arguments],
        cwd=cwd, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip


@pytest.fixture
def bird(tmp_path: Path) -> Path:
    """A directory `bird` in BIRD's layout, beside which a user works."""
    import sqlite3

    for database in ("d", "e"):
        file = tmp_path / f"bird/dev_databases/{database}/{database}.sqlite"
        file.parent.mkdir(parents=True)
        connection = sqlite3.connect(file)
        connection.executescript("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2), (3);")
        connection.close()
    entries = [
        {
            "question_id": n,
            "db_id": db,
            "question": "q",
            "evidence": "",
            "SQL": sql,
            "difficulty": d,
        }
        for n, db, d, sql in BIRD
    ]
    (tmp_path / "bird/dev.json").write_text(json.dumps(entries))
    return tmp_path


SCORE = ("score", "--suite", "bird", "--data", "bird", "--predictions")


def test_files_are_scored_and_reported(bird: Path) -> None:
    (bird / "good.json").write_text(
        json.dumps({str(n): f"{sql}{MARK}{db}" for n, db, _, sql in BIRD} | {"9": "SELECT 9"})
    )
    (bird / "poor").mkdir()
    (bird / "poor/2.sql").write_text("SELECT COUNT(*) + 1 FROM t;\n")
    done = bothends(*SCORE, "good.json", "--predictions", "poor", "--out", "r", cwd=bird)
    assert done.returncode == 0, done.stderr
    assert "good.json: 1 prediction for no question of the suite, left out: 9" in (done.stderr)
    assert "poor: no prediction for 2 of 3 questions, which count as wrong: 1, 3" in done.stderr
    for words in ("Numbers of the official evaluators", "By difficulty", "By database", "Soft-F1"):
        assert words in done.stdout
    for name in ("manifest.json", "trials.jsonl", "gold.jsonl", "report.html", "tables/trials.csv"):
        assert (bird / "r" / name).is_file()
    table = (bird / "r/tables/official.csv").read_text().splitlines()
    assert table[0] == "model,scored,ex_set,em,soft_f1,r_ves"
    assert table[1:] == ["good,3,1.0,1.0,1.0,", "poor,3,0.0,0.0,0.0,0.0"]
    before = (bird / "r/trials.jsonl").read_bytes()
    shown = bothends("report", "r", cwd=bird)
    assert shown.returncode == 0
    assert "By difficulty" in shown.stdout
    again = bothends("score", "r", cwd=bird)
    assert again.returncode == 0, again.stderr
    assert (bird / "r/trials.jsonl").read_bytes() == before
    assert (bird / "r-rescored/tables/official.csv").read_text().splitlines() == table


def test_questions_are_chosen_and_times_taken(bird: Path) -> None:
    (bird / "p.json").write_text(json.dumps({str(n): sql for n, _, _, sql in BIRD}))
    options = ("--difficulty", "hard", "--database", "e,d", "--sample", "1", "--sample-seed", "3")
    done = bothends(*SCORE, "p.json", "--out", "r", "--repeats", "2", *options, cwd=bird)
    assert done.returncode == 0, done.stderr
    (line,) = (bird / "r/trials.jsonl").read_text().splitlines()
    trial = json.loads(line)
    assert trial["key"]["question_id"] in ("2", "3")
    assert len(trial["timing"]["generated_s"]) == 2
    experiment = json.loads((bird / "r/manifest.json").read_text())["experiment"]
    assert (experiment["difficulties"], experiment["databases"]) == (["hard"], ["e", "d"])
    assert (experiment["sample"], experiment["sample_seed"]) == (1, 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("score",), "--suite, --data, --predictions missing"),
        (("score", "nowhere"), "nowhere is not a run directory"),
        (("score", "bird", "--suite", "bird"), "says itself what was asked"),
        ((*SCORE, "none.json"), "there is no file or directory of predictions none.json"),
        ((*SCORE, "broken.json"), "broken.json, line 1 is not JSON"),
        ((*SCORE, "empty.json"), "empty.json is empty"),
        ((*SCORE, "bird"), "bird holds no <id>.sql file"),
        ((*SCORE, "other.json"), "none of its ids (77) is a question"),
        ((*SCORE, "good.json", "--database", "x"), "no database 'x'; its databases are: d, e"),
        ((*SCORE, "good.json", "--scale-factor", "1"), "no scale factors"),
        ((*SCORE, "good.json", "--engine", "spark"), "no gold for engine 'spark'"),
        ((*SCORE, "good.json", "--model", "acme:x"), "no price is known for acme:x"),
        ((*SCORE, "good.json", "--timeout", "0"), "--timeout: "),
        (("score", "--suite", "brid", "--data", "bird", "--predictions", "good.json"), "'bird'"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_traceback(
    bird: Path, arguments: tuple[str, ...], said: str
) -> None:
    for name, content in {
        "broken.json": '{"1": ',
        "empty.json": "",
        "other.json": '{"77": "SELECT 1"}',
        "good.json": '{"1": "SELECT 1"}',
    }.items():
        (bird / name).write_text(content)
    done = bothends(*arguments, cwd=bird)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
