"""`bothends sweep`, as a user types it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bothends
from bothends import Experiment
from bothends.infra.dataset import Dataset

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def data(tpch_dataset: Dataset) -> str:
    return str(tpch_dataset.directory.parent.parent)


@pytest.fixture
def command(main_in_here: Command, tmp_path: Path, data: str) -> Command:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
        return main_in_here("sweep", "--data", data, *arguments, cwd=tmp_path, env=env)

    return run


def test_it_sweeps_shows_and_goes_on(
    command: Command, main_in_here: Command, tmp_path: Path, data: str
) -> None:
    usual = ("--engine", "sqlite", "--question", "6", "--repeats", "1", "--warmups", "0")
    model = ("--model", "scripted:perfect?price_as=openai:gpt-4o")
    done = command(*usual, *model, "--scale-factors", "0.01,0.02")
    assert done.returncode == 0, done.stderr
    (directory,) = (tmp_path / "runs").iterdir()
    assert directory.name.startswith("sweep-tpch-sqlite-sf0.01-")
    assert "Models by scale factor" in done.stdout
    with (directory / "tables" / "by_scale.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["scale_factor"], row["scored"], row["ex"]) for row in rows] == [
        ("0.01", "1", "1.0"),
        ("0.02", "1", "1.0"),
    ]
    assert (directory / "report.html").exists()
    for scale in ("sf0.01", "sf0.02"):
        assert len((directory / scale / "trials.jsonl").read_text().splitlines()) == 1
    # The same sweep with a model more and another order of scales goes on in the same directory.
    again = command(*usual, *model, "--model", "scripted:failing", "--scale-factors", "0.02,0.01")
    assert again.returncode == 0, again.stderr
    assert list((tmp_path / "runs").iterdir()) == [directory]
    assert again.stderr.count("scripted:perfect, question 6") == 0
    assert again.stderr.count("scripted:failing, question 6") == 2
    swept = bothends.load_sweep(directory)
    assert [trial.key.scale_factor for trial in swept.trials] == [0.01, 0.01, 0.02, 0.02]
    assert {scale: list(each) for scale, each in swept.summaries.items()} == {
        0.01: ["scripted:perfect", "scripted:failing"],
        0.02: ["scripted:perfect", "scripted:failing"],
    }
    assert swept.missing == 0
    # What it says of more data is in its tables, and asked for by a command.
    asked = main_in_here(
        *("forecast", str(directory), "--scale-factors", "1,10"),
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert asked.returncode == 0, asked.stderr
    assert "Forecast on more data" in asked.stdout
    assert "that takes three scale factors" in asked.stdout
    with (directory / "tables" / "forecast.csv").open() as stream:
        assert [row["scale_factor"] for row in csv.DictReader(stream)][:3] == ["0.2", "2.0", "20.0"]
    for given, said in (("0.02", "measured up to scale factor 0.02"), ("x", "names no numbers")):
        refused = main_in_here(
            *("forecast", str(directory), "--scale-factors", given),
            cwd=tmp_path,
            env={**os.environ},
        )
        assert refused.returncode == 2
        assert said in refused.stderr
    # From Python it is the same sweep, too.
    experiment = Experiment.model_validate(
        {
            "suite": "tpch",
            "engine": "sqlite",
            "data": data,
            "question_ids": ("6",),
            "models": ("scripted:perfect?price_as=openai:gpt-4o",),
            "regimen": {"warmups": 0, "repeats": 1},
        }
    )
    same = bothends.sweep(experiment, [0.01], out=directory)
    assert same.trials == swept.trials


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scale-factors", "small"), "names no numbers: give some, such as 0.01,0.1,1"),
        (("--scale-factors", ","), "names no numbers"),
        (("--scale-factors", "0.01,-1"), "scale factors must be positive"),
        (("--scale-factors", "1", "--translate-at", "0"), "scale factors must be positive"),
        (("--scale-factors", "1,2", "--engine", "postgres://me@h/shop"), "write {sf}"),
        (("--scale-factors", "1", "--suite", "none"), "none"),
        (("--scale-factors", "1_0"), "names no numbers"),
        (("--scale-factors", "1e30"), "up to a million"),
        (("--scale-factors", "1", "--keep-cluster"), "give --on emr or --on emr-serverless"),
        (("--scale-factors", "1", "--model", f"scripted:failing?label={'x' * 81}"), "a line of up"),
        (("--scale-factors", "1", "--model", "scripted:failing?label=a\u202eb"), "control"),
    ],
)
def test_what_it_refuses_in_a_sentence(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = command("--model", "scripted:perfect", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_it_has_the_options_of_run(command: Command) -> None:
    shown = command("--help").stdout
    for option in ("--translate-at", "--skip-after-timeout", "--budget-usd", "--recipe", "--out"):
        assert f"\n  {option} " in shown
    for option in ("--fork", "--scale-factor "):
        assert option not in shown


@pytest.mark.slow
def test_a_limit_refuses_the_query_where_the_data_is_too_large(
    cluster: Any, command: Command, tmp_path: Path
) -> None:
    # Its table's file is of 1.9 MB at the smaller scale, and of 3.9 MB at the larger.
    done = command(
        *("--engine", cluster.state.connect, "--scale-factors", "0.01,0.02", "--out", "s"),
        *("--question", "6", "--model", "scripted:perfect", "--repeats", "1", "--warmups", "0"),
        *("--max-scan-bytes", "3MB"),
    )
    assert done.returncode == 0, done.stderr
    small, large = (
        json.loads((tmp_path / "s" / scale / "trials.jsonl").read_text())
        for scale in ("sf0.01", "sf0.02")
    )
    assert (small["status"], large["status"]) == ("ok", "rejected")
    assert "refused before it ran: it would read 3." in large["error"]
    assert large["timing"] is None
    assert large["stages"]["run"]["engine_s"] > 0  # the estimate itself
    # What was read is told beside it: all 60,175 rows of the smaller lineitem.
    (ran,) = (step for step in small["steps"] if step["name"] == "run_query")
    assert ran["facts"]["read_rows"] == 60_175
    assert small["verdict"]["exact"]
