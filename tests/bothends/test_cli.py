"""The command line, as a user sees it: run as a program of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from bothends.agent.recipe import Recipe
from bothends.agent.retry import RetryPolicy
from bothends.agent.sampling import Sampling
from bothends.cli import app
from bothends.eval.experiment import Experiment, Regimen
from bothends.infra.dataset import Dataset
from bothends.options import option_of
from bothends.tools.preflight import Preflight

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def bothends(main_in_here: Command) -> Command:
    """The command line, in an environment without keys."""

    def run(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OPENAI_", "ANTHROPIC_"))
        }
        return main_in_here(
            *arguments, cwd=cwd, env=clean | {"COLUMNS": "120", "NO_COLOR": "1"} | env
        )

    return run


@pytest.fixture
def data(tpch_dataset: Dataset) -> str:
    return str(tpch_dataset.directory.parent.parent)


def test_help_names_the_commands(bothends: Command, tmp_path: Path) -> None:
    shown = bothends("--help", cwd=tmp_path)
    assert shown.returncode == 0
    for command in ("run", "ask", "compare", "demo", "report", "cluster"):
        assert f"\n  {command} " in shown.stdout


def test_run_prints_the_tables_and_writes_the_report(
    bothends: Command, tmp_path: Path, data: str
) -> None:
    arguments = (
        "run", "--engine", "sqlite", "--data", data, "--question", "1,6", "--out", "r",
        "--model", "scripted:perfect?label=exact&price_as=openai:gpt-4o",
        "--model", "scripted:failing?price_as=openai:gpt-4o", "--repeats", "1",
    )  # fmt: skip
    first = bothends(*arguments, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "A script, not a model" in first.stderr
    assert "exact" in first.stdout
    assert "CVQ" in first.stdout
    for name in ("report.html", "manifest.json", "trials.jsonl", "gold.jsonl", "tables/cost.csv"):
        assert (tmp_path / "r" / name).stat().st_size > 0
    trials = (tmp_path / "r" / "trials.jsonl").read_bytes()
    again = bothends(*arguments, cwd=tmp_path)
    assert again.returncode == 0
    assert "4 of 4 trials are already in r" in again.stderr
    assert (tmp_path / "r" / "trials.jsonl").read_bytes() == trials
    reported = bothends("report", "r", cwd=tmp_path)
    assert reported.stdout == again.stdout


def test_ask_shows_sql_rows_and_stages(bothends: Command, tmp_path: Path, data: str) -> None:
    shown = bothends(
        "ask", "--suite", "tpch", "--question", "6", "--engine", "sqlite", "--data", data,
        "--model", "scripted:perfect?price_as=openai:gpt-4o",
        cwd=tmp_path,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert "l_discount" in shown.stdout
    assert "Against gold: right" in shown.stdout
    for stage in ("list", "schema", "check", "run", "overhead", "total"):
        assert stage in shown.stdout
    assert "$0." in shown.stdout


def test_ask_on_a_database_of_ones_own_needs_words(bothends: Command, tmp_path: Path) -> None:
    shown = bothends("ask", "--engine", "sqlite:///x.db", "--model", "openai:gpt-4o", cwd=tmp_path)
    assert shown.returncode == 2
    assert "give a question in words" in shown.stderr


RUN = ("run", "--engine", "sqlite", "--model", "scripted:perfect", "--question", "6")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*RUN, "--suite", "tpcx"), "tpch"),
        (("run", "--engine", "sparkle", "--model", "scripted:perfect"), "spark"),
        (("run", "--engine", "sqlite", "--model", "scripted:perfekt"), "perfect"),
        (("run", "--engine", "sqlite", "--model", "openai:gpt-4o"), "OPENAI_API_KEY"),
        (("run", "--engine", "sqlite", "--model", "acme:gpt-4o"), "acme"),
        (("run", "--engine", "sqlite", "--model", "replay:nowhere.jsonl"), "nowhere.jsonl"),
        ((*RUN, "--question", "99"), "no question '99'"),
        ((*RUN, "--scale-factor", "-1"), "scale"),
        ((*RUN, "--data", "s3://bucket/x"), "s3"),
        ((*RUN, "--machine", "m7i.tiny"), "m7i.tiny"),
        ((*RUN, "--prices", "none.yaml"), "none.yaml"),
        ((*RUN, "--timeout", "0"), "--timeout: "),
        (("run", "--engine", "sqlite", "--model", "scripted:perfect", "--question", ""), "ids"),
        ((*RUN, "--scale-factor", "1000000000"), "GB free"),
        (("report", "nowhere"), "nowhere is not a run directory"),
        (("report",), "Missing argument"),
        (("run",), "bothends init"),
        (("run", "nowhere.yaml"), "there is no file 'nowhere.yaml'"),
        ((*RUN, "--fork"), "leave --fork out"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_traceback(
    bothends: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    shown = bothends(*arguments, cwd=tmp_path)
    assert shown.returncode not in (0, None)
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr + shown.stdout


def test_data_of_another_scale_factor_is_refused(
    bothends: Command, tmp_path: Path, tpch_dataset: Dataset
) -> None:
    shown = bothends(
        *RUN, "--scale-factor", "1", "--data", str(tpch_dataset.directory), cwd=tmp_path
    )
    assert shown.returncode == 1
    assert "scale factor" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_refused_key_is_a_clear_error_and_loses_nothing(
    bothends: Command, tmp_path: Path, data: str
) -> None:
    """A server that answers 401 to everything stands in for a provider."""
    server = subprocess.Popen(
        [sys.executable, "-c", REFUSING_SERVER], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        shown = bothends(
            "run", "--engine", "sqlite", "--data", data, "--question", "6", "--out", "r",
            "--model", "scripted:perfect", "--model", "openai:gpt-4o",
            "--base-url", f"http://127.0.0.1:{port}/v1",
            cwd=tmp_path, OPENAI_API_KEY="sk-abcdefghijklmnop",
        )  # fmt: skip
    finally:
        server.kill()
        server.wait()
    assert shown.returncode == 1
    assert "Traceback" not in shown.stderr
    assert "bothends: gpt-4o: the provider refused the key (401)" in shown.stderr
    written = (tmp_path / "r" / "trials.jsonl").read_text()
    assert written.count("\n") == written.count('"status":"ok"') == 1
    assert "abcdefghijklmnop" not in written + shown.stdout + shown.stderr


def test_a_file_is_written_run_gone_on_with_changed_and_forked(
    bothends: Command, tmp_path: Path, data: str
) -> None:
    written = bothends("init", "mine.yaml", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert "bothends run mine.yaml" in written.stdout
    text = (tmp_path / "mine.yaml").read_text()
    text = text.replace("data: data", f"data: {data}").replace("repeats: 3", "repeats: 1")
    (tmp_path / "mine.yaml").write_text(text.replace("question_ids: null", "question_ids: [6]"))
    first = bothends("run", "mine.yaml", "--max-turns", "9", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    manifest = json.loads((tmp_path / "runs" / "mine" / "manifest.json").read_text())
    # The option given goes before the file, and the default of one that is not given does not.
    assert manifest["experiment"]["recipe"]["max_turns"] == 9
    assert manifest["experiment"]["regimen"] == {"warmups": 1, "repeats": 1}
    assert manifest["experiment"]["engine"] == "sqlite"
    refused = bothends("run", "mine.yaml", "--replicas", "2", cwd=tmp_path)
    assert refused.returncode == 1
    assert "recipe.max_turns was 9 and is 12; replicas was 1 and is 2" in refused.stderr
    again = ("run", "mine.yaml", "--max-turns", "9", "--replicas", "2", "--fork")
    forked = bothends(*again, cwd=tmp_path)
    assert forked.returncode == 0, forked.stderr
    assert "1 of 2 trials are already in mine-fork1" in forked.stderr
    assert "2 of 2 trials are already in mine-fork1" in bothends(*again, cwd=tmp_path).stderr


def test_every_option_of_run_fills_a_field_of_the_experiment() -> None:
    models = (Experiment, Preflight, Recipe, Regimen, RetryPolicy, Sampling)
    names = {name for model in models for name in model.model_fields}
    filled = {option_of(name).replace("-", "_") for name in names}
    command = typer.main.get_command(app).get_command(None, "run")  # type: ignore[attr-defined]
    options = {parameter.name for parameter in command.params}
    assert options - filled == {
        *("experiment", "out", "record", "record_append", "served_by", "yes", "fork"),
    }


REFUSING_SERVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = b'{"error": {"message": "Incorrect API key provided: sk-abcdefghijklmnop"}}'
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def test_recipes_by_option(bothends: Command, tmp_path: Path, data: str) -> None:
    common = ("ask", "--engine", "sqlite", "--suite", "tpch", "--question", "6", "--data", data)
    arguments = (*common, "--model", "scripted:corrected", "--recipe", "single+correct")
    right = bothends(
        *arguments, "--linking", "lexical", "--linking-tables", "2", "--corrections", "1",
        cwd=tmp_path,
    )  # fmt: skip
    assert right.returncode == 0, right.stderr
    assert "Against gold: right" in right.stdout
    wrong = bothends(*arguments, "--corrections", "0", cwd=tmp_path)
    assert wrong.returncode == 1
    assert "no_such_column" in wrong.stdout
    refused = bothends(*arguments, "--samples", "3", cwd=tmp_path)
    assert refused.returncode == 2
    assert "recipe single+correct has no use for --samples" in refused.stderr
    run = ("run", *common[1:], "--model", "scripted:perfect", "--recipe", "single")
    unset = bothends(*run, "--linking", "embedding", cwd=tmp_path)
    assert unset.returncode == 2
    assert "--embeddings provider:model need one another" in unset.stderr


def test_what_would_read_too_much_does_not_run(
    bothends: Command, tmp_path: Path, data: str
) -> None:
    common = ("ask", "--engine", "postgres", "--suite", "tpch", "--question", "6", "--data", data)
    asked = (*common, "--model", "scripted:perfect")
    refused = bothends(*asked, "--max-scan-bytes", "1MB", cwd=tmp_path)
    assert refused.returncode == 1
    assert "refused before it ran: it would read" in " ".join(refused.stdout.split())
    assert bothends(*asked, "--max-scan-bytes", "1GB", cwd=tmp_path).returncode == 0
    unread = bothends(*asked, "--max-scan-bytes", "plenty", cwd=tmp_path)
    assert unread.returncode == 2
    assert "--max-scan-bytes: " in unread.stderr
