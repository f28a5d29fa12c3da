"""Predictions judged without an agent: against known verdicts, and against BIRD's official ones."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import pytest

from bothends.api import load_run, score
from bothends.eval.predictions import PredictionSet, read_predictions
from bothends.eval.record import Trial
from bothends.eval.scoring.task import folded
from bothends.eval.store import RunDirectory
from bothends.infra.errors import BothendsError, DataError, RecordError, UsageError

from .little_bird import QUESTIONS, make_bird

GOLD = {str(number): gold for number, *_, gold in QUESTIONS}


def write(path: Path, answers: dict[str, str]) -> Path:
    path.write_text(json.dumps(answers), "utf-8")
    return path


def score_little(data: Path, out: Path, *files: Path, **changes: object) -> dict[str, Trial]:
    run = score(files, suite="bird", data=data, out=out, workers=1, **changes)  # type: ignore[arg-type]
    assert len({trial.key.model for trial in run.trials}) == len(files)
    return {trial.key.question_id: trial for trial in run.trials}


def digests(data: Path) -> dict[str, str]:
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(data.rglob("*"))
        if file.is_file()
    }


def test_each_kind_of_answer_gets_its_verdict(tmp_path: Path) -> None:
    data = make_bird(tmp_path / "bird")
    answers = {
        "11": "select  count( * ) from PUPIL where city='Oslo';",
        "12": "SELECT grade, id FROM pupil WHERE id = 1",  # columns swapped
        "13": "SELECT city FROM pupil",  # no DISTINCT
        "14": "SELECT name, grade FROM pupil WHERE grade IS NOT NULL ORDER BY grade",
        "21": "SELECT item, 1 FROM sale GROUP BY item",  # a column too many
        "22": "SELECT item, SUM(pieces) + 0.5 FROM sale GROUP BY item",
        "23": "SELECT item FROM sale",  # gold fails
        "31": 'DELETE FROM "wild animal"',
        "32": "",
        "77": "SELECT 1",
    }
    before = digests(data)
    trials = score_little(data, tmp_path / "run", write(tmp_path / "p.json", answers))
    assert digests(data) == before
    assert list(trials) == list(GOLD)
    found = {}
    for key, trial in trials.items():
        v = trial.verdict
        found[key] = (
            (trial.status,)
            if v is None
            else (v.focus, v.exact, v.ordered, v.bird_set, v.error_class, trial.exact_match)
        )
    assert found == {
        "11": (True, True, True, True, None, True),
        "12": (True, True, True, False, None, False),
        "13": (False, False, False, True, "A", False),
        "14": (True, True, False, True, None, False),
        "21": (True, False, False, False, "C", False),
        "22": (False, False, False, False, "D", False),
        "23": ("gold_failed",),
        "31": ("rejected",),
        "32": ("no_query",),
        "33": ("no_query",),
    }
    assert trials["14"].soft_f1 == 0.0  # the right rows, but none at its place
    assert trials["12"].soft_f1 == 1.0
    assert trials["33"].error == "p.json has no prediction for it"
    assert trials["32"].error == "the prediction is empty"
    assert trials["23"].error == "gold failed: no such column: price"
    manifest = RunDirectory(tmp_path / "run").manifest
    assert "9 of 10 questions, 1 unknown ids left out" in manifest.models[0].description
    assert manifest.experiment.task == "score"


def test_the_run_directory_is_like_any_other(tmp_path: Path) -> None:
    data, out = make_bird(tmp_path / "bird"), tmp_path / "run"
    file = write(tmp_path / "p.json", GOLD)
    score_little(data, out, file)
    golds = {gold.question_id: gold for gold in RunDirectory(out).golds()}
    assert [gold.status for gold in golds.values()].count("failed") == 1
    assert golds["21"].row_count == 2
    run = load_run(out)
    (summary,) = run.summaries.values()
    assert (summary.counted, summary.ex.mean, summary.em.mean) == (9, 1.0, 1.0)
    assert (summary.ves.mean, summary.r_ves.mean, summary.cvq.mean) == (None, None, None)
    html = (out / "report.html").read_text()
    for words in ("By difficulty", "By database", "challenging", "school", "Soft-F1"):
        assert words in html
    table = (out / "tables/by_difficulty.csv").read_text().splitlines()
    assert [row.split(",")[:4] for row in table[1:]] == [
        ["simple", "p", "4", "4"],
        ["moderate", "p", "4", "4"],
        ["challenging", "p", "1", "1"],
    ]
    # The same again replaces it; other predictions do not.
    score_little(data, out, file)
    write(file, GOLD | {"11": "SELECT 3"})
    with pytest.raises(RecordError, match="holds another run: digests was"):
        score_little(data, out, file)


def test_what_predictions_took_is_priced(tmp_path: Path) -> None:
    data = make_bird(tmp_path / "bird")
    file, prices = tmp_path / "p.jsonl", tmp_path / "prices.yaml"
    entries = [
        {"question_id": 11, "sql": GOLD["11"], "prompt_tokens": 1000, "completion_tokens": 100,
         "latency_s": 2.0},
        {"question_id": 13, "sql": "SELECT 1", "prompt_tokens": 3000, "completion_tokens": 100,
         "latency_s": 2.0},
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, entries)))
    prices.write_text("models: {'acme:m': {input_usd_per_mtok: 1.0, output_usd_per_mtok: 10.0}}")
    run = score(
        [file], suite="bird", data=data, out=tmp_path / "run", question_ids=["11", "13"],
        models=["acme:m"], prices=prices, machine="0", repeats=3,
    )  # fmt: skip
    first, second = run.trials
    assert first.cost.usd == pytest.approx(0.002)
    assert second.cost.usd == pytest.approx(0.004)
    for each in (first, second):
        assert sum(usd or 0 for usd in each.step_usd) == pytest.approx(each.cost.usd)
    assert first.e2e_s is not None
    assert 2.0 < first.e2e_s < 3.0
    assert first.timing is not None
    assert len(first.timing.gold_s) == 3
    assert second.timing is None  # a wrong answer need not be timed
    (summary,) = run.summaries.values()
    assert summary.cvq.mean == pytest.approx(0.006)
    star = first.timing.gold_median_s / first.e2e_s / 2
    assert summary.ves_star.mean == pytest.approx(star)
    assert summary.vces.mean == pytest.approx(star / 0.002)
    assert summary.r_ves.mean is not None
    assert summary.input_tokens == 2000
    with pytest.raises(UsageError, match="no price is known for acme:other"):
        score([file], suite="bird", data=data, out=tmp_path / "r2", models=["acme:other"])


def test_several_files_and_processes_agree_with_one(tmp_path: Path) -> None:
    data = make_bird(tmp_path / "bird")
    first = write(tmp_path / "a.json", GOLD)
    second = write(tmp_path / "b.json", {"11": "SELECT 3", "13": GOLD["13"]})

    def verdicts(out: Path, workers: int) -> list[tuple[object, ...]]:
        run = score([first, second], suite="bird", data=data, out=out, workers=workers)
        return [(t.key.model, t.key.question_id, t.status, t.verdict) for t in run.trials]

    assert verdicts(tmp_path / "one", 1) == verdicts(tmp_path / "two", 2)


def test_a_query_past_its_time_is_stopped_and_gold_has_its_own(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n"
    data = make_bird(tmp_path / "bird", (99, "zoo", "simple", "Endless?", "", endless))
    file = write(tmp_path / "p.json", {"11": endless, "99": "SELECT 1"})
    started = time.perf_counter()
    trials = score_little(
        data, tmp_path / "run", file, question_ids=["11", "99"], timeout_s=0.2, gold_timeout_s=0.4
    )
    assert time.perf_counter() - started < 10
    assert trials["11"].status == "timeout"
    assert trials["99"].status == "gold_failed"
    assert trials["99"].error == "gold timeout: stopped after the time limit of 0.4 s"


def test_a_huge_answer_is_judged_without_holding_it(tmp_path: Path) -> None:
    data = make_bird(tmp_path / "bird")
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000) SELECT "
    answers = {"11": many + "i FROM n", "13": many + "'Oslo' FROM n UNION ALL SELECT 'Rome'"}
    trials = score_little(
        data, tmp_path / "run", write(tmp_path / "p.json", answers), max_rows=1000,
        question_ids=["11", "13"],
    )  # fmt: skip
    first, second = trials["11"].verdict, trials["13"].verdict
    assert first is not None
    assert second is not None
    assert (first.error_class, first.predicted_rows, first.bird_set) == ("A", 30000, False)
    # Thirty thousand times Oslo and once Rome are the set of cities, as BIRD has it.
    assert (second.error_class, second.predicted_rows, second.bird_set) == ("A", 30001, True)


def test_a_run_is_scored_anew_from_its_stored_sql(tmp_path: Path) -> None:
    from bothends.eval.experiment import Experiment, Regimen
    from bothends.eval.runner import run_experiment
    from bothends.eval.scoring import rescore

    data, out = make_bird(tmp_path / "bird"), tmp_path / "run"
    experiment = Experiment(
        suite="bird",
        engine="sqlite",
        data=data,
        databases=("school",),
        models=("scripted:perfect", "scripted:extra_column", "scripted:no_query"),
        regimen=Regimen(warmups=0, repeats=2),
    )
    before = run_experiment(experiment, out)
    stored = digests(out)
    # Gold changes its mind about question 11.
    entries = json.loads((data / "dev.json").read_text())
    entries[0]["SQL"] = "SELECT COUNT(*) + 1 FROM pupil WHERE city = 'Oslo'"
    (data / "dev.json").write_text(json.dumps(entries))
    again = rescore(before, experiment, tmp_path / "again")
    assert digests(out) == stored
    for old, new in zip(before.trials(), again.trials(), strict=True):
        assert (new.key, new.sql, new.steps, new.cost) == (old.key, old.sql, old.steps, old.cost)
        if old.verdict is None:
            assert new == old
        elif old.key.question_id == "11":
            assert new.verdict is not None
            assert new.verdict.error_class in ("D", "B")
        else:
            assert new.verdict == old.verdict
            assert (new.timing, new.e2e_s) == (old.timing, old.e2e_s)
            assert new.soft_f1 is not None
    with pytest.raises(UsageError, match="holds the run itself"):
        rescore(before, experiment, out)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("SELECT a FROM t", "select  A\nfrom T ;", True),
        ("SELECT count( * ), 1 FROM t", "SELECT COUNT(*),1 FROM t", True),
        ("SELECT 'A' FROM t", "SELECT 'a' FROM t", False),
        ('SELECT "A  b" FROM t', 'SELECT "A b" FROM t', False),
        ("SELECT a b FROM t", "SELECT ab FROM t", False),
        ("SELECT 1 -- x", "SELECT 1 -- X", False),
    ],
)
def test_only_texts_that_mean_the_same_are_folded(first: str, second: str, same: bool) -> None:
    assert (folded(first, "sqlite") == folded(second, "sqlite")) is same
    assert (folded(first, "spark") == folded(second, "spark")) is (first == second)


def test_predictions_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    data = make_bird(tmp_path / "bird")
    file = write(tmp_path / "p.json", {"1000": "SELECT 1"})
    good = write(tmp_path / "good.json", GOLD)
    cases: list[tuple[list[Path], dict[str, object], type[BothendsError], str]] = [
        ([file], {}, DataError, "none of its ids"),
        ([], {}, UsageError, "at least one file"),
        ([good, good], {}, UsageError, "is given twice"),
        ([good], {"models": ["a:b", "c:d"]}, UsageError, "1 files of predictions and 2 models"),
        ([good], {"databases": ["no"]}, UsageError, "no database 'no'"),
    ]
    for files, changes, kind, said in cases:
        with pytest.raises(kind, match=said):
            score(files, suite="bird", data=data, out=tmp_path / "run", **changes)  # type: ignore[arg-type]
    shop = data / "dev_databases/shop/shop.sqlite"
    shop.write_bytes(b"no database at all" * 100)
    for workers in (1, 2):
        with pytest.raises(BothendsError, match="SQLite"):
            score([good], suite="bird", data=data, out=tmp_path / "run", workers=workers)
    assert not (tmp_path / "run/trials.jsonl").exists()


# One answer to this question takes minutes: BIRD's time limit finds it wrong.
ENDLESS = "232"
FILES = ("codellama-7b.base", "llama-3.1-8b.correct", "qwen25-coder-32b.base")


@pytest.fixture(scope="module")
def official(bird: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Trial]]:
    folder = bird / "predictions"
    if not folder.is_dir():
        pytest.skip("there are no predictions beside BIRD's dev.json")
    ids = [str(entry["question_id"]) for entry in json.loads((bird / "dev.json").read_text())]
    files = [folder / f"{name}.json" for name in FILES]
    before = digests(bird)
    run = score(
        files, suite="bird", data=bird, question_ids=[each for each in ids if each != ENDLESS],
        out=tmp_path_factory.mktemp("official") / "run", workers=2, timeout_s=60,
    )  # fmt: skip
    endless = score(
        files, suite="bird", data=bird, question_ids=[ENDLESS],
        out=tmp_path_factory.mktemp("endless") / "run", timeout_s=2,
    )  # fmt: skip
    assert digests(bird) == before
    trials: dict[str, dict[str, Trial]] = {name: {} for name in FILES}
    for trial in (*run.trials, *endless.trials):
        trials[trial.model_label][trial.key.question_id] = trial
    return trials


@pytest.mark.slow
@pytest.mark.xdist_group("bird")
@pytest.mark.parametrize("name", FILES)
def test_the_verdict_by_sets_is_birds_official_one(
    bird: Path, official: dict[str, dict[str, Trial]], name: str
) -> None:
    expected = json.loads((bird / f"predictions/{name}.official_ex.json").read_text())
    found = {
        key: trial.verdict is not None and trial.verdict.bird_set
        for key, trial in official[name].items()
    }
    assert found == expected


@pytest.mark.slow
@pytest.mark.xdist_group("bird")
def test_both_formats_of_predictions_are_the_same(bird: Path) -> None:
    def sql(found: PredictionSet) -> dict[str, str]:
        return {key: prediction.sql for key, prediction in found.of.items()}

    folder = bird / "predictions"
    if not folder.is_dir():
        pytest.skip("there are no predictions beside BIRD's dev.json")
    for name in FILES:
        whole, lines = (read_predictions(folder / f"{name}.{end}") for end in ("json", "jsonl"))
        assert sql(whole) == sql(lines)
        assert all(prediction.input_tokens for prediction in lines.of.values())


def test_gold_that_is_one_of_several_right_answers_is_flagged(tmp_path: Path) -> None:
    cut = "SELECT name FROM pupil LIMIT 2"
    data = make_bird(tmp_path / "bird", (41, "school", "simple", "Two pupils", "", cut))
    others = "SELECT name FROM pupil ORDER BY name DESC LIMIT 2"
    file = write(tmp_path / "p.json", {"41": others, "22": GOLD["22"]})
    trials = score_little(data, tmp_path / "run", file, question_ids=["22", "41"])
    flags = {
        key: trial.verdict and trial.verdict.gold_nondeterministic for key, trial in trials.items()
    }
    assert flags == {"22": False, "41": True}
    golds = {gold.question_id: gold for gold in RunDirectory(tmp_path / "run").golds()}
    assert (golds["22"].deterministic, golds["41"].deterministic) == (True, False)
    assert "5 rows that are tied" in golds["41"].determinism
