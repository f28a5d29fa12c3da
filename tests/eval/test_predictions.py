"""Predictions made elsewhere, in every format, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bothends.eval.predictions import Prediction, read_predictions
from bothends.eval.suites.base import Question
from bothends.infra.errors import BothendsError, DataError

QUESTIONS = tuple(
    Question(id=number, text="q", gold={"sqlite": "SELECT 1"}, database="shop")
    for number in ("1", "2", "10")
)


def test_birds_format(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    mark = "\t----- bird -----\t"
    file.write_text(json.dumps({"10": f"SELECT 'é'\n{mark}shop", "2": "", "1": 0, "3": f"{mark}x"}))
    found = read_predictions(file)
    assert found.of == {
        "10": Prediction("SELECT 'é'", "shop"),
        "2": Prediction(""),
        "1": Prediction(""),
        "3": Prediction("", "x"),
    }
    assert found.missing(QUESTIONS) == ()
    assert found.unknown(QUESTIONS) == ("3",)
    found.check(QUESTIONS)


@pytest.mark.parametrize("value", [True, 5, ["SELECT 1"]])
def test_what_is_no_sql_is_no_prediction(tmp_path: Path, value: object) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"1": "SELECT 1", "2": value}))
    with pytest.raises(DataError, match="id '2': a prediction must be SQL"):
        read_predictions(file)


def test_jsonl_with_what_it_took(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    entries = [
        {"question_id": 1, "db_id": "shop", "sql": " SELECT 1 ", "prompt_tokens": 7,
         "completion_tokens": 3, "model_calls": 2, "latency_s": 1.5},
        {"instance_id": "2", "predicted_sql": None, "latency_ms": 250,
         "usage": {"input_tokens": 5, "output_tokens": 0}},
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, entries)) + "\n\n")
    found = read_predictions(file)
    assert found.of == {
        "1": Prediction("SELECT 1", "shop", 7, 3, 2, 1.5),
        "2": Prediction("", "", 5, 0, None, 0.25),
    }
    assert found.missing(QUESTIONS) == ("10",)
    whole = tmp_path / "p.json"
    whole.write_text(json.dumps(entries))
    assert read_predictions(whole).of == found.of


def test_a_directory_of_files(tmp_path: Path) -> None:
    (tmp_path / "10.sql").write_text("SELECT 10\n")
    (tmp_path / "bq001.sql").write_text("")
    (tmp_path / "10.csv").write_text("a")
    assert read_predictions(tmp_path).of == {
        "10": Prediction("SELECT 10"),
        "bq001": Prediction(""),
    }


def test_the_same_id_twice_must_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    line = '{"id": 1, "sql": "SELECT 1"}\n'
    file.write_text(line * 2)
    assert len(read_predictions(file).of) == 1
    file.write_text(line + '{"id": 1, "sql": "SELECT 2"}\n')
    with pytest.raises(DataError, match="two different predictions for question 1: keep one"):
        read_predictions(file)
    whole = tmp_path / "p.json"
    whole.write_text('{"1": "SELECT 1", "2": "", "1": "SELECT 1"}')
    assert len(read_predictions(whole).of) == 2
    whole.write_text('{"1": "SELECT 1", "1": "SELECT 2"}')
    with pytest.raises(DataError, match="two different predictions for question 1"):
        read_predictions(whole)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.json", '{"1": "a",\n', "line 2 is not JSON"),
        ("p.json", "", "is empty"),
        ("p.json", "{}", "holds no prediction"),
        ("p.json", "[]", "holds no entry"),
        ("p.json", "7", "must hold a list of entries, but holds a number"),
        ("p.json", '["SELECT 1"]', "a list of SQL without ids"),
        ("p.json", '{"1": {"answer": 3}}', "id '1': there is no 'sql'"),
        ("p.jsonl", '{"id": 1, "sql": "a"}\n{"id": 2', "line 2 is not JSON"),
        ("p.jsonl", '{"sql": "a"}', "line 1: there is no 'question_id'"),
        ("p.jsonl", '{"id": 1}', "line 1: there is no 'sql'"),
        ("p.jsonl", '{"id": 1, "sql": ["a"]}', "line 1: 'sql' must be text, but is a list"),
        ("p.jsonl", '{"id": 1, "sql": "a", "prompt_tokens": "many"}', "must be a whole number"),
        ("p.jsonl", '{"id": 1, "sql": "a", "latency_s": -1}', "must be a number of 0 or more"),
        ("p.txt", "SELECT 1", "not in a known format of predictions"),
        ("q.json", None, "there is no file or directory of predictions"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(BothendsError, match=said):
        read_predictions(tmp_path / name)


def test_an_empty_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no <id>\.sql file"):
        read_predictions(tmp_path)


def test_predictions_for_another_suite_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"77": "SELECT 1"}')
    with pytest.raises(DataError, match=r"none of its ids \(77\) is a question of the suite"):
        read_predictions(file).check(QUESTIONS)
    file.write_text(json.dumps({"1": "SELECT 1\t----- bird -----\tzoo"}))
    with pytest.raises(DataError, match="another database than the suite for question 1"):
        read_predictions(file).check(QUESTIONS)
