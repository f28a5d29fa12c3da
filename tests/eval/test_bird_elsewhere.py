"""BIRD's questions on an engine that they were not written for: from the import to the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.report.caveats import caveats
from bothends.eval.report.load import load_report
from bothends.eval.runner import run_experiment
from bothends.infra.errors import DataError, UsageError

from .little_bird import make_bird

# Ten questions, of which the gold of one fails.
FAILING = "23"
CHANCE = (41, "school", "simple", "Two pupils", "", "SELECT name FROM pupil LIMIT 2")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bird")
    source = make_bird(root / "source", CHANCE)
    command = [sys.executable, "-m", "bothends", "data", "import", str(source)]
    options = ["--engine", "postgres", "--out", str(root / "out")]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "postgres: 9 of 11 admitted" in done.stdout
    return root / "out"


def experiment(data: Path, **changes: object) -> Experiment:
    fields = {
        "suite": "bird",
        "engine": "postgres",
        "data": data,
        "models": ("scripted:perfect",),
        "regimen": Regimen(warmups=0, repeats=1),
    }
    return Experiment.model_validate(fields | changes)


def test_admitted_questions_are_right_and_the_others_are_listed(
    imported: Path, tmp_path: Path
) -> None:
    run = run_experiment(experiment(imported), tmp_path / "run")
    trials = run.trials()
    assert len(trials) == 9
    assert all(trial.status == "ok" for trial in trials)
    assert all(trial.verdict and trial.verdict.exact for trial in trials)
    left_out = run.manifest.excluded
    assert set(left_out) == {FAILING, "41"}
    assert "price" in left_out[FAILING]
    assert "no ORDER BY" in left_out["41"]
    said = " ".join(caveats(load_report(tmp_path / "run")))
    assert "2 questions not asked" in said
    assert "23 and 41" in said


def test_a_question_that_is_left_out_cannot_be_asked(imported: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="question '41' is left out on engine 'postgres'"):
        run_experiment(experiment(imported, question_ids=("41",)), tmp_path / "run")


def test_gold_that_has_changed_since_is_left_out(imported: Path, tmp_path: Path) -> None:
    entries = json.loads((imported / "dev.json").read_text("utf-8"))
    entries[0]["SQL"] = "SELECT COUNT(*) FROM pupil"
    (tmp_path / "dev.json").write_text(json.dumps(entries), "utf-8")
    (tmp_path / "gold.postgres.jsonl").symlink_to(imported / "gold.postgres.jsonl")
    suite = experiment(tmp_path).load_suite()
    (changed,) = [each for each in suite.excluded if each.question.id == "11"]
    assert "not there when BIRD was brought over" in changed.reason


def test_data_that_was_not_brought_over_says_how(imported: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data import DIR --suite bird --engine spark"):
        run_experiment(experiment(imported, engine="spark"), tmp_path / "run")
