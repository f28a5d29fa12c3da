"""Suites of many databases: BIRD's layout, Spider's, and a file of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.engines import open_engine
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.runner import run_experiment
from bothends.eval.suites.registry import load_suite
from bothends.infra.errors import BothendsError, DataError, RecordError, UsageError

from .little_bird import make_bird, make_spider


def run_bird(data: Path, out: Path, **changes: object) -> Experiment:
    fields = {
        "suite": "bird",
        "engine": "sqlite",
        "data": data,
        "models": ("scripted:perfect",),
        "regimen": Regimen(warmups=0, repeats=1),
    }
    experiment = Experiment.model_validate(fields | changes)
    run_experiment(experiment, out)
    return experiment


def test_bird_is_read_as_it_is_distributed(tmp_path: Path) -> None:
    suite = load_suite("bird", make_bird(tmp_path))
    assert [question.id for question in suite.questions[:4]] == ["11", "12", "13", "14"]
    question = suite.questions[1]
    assert (question.database, question.difficulty) == ("school", "simple")
    assert question.gold_sql("sqlite") == "SELECT id, grade FROM pupil WHERE name = 'Åsa'"
    assert question.prompt == "Who is it?\nEvidence: it refers to the pupil named 'Åsa'"
    assert suite.questions[0].prompt == "How many pupils live in Oslo?"
    with pytest.raises(UsageError, match="question '12' has no gold SQL for engine 'spark'"):
        question.gold_sql("spark")
    dataset = suite.dataset(None, tmp_path, database="zoo")
    assert dataset.sqlite == tmp_path / "dev_databases/zoo/zoo.sqlite"
    with open_engine("sqlite", dataset) as engine:
        assert engine.execute(suite.questions[7].gold_sql("sqlite")).rows == (("emu",), ("owl",))
        assert engine.fingerprint().data == f"zoo {dataset.digest}"
    assert [path.name for path in dataset.directory.iterdir()] == ["zoo.sqlite"]
    with pytest.raises(UsageError, match="zoo is a SQLite file, which engine 'postgres' cannot"):
        open_engine("postgres", dataset)


def test_mini_dev_is_read_where_there_is_no_dev(tmp_path: Path) -> None:
    make_bird(tmp_path)
    (tmp_path / "dev.json").rename(tmp_path / "mini_dev_sqlite.json")
    assert len(load_suite("bird", tmp_path).questions) == 10


def test_spider_ids_are_positions(tmp_path: Path) -> None:
    suite = load_suite("spider", make_spider(tmp_path))
    assert [question.id for question in suite.questions] == [str(n) for n in range(10)]
    assert suite.questions[4].gold_sql("sqlite") == "SELECT DISTINCT item FROM sale"
    sqlite = suite.dataset(None, tmp_path, database="shop").sqlite
    assert sqlite == tmp_path / "database/shop/shop.sqlite"


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    make_spider(tmp_path)
    yaml = tmp_path / "mine.yaml"
    yaml.write_text(
        "- {id: 7, db: shop, question: What, gold: SELECT 1, evidence: none, dialect: sqlite}\n"
        "- {id: b, db: t, question: Why, gold: {spark: SELECT 2, sqlite: SELECT 3}}\n"
    )
    suite = load_suite(str(yaml), tmp_path)
    first, second = suite.questions
    assert (first.id, first.database, first.evidence) == ("7", "shop", "none")
    assert first.gold == {"sqlite": "SELECT 1"}
    assert second.gold_sql("spark") == "SELECT 2"
    jsonl = tmp_path / "mine.jsonl"
    jsonl.write_text('{"id": 1, "db": "t", "question": "q", "gold": "SELECT 4"}\n\n')
    suite = load_suite(str(jsonl), tmp_path)
    assert suite.questions[0].gold_sql("postgres") == "SELECT 4"
    # The databases may lie as <db>/<db>.sqlite, <db>.sqlite, or tables in Parquet.
    database = tmp_path / "database"
    assert suite.dataset(None, database, database="zoo").sqlite == database / "zoo/zoo.sqlite"
    assert suite.dataset(None, database / "zoo", database="zoo").sqlite is not None
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t/numbers.parquet")
    assert list(suite.dataset(None, tmp_path, database="t").tables) == ["numbers"]


def test_questions_are_chosen_by_what_they_are(tmp_path: Path) -> None:
    suite = load_suite("bird", make_bird(tmp_path))

    def ids(**conditions: object) -> list[str]:
        return [question.id for question in suite.select(**conditions)]  # type: ignore[arg-type]

    assert ids(ids=["31", "11"]) == ["11", "31"]
    assert ids(databases=["zoo", "shop"]) == ["21", "22", "23", "31", "32", "33"]
    assert ids(databases=["zoo"], difficulties=["moderate"]) == ["32", "33"]
    five = ids(sample=5, seed=1)
    assert len(five) == 5
    assert five == sorted(five)
    assert ids(sample=5, seed=1) == five
    assert set(ids(sample=3, seed=1)) < set(five)
    assert any(ids(sample=5, seed=seed) != five for seed in (2, 3))
    assert ids(difficulties=["challenging"], sample=50) == ["14", "23"]
    with pytest.raises(UsageError, match="no database 'zo'; its databases are: school, shop, zoo"):
        suite.select(databases=["zo"])
    with pytest.raises(UsageError, match="no difficulty 'hard'; its difficulties are: simple, mod"):
        suite.select(difficulties=["hard"])
    with pytest.raises(UsageError, match="no question that meets all conditions"):
        suite.select(["11"], databases=["zoo"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"question_id": 1,\n "db_id": }]', r"dev\.json, line 2 is not JSON"),
        ("", r"dev\.json is empty"),
        ("{}", r"dev\.json must hold a list of entries, but holds an object"),
        ("[]", r"dev\.json holds no entry"),
        ("[3]", r"dev\.json, entry 1: must be an object with named fields, but is a number"),
        ('[{"db_id": "a", "question": "q"}]', r"dev\.json, entry 1: there is no 'SQL'"),
        ('[{"db_id": ["a"], "question": "q", "SQL": "s"}]', r"entry 1: 'db_id' must be text"),
        (
            json.dumps([{"question_id": 1, "db_id": "a", "question": "q", "SQL": "s"}] * 2),
            r"dev\.json holds question '1' twice",
        ),
        (b"[\xff]", r"dev\.json is not UTF-8 text"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, content: str | bytes, said: str) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "dev.json").write_bytes(raw)
    with pytest.raises(DataError, match=said):
        _ = load_suite("bird", tmp_path).questions


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="suite 'bird' needs --data"):
        _ = load_suite("bird").questions
    with pytest.raises(DataError, match="nowhere does not exist"):
        _ = load_suite("bird", tmp_path / "nowhere").questions
    with pytest.raises(DataError, match=r"it must hold dev\.json"):
        _ = load_suite("bird", tmp_path).questions
    (tmp_path / "q.jsonl").write_text('{"id": 1}\n{"id": 2,\n')
    with pytest.raises(DataError, match=r"q\.jsonl, line 2 is not JSON"):
        _ = load_suite(str(tmp_path / "q.jsonl")).questions
    with pytest.raises(UsageError, match=r"there is no file 'no\.yaml'"):
        load_suite("no.yaml")
    data = make_bird(tmp_path / "b")
    (data / "dev_databases/shop/shop.sqlite").unlink()
    with pytest.raises(DataError, match=r"'shop' is missing: there is no .*shop/shop\.sqlite"):
        run_bird(data, tmp_path / "run")
    with pytest.raises(DataError, match="cannot be a database's name"):
        load_suite("bird", data).dataset(None, data, database="../school")


def test_a_suite_of_many_databases_is_run_one_after_the_other(tmp_path: Path) -> None:
    data, out = make_bird(tmp_path / "b"), tmp_path / "run"
    experiment = run_bird(data, out, models=("scripted:perfect", "scripted:extra_column"))
    run = run_experiment(experiment, out)  # which finds all of it done
    manifest, trials = run.manifest, run.trials()
    assert set(manifest.databases) == {"school", "shop", "zoo"}
    assert manifest.experiment.scale_factor is None
    terms = {question.id: question for question in manifest.questions}
    assert (terms["32"].database, terms["32"].difficulty) == ("zoo", "moderate")
    assert [terms[trial.key.question_id].database for trial in trials] == sorted(
        terms[trial.key.question_id].database for trial in trials
    )
    assert len(trials) == 20
    for trial in trials:
        if trial.key.question_id == "23":
            assert trial.status == "gold_failed"
            continue
        assert trial.verdict is not None
        wrong = None if trial.key.model == "scripted:perfect" else "C"
        assert trial.verdict.error_class == wrong
        assert trial.key.scale_factor is None


def test_other_data_is_another_run(tmp_path: Path) -> None:
    data, out = make_bird(tmp_path / "b"), tmp_path / "run"
    run_bird(data, out, databases=("school", "shop"), difficulties=("simple",))
    before = (out / "trials.jsonl").read_bytes()
    trials = before.splitlines(keepends=True)
    (out / "trials.jsonl").write_bytes(b"".join(trials[:1]))
    shop = data / "dev_databases/shop/shop.sqlite"
    shop.write_bytes(shop.read_bytes() + bytes(4096))
    with pytest.raises(RecordError, match="its data are not the same"):
        run_bird(data, out, databases=("school", "shop"), difficulties=("simple",))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scale_factor": 1}, "suite 'bird' has no scale factors"),
        ({"engine": "sqlite:////tmp/x.db"}, "asks of 3 databases, and sqlite:////tmp/x.db is one"),
        ({"suite": "brid"}, "did you mean 'bird'"),
    ],
)
def test_what_does_not_fit_a_suite(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(BothendsError, match=said):
        run_bird(make_bird(tmp_path / "b"), tmp_path / "run", **changes)


def test_questions_of_ones_own_about_what_an_address_names(tmp_path: Path) -> None:
    data = make_bird(tmp_path / "bird")
    questions = tmp_path / "own.yaml"
    questions.write_text(
        "- id: one\n  question: How many pupils?\n  gold: SELECT COUNT(*) FROM pupil\n", "utf-8"
    )
    experiment = Experiment(
        suite=str(questions),
        engine=f"sqlite:///{data}/dev_databases/school/school.sqlite",
        data=tmp_path / "nowhere",
        models=("scripted:perfect",),
        regimen=Regimen(warmups=0, repeats=1),
    )
    (trial,) = run_experiment(experiment, tmp_path / "run").trials()
    assert (trial.status, trial.first_rows) == ("ok", (("5",),))
    assert trial.verdict is not None
    assert trial.verdict.exact
