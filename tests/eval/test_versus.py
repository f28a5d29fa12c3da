"""`bothends compare`, as a user sees it, on runs of scripts over a few questions of SQLite's."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy import stats

import bothends
from bothends.api import score
from bothends.infra.errors import RecordError, UsageError

from .little_bird import QUESTIONS, make_bird

Command = Callable[..., subprocess.CompletedProcess[str]]
GOLD = {str(number): gold for number, *_, gold in QUESTIONS if number != 23}  # whose gold fails
WRONG = "SELECT 'wrong'"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on the same questions: `right` has all of nine, `poor` the last one alone.

    `both` holds both models, and `half` asks only the questions of one database.
    """
    home = tmp_path_factory.mktemp("compare")
    data = make_bird(home / "bird")
    poor = dict.fromkeys(GOLD, WRONG) | {"33": GOLD["33"]}
    for name, answers in (("right", GOLD), ("poor", poor)):
        (home / f"{name}.json").write_text(json.dumps(answers))
    files = {name: home / f"{name}.json" for name in ("right", "poor")}
    for name, file in files.items():
        score([file], suite="bird", data=data, out=home / "runs" / name, workers=1)
    score(list(files.values()), suite="bird", data=data, out=home / "runs" / "both", workers=1)
    score(
        [files["poor"]], suite="bird", data=data, out=home / "runs" / "half",
        databases=["school"], workers=1,
    )  # fmt: skip
    return home / "runs"


@pytest.fixture
def compare(main_in_here: Command, home: Path) -> Command:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = dict(os.environ) | {"COLUMNS": "140", "NO_COLOR": "1"}
        return main_in_here("compare", *arguments, cwd=home, env=env)

    return run


def test_two_runs_on_the_same_questions(compare: Command, home: Path, tmp_path: Path) -> None:
    shown = compare("right", "poor", "--json", str(tmp_path / "c.json"))
    assert (shown.returncode, shown.stderr) == (0, "")
    # Right: nine; poor: one of these.
    p = stats.binomtest(8, 8, 0.5).pvalue
    # Each resample is binomial; Hesterberg's tail is that of sqrt(9 / 8) * t_8 = 2.446.
    low = stats.binom.ppf(stats.norm.cdf(-2.446), 9, 8 / 9) / 9
    assert (
        f"right beats poor by 88.9 points, 95% interval {100 * low:.1f} to 100.0, p = {p:.3f}.\n"
    ) in shown.stdout
    assert "3 databases are too few to be resampled" in shown.stdout
    assert re.search(r"^right +poor +9 +1 +8 +0 +0 +0\.008 +0\.008", shown.stdout, re.MULTILINE)
    assert re.search(r"^EX +1\.00 +0\.111 +0\.889 +0\.556 to 1\.00", shown.stdout, re.MULTILINE)
    assert "Better on: right: 8: 11, 12, 13, 14, 21, 22, 31, 32\n" in shown.stdout
    assert "poor: none\n" in shown.stdout
    written = json.loads((tmp_path / "c.json").read_text())
    (each,) = written["comparisons"]
    assert each["p"] == pytest.approx(p)
    assert each["sentence"].startswith("right beats poor by 88.9 points")
    assert each["table"] == {"both": 1, "only_first": 8, "only_second": 0, "neither": 0}
    found = bothends.compare(home / "right", home / "poor").comparisons[0]
    assert (found.sentence, found.p) == (each["sentence"], each["p"])


def test_the_models_of_one_run(compare: Command) -> None:
    one, two = compare("both"), compare("right", "poor")
    assert one.returncode == 0
    assert one.stdout.split("Family")[0].strip() == two.stdout.split("Family")[0].strip()
    assert "every pair of the run's models, 1 in all" in one.stdout


def test_questions_that_only_one_run_asked_are_left_out(compare: Command) -> None:
    shown = compare("right", "half")
    assert "4 questions are the same in both; 6 are left out: 6 only in the first" in shown.stdout
    assert "right and poor cannot be told apart with these 4 questions" in shown.stdout
    assert "this sample would show no difference at all" in " ".join(shown.stdout.split())


def test_a_model_that_both_runs_have_is_compared_with_itself(home: Path) -> None:
    found = bothends.compare(home / "both", home / "half")
    assert found.family == "each model with itself in the other run"
    (each,) = found.comparisons
    assert (each.first, each.second) == ("poor in both", "poor in half")
    assert (each.p, each.difference.estimate) == (1.0, 0.0)
    # None of four questions differs: up to 1 - 0.05^(1/4) of all questions may.
    assert each.difference.high == pytest.approx(1 - 0.05**0.25)
    cross = bothends.compare(home / "both", home / "half", models=["right", "poor"])
    assert len(cross.comparisons) == 1


def test_another_gold_is_not_the_same_question(home: Path, tmp_path: Path) -> None:
    for name in ("trials.jsonl", "gold.jsonl", "manifest.json"):
        (tmp_path / name).write_text((home / "poor" / name).read_text())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["questions"][0]["gold_sql"] += " LIMIT 1"
    manifest["questions"][1]["text"] = "Something else?"
    manifest["engine"]["version"] = "9.9"
    manifest["experiment"]["max_rows"] = 7
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    found = bothends.compare(home / "right", tmp_path)
    assert found.left_out == {"11": "another gold", "12": "another question under the same id"}
    assert found.comparisons[0].questions == 7
    assert any(note.startswith("the engines differ: ") for note in found.notes)
    assert "max_rows is 100000 and 7" in found.notes
    for each in manifest["questions"]:
        each["text"] = "Something else?"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match=r"no question in common: another .* same id \(10\)"):
        bothends.compare(home / "right", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nowhere",), 1, "nowhere is not a run directory: it holds no manifest.json"),
        (("right", "nowhere"), 1, "nowhere is not a run directory"),
        (("right",), 2, "right has 1 scored model to compare: name a second run directory"),
        (("both", "--model", "gpt"), 2, "no model is called gpt; there are right, poor"),
        (("both", "--model", "poor"), 2, "both has 1 scored model to compare"),
        (("right", "poor", "--json", "no/where.json"), 1, "no/where.json cannot be written"),
    ],
)
def test_mistakes_are_one_sentence(
    compare: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    shown = compare(*arguments)
    assert shown.returncode == code
    assert shown.stderr.startswith("bothends: ")
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_damaged_run_is_said(home: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(RecordError, match=r"manifest\.json cannot be read"):
        bothends.compare(home / "right", tmp_path)


def test_names_cannot_steer_the_terminal(compare: Command, home: Path, tmp_path: Path) -> None:
    for name in ("trials.jsonl", "gold.jsonl"):
        (tmp_path / name).write_text((home / "poor" / name).read_text())
    manifest = json.loads((home / "poor" / "manifest.json").read_text())
    manifest["models"][0]["label"] = "\x1b[31m[bold]poor"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    shown = compare("right", str(tmp_path))
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout
    assert "[bold]poor" in shown.stdout
