"""`bothends data tpch`: what it says, what a run then finds, and what it refuses."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from bothends.cli import app
from bothends.infra import tpch_generator
from bothends.infra.errors import BothendsError, DataError
from bothends.infra.tpch import make_tpch
from bothends.infra.tpch_plan import plan_tables
from bothends.tpch_command import progress_bars, table_watcher


def test_it_makes_what_a_run_then_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, directory = tmp_path / "data", tmp_path / "data" / "tpch" / "sf0.01"
    command = ["data", "tpch", "--scale-factor", "0.01", "--to", str(data)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    # 5 + 25 + 100 + 1,500 + 2,000 + 8,000 + 15,000 rows by the specification, and 60,175 lines.
    last, following = done.stdout.splitlines()
    assert last == f"{directory}: 8 tables, 86,805 rows, 3.2 MB"
    assert following == f"  next: --suite tpch --scale-factor 0.01 --data {data}"
    said = done.stderr.splitlines()
    assert said[0] == "TPC-H at scale factor 0.01: about 3.6 MB of Parquet in 8 files"
    assert sorted(line.partition(":")[0] for line in said[1:]) == sorted(
        json.loads((directory / "manifest.json").read_text())["tables"]
    )
    monkeypatch.setattr(tpch_generator, "GENERATOR", "none")  # a run must not need it
    run = ["run", "--suite", "tpch", "--scale-factor", "0.01", "--data", str(data), "--yes"]
    run += ["--engine", "sqlite", "--question", "6", "--model", "scripted:perfect"]
    ran = CliRunner().invoke(app, [*run, "--out", str(tmp_path / "run"), "--repeats", "1"])
    assert ran.exit_code == 0, ran.output
    again = CliRunner().invoke(app, command)
    assert (again.stdout, again.stderr.splitlines()) == (done.stdout, said[:1])


def test_a_terminal_sees_bytes_and_files_of_each_table(tmp_path: Path) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120, color_system=None)
    plans = plan_tables(0.001, 120_000)
    with progress_bars(console) as bars:
        make_tpch(0.001, tmp_path, table_watcher(console, bars, plans), part_bytes=120_000)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).splitlines()
    last = [line for line in lines if line.strip()][-8:]
    assert [line.split()[0] for line in last] == [plan.table for plan in plans]
    assert "244.0/244.0 kB 2 of 2 files" in last[-1]
    assert "1.8/1.8 kB     1 of 1 file " in last[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scale-factor", "0"], "scale factor 0 is not a number above 0"),
        (["--scale-factor", "-1"], "scale factor -1 is not a number above 0"),
        (["--scale-factor", "nan"], "scale factor nan is not a number above 0"),
        (["--scale-factor", "inf"], "scale factor inf is not a number above 0"),
        (["--to", "FILE"], "cannot be written (Not a directory); give a directory that can"),
        (["--to", "gs://bucket/x"], "data in gs:// cannot be read or generated from here"),
        (["--to", "s3://"], "s3:// is no address in S3; write s3://bucket/prefix"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "file").write_text("")
    arguments = [str(tmp_path / "file") if each == "FILE" else each for each in arguments]
    done = CliRunner().invoke(app, ["data", "tpch", *arguments])
    assert isinstance(done.exception, BothendsError)
    assert message in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_text_is_no_scale_factor() -> None:
    done = CliRunner().invoke(app, ["data", "tpch", "--scale-factor", "big"])
    assert done.exit_code == 2
    assert "'--scale-factor'" in done.stderr


def test_the_size_is_said_before_room_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(9e9, 8e9, 1e9))
    command = ["data", "tpch", "--scale-factor", "100", "--to", str(tmp_path / "data")]
    done = CliRunner().invoke(app, command)
    # 214 files of lineitem, 59 of orders, 36 of partsupp, 11 of customer, 6 of part; three of one.
    assert done.stderr == "TPC-H at scale factor 100: about 41.6 GB of Parquet in 329 files\n"
    assert isinstance(done.exception, DataError)
    assert "take about 41.6 GB" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_stopped_by_the_keyboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bothends.infra.tpch.make_tpch", interrupted)
    done = CliRunner().invoke(app, ["data", "tpch", "--to", str(tmp_path)])
    assert done.exit_code == 130
    assert "the same command goes on" in done.stderr
