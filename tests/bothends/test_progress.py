"""What a person hears while a run goes on, and what they are asked."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bothends.eval.budget import Forecast, Spent
from bothends.progress import RunProgress

AHEAD = Forecast(trials=7, spent=Spent(0.5, 1000), ahead=Spent(1.25, 2500))


def progress(*, terminal: bool) -> tuple[RunProgress, io.StringIO]:
    said = io.StringIO()
    console = Console(file=said, force_terminal=terminal, width=120, color_system=None)
    return RunProgress(console, ask=True), said


def test_a_log_hears_what_is_left_and_is_asked_nothing() -> None:
    shown, said = progress(terminal=False)
    assert shown.go_on(AHEAD)
    assert said.getvalue() == (
        "7 trials are left: about $1.2500 and 2,500 tokens, by the mean of those recorded\n"
    )


def test_nothing_is_said_where_nothing_is_known() -> None:
    shown, said = progress(terminal=False)
    assert shown.go_on(Forecast(7, Spent(), None))
    assert shown.go_on(Forecast(7, Spent(), Spent()))
    assert said.getvalue() == ""


@pytest.mark.parametrize(("typed", "goes_on"), [("y\n", True), ("\n", True), ("n\n", False)])
def test_a_person_is_asked_before_money_is_spent(
    monkeypatch: pytest.MonkeyPatch, typed: str, goes_on: bool
) -> None:
    class Keyboard(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Keyboard(typed))
    shown, said = progress(terminal=True)
    shown._hosted = True
    assert shown.go_on(AHEAD) is goes_on
    assert "Go on? [y/n] (y):" in said.getvalue()
    assert (shown.stopped_early is None) is goes_on


def test_scripts_and_servers_of_ones_own_ask_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Keyboard(io.StringIO):
        def isatty(self) -> bool:
            return True

        def readline(self, *_: object) -> str:
            raise AssertionError("nobody is to be asked")

    monkeypatch.setattr(sys, "stdin", Keyboard())
    shown, _ = progress(terminal=True)
    assert shown.go_on(AHEAD)


def test_the_command_says_why_it_stopped_and_exits_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bothends.cli import main

    database, suite = tmp_path / "d.sqlite", tmp_path / "s.yaml"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE item AS SELECT 1 AS number")
    connection.close()
    suite.write_text("- id: a\n  question: How many?\n  gold: SELECT count(*) FROM item\n")
    arguments = [
        *("run", "--suite", str(suite), "--engine", f"sqlite:///{database}", "--replicas", "5"),
        *("--model", "scripted:perfect?price_as=openai:gpt-4o", "--out", str(tmp_path / "run")),
    ]
    monkeypatch.setattr(sys, "argv", ["bothends", *arguments, "--budget-tokens", "1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    said = capsys.readouterr()
    assert "stopped: the budget is spent: " in said.err
    # Nobody knew what the first would take.
    assert "1 of 5 trials are in" in said.out
    monkeypatch.setattr(sys, "argv", ["bothends", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def on_a_terminal(*arguments: str) -> tuple[int, str]:
    """Run the command with a terminal of 100 columns, as a person has one."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bothends", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(theirs)
    said = b""
    # Reading what nobody can write any more is an error on Linux.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65_536):
            said += piece
    os.close(ours)
    return process.wait(60), said.decode(errors="replace")


def test_bars_are_drawn_on_a_terminal(tmp_path: Path) -> None:
    database, suite = tmp_path / "d.sqlite", tmp_path / "s.yaml"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE item AS SELECT 1 AS number")
    connection.close()
    suite.write_text("- id: a\n  question: How many?\n  gold: SELECT count(*) FROM item\n")
    run = ("run", "--suite", str(suite), "--engine", f"sqlite:///{database}", "--replicas", "3")
    code, said = on_a_terminal(*run, "--model", "scripted:perfect", "--out", str(tmp_path / "run"))
    assert code == 0, said
    assert "3/3 trials" in said
    assert "so far" in said
    predictions = tmp_path / "p.jsonl"
    predictions.write_text('{"question_id": "a", "sql": "SELECT 1"}\n')
    score = ("score", "--suite", str(suite), "--engine", "sqlite", "--data", str(database))
    code, said = on_a_terminal(
        *score, "--predictions", str(predictions), "--out", str(tmp_path / "scored")
    )
    assert code == 0, said
    assert "scoring" in said
