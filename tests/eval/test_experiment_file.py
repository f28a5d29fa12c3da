"""An experiment as a file: what it says is what is run, and a mistake in it is said plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bothends.agent.recipe import Recipe
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.experiment_file import file_fields, nested_model, read_experiment
from bothends.eval.experiment_template import template, write_template
from bothends.infra.errors import BothendsError, UsageError

LEAST = "suite: tpch\nengine: sqlite\nmodels: ['scripted:perfect']\n"


def read(tmp_path: Path, text: str, changes: dict[str, Any] | None = None) -> Experiment:
    file = tmp_path / "experiment.yaml"
    file.write_text(text)
    return read_experiment(file, changes)


def said(tmp_path: Path, text: str) -> str:
    with pytest.raises(BothendsError) as caught:
        read(tmp_path, text)
    return str(caught.value).replace(str(tmp_path / "experiment.yaml"), "FILE")


def test_a_file_says_all_that_options_say(tmp_path: Path) -> None:
    text = (
        "suite: tpch\n"
        "engine: postgres://ann@db/shop\n"
        "scale_factor: 1e-2\n"  # which YAML 1.1 takes for text
        "question_ids: [01, 6, '7']\n"  # and these for numbers
        "databases: [no, 2020-01-01]\n"  # and these for false and a date
        "models: [openai:gpt-4o, 'scripted:perfect?label=exact']\n"
        "recipe: {check: off, run_answer_sql: yes, max_turns: 7}\n"
        "regimen:\n  repeats: 5\n"
        "budget_usd: 2\n"
        "checker: null\n"
        "machine: 0.35\n"
    )
    assert read(tmp_path, text) == Experiment(
        suite="tpch",
        engine="postgres://ann@db/shop",
        scale_factor=0.01,
        question_ids=("01", "6", "7"),
        databases=("no", "2020-01-01"),
        models=("openai:gpt-4o", "scripted:perfect?label=exact"),
        recipe=Recipe(check="off", run_answer_sql=True, max_turns=7),
        regimen=Regimen(repeats=5),
        budget_usd=2.0,
        machine="0.35",
    )


def test_changes_go_before_the_file_field_by_field(tmp_path: Path) -> None:
    text = LEAST + "replicas: 3\nrecipe:\n  check: off\n  max_turns: 7\n"
    changed = read(tmp_path, text, {"replicas": 5, "recipe": {"max_turns": 9}})
    assert (changed.replicas, changed.recipe) == (5, Recipe(check="off", max_turns=9))


def test_the_environment_is_not_read_into_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "hush")
    assert read(tmp_path, LEAST + "checker: ${SOME_KEY}\n").checker == "${SOME_KEY}"


def test_everything_wrong_is_said_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        "suite: tpch\n"
        "enigne: sqlite\n"
        "models: scripted:perfect\n"
        "recipe:\n"
        "  check: sometimes\n"
        "  max_turn: 3\n"
        "  sample_rows: 99\n"
        "check: off\n"
        "replicas: many\n"
        "timeout_s: 1\n"
        "timeout_s: 2\n"
        "regimen: 3\n"
        "workers: 2\n"
    )
    assert said(tmp_path, text).splitlines() == [
        "FILE is not as it should be:",
        "  engine: is missing, and has no default",
        "  line 2, enigne: there is no such field; did you mean engine?",
        "  line 3, models: must be a list, as in [a, b]",
        "  line 5, recipe.check: input should be 'llm', 'explain', 'both' or 'off'",
        "  line 6, recipe.max_turn: there is no such field; did you mean recipe.max_turns?",
        "  line 7, recipe.sample_rows: input should be less than or equal to 20",
        "  line 8, check: there is no such field; did you mean recipe.check?",
        "  line 9, replicas: input should be a valid integer, unable to parse string as an integer",
        "  line 11, timeout_s: stands there already, in line 10",
        "  line 12, regimen: must be a mapping of fields",
        "  line 13, workers: belongs to `bothends score`, and is no field of an experiment's file",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "FILE is empty"),
        ("- a\n", "FILE must hold fields, such as suite: tpch"),
        ("suite: [\n", "FILE, line 2, is not YAML"),
        ("a: 1\n---\nb: 2\n", "FILE, line 2, is not YAML"),
        (LEAST + "checker: !!python/object/apply:os.getcwd []\n", "FILE, line 4: the tag"),
        ("suite: &a tpch\nengine: *a\n", "FILE holds an alias"),
        ("{[a]: 1}\n", "FILE, line 1: a field's name must be a word"),
        ("a: " + "[" * 1_500 + "]" * 1_500, "FILE is nested too deeply"),
        (LEAST + "models: []\n", "line 4, models: stands there already, in line 3"),
        (LEAST + "regimen: {repeats: 0}\n", "regimen.repeats must be 1 or more"),
        ("suite: \xff", "FILE is not UTF-8"),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_no_experiment_is_one_message(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "experiment.yaml").write_bytes(text.encode("latin-1"))
    with pytest.raises(BothendsError) as caught:
        read_experiment(tmp_path / "experiment.yaml")
    assert expected in str(caught.value).replace(str(tmp_path / "experiment.yaml"), "FILE")


def test_a_file_that_is_not_there_is_offered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bothends init"):
        read_experiment(tmp_path / "none.yaml")


def test_a_path_meant_to_be_beside_the_file_is_found_for_the_user(tmp_path: Path) -> None:
    (tmp_path / "questions.yaml").write_text("[]")
    text = "suite: questions.yaml\nengine: sqlite\nmodels: ['scripted:perfect']\n"
    assert "relative to the working directory" in said(tmp_path, text)


def test_the_template_is_the_model(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    write_template(file)
    assert read_experiment(file) == Experiment(
        suite="tpch", engine="sqlite", models=("scripted:perfect",)
    )
    # YAML's own reading finds every field there too.
    found = yaml.safe_load(file.read_text())
    assert list(found) == list(file_fields())
    for name, info in file_fields().items():
        inner = nested_model(info)
        if inner is not None and found[name] is not None:
            assert list(found[name]) == list(inner.model_fields)
        assert info.description is not None
        assert " ".join(info.description.split()) in _comments(file.read_text())
    with pytest.raises(UsageError, match="exists"):
        write_template(file)


def _comments(text: str) -> str:
    return " ".join(
        line.strip()[1:].strip() for line in text.splitlines() if line.strip()[:1] == "#"
    )


def test_every_line_of_the_template_is_of_a_width() -> None:
    assert max(map(len, template(Path("experiment.yaml")).splitlines())) <= 100
