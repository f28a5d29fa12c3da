"""What has changed beneath a run directory is noticed, finished or not, and nothing is mixed."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.fork import find_fork
from bothends.eval.runner import run_experiment
from bothends.infra.errors import RecordError, UsageError

QUESTIONS = """\
- {id: a, question: 'How many?', gold: SELECT COUNT(*) FROM item}
- {id: b, question: 'The most?', gold: SELECT MAX(n) FROM item}
"""


def fill(file: Path, *numbers: int) -> None:
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE item (n INTEGER)")
        connection.executemany("INSERT INTO item VALUES (?)", [(n,) for n in numbers])
    connection.close()


@pytest.fixture
def shop(tmp_path: Path) -> Experiment:
    (tmp_path / "q.yaml").write_text(QUESTIONS)
    fill(tmp_path / "shop.db", 1, 2)
    return Experiment(
        suite=str(tmp_path / "q.yaml"),
        engine="sqlite",
        data=tmp_path / "shop.db",
        models=("scripted:perfect?price_as=openai:gpt-4o",),
        regimen=Regimen(warmups=0, repeats=1),
    )


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("MAX(n)", "MIN(n)", "question 'b' or its gold has changed"),
        ("How many?", "How many are there?", "question 'a' or its gold has changed"),
        ("id: b", "id: c", "question 'c' is new; question 'b' is gone"),
    ],
)
def test_questions_that_were_edited(
    shop: Experiment, tmp_path: Path, finished: bool, old: str, new: str, said: str
) -> None:
    out = tmp_path / "run"
    begun = shop if finished else shop.model_copy(update={"budget_tokens": 1})
    assert len(run_experiment(begun, out).trials()) == (2 if finished else 1)
    (tmp_path / "q.yaml").write_text(QUESTIONS.replace(old, new))
    with pytest.raises(RecordError, match=said):
        run_experiment(shop, out)
    # A fork measures anew what was edited, and that alone.
    fork, family = find_fork(shop, out, None)
    assert fork == tmp_path / "run-fork1"
    assert len(run_experiment(shop, fork, fork_from=family).trials()) == 2


def test_data_that_is_not_what_it_was(shop: Experiment, tmp_path: Path) -> None:
    out = tmp_path / "run"
    before = run_experiment(shop, out).trials()
    fill(tmp_path / "shop.db", 5, 6, 7)
    with pytest.raises(RecordError, match="the data are not the same"):
        run_experiment(shop, out)
    # Data that is gone takes nothing away from what was measured.
    (tmp_path / "shop.db").unlink()
    assert run_experiment(shop, out).trials() == before


def test_trials_without_their_manifest_are_nobodys(shop: Experiment, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run_experiment(shop, out)
    (out / "manifest.json").unlink()
    before = (out / "trials.jsonl").read_bytes()
    with pytest.raises(RecordError, match=r"whose manifest\.json is gone"):
        run_experiment(shop, out)
    assert (out / "trials.jsonl").read_bytes() == before


def test_a_recording_keeps_what_transcripts_must_not(shop: Experiment, tmp_path: Path) -> None:
    quiet = shop.model_copy(update={"transcripts": False})
    with pytest.raises(UsageError, match="not both"):
        run_experiment(quiet, tmp_path / "run", record=tmp_path / "r.jsonl")
    assert not (tmp_path / "r.jsonl").exists()


def test_a_directory_of_runs_is_no_table(tmp_path: Path) -> None:
    # Data of a suite below the directory: tables lie no deeper than their partitions.
    from bothends.infra.parquet import find_tables

    source = tmp_path / "x.parquet"
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), source)
    for place in ("tpch/sf0.01/item", "part/year=2020/month=1", "whole"):
        (tmp_path / "data" / place).mkdir(parents=True)
        shutil.copy(source, tmp_path / "data" / place / "p.parquet")
    assert set(find_tables(tmp_path / "data")) == {"part", "whole"}
