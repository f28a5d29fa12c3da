"""No secret reaches a record, a report, a log or an error: every byte of them is searched."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

KEY = "zqOpenai7f3c9e1b5d"
DSN = "zqDsn5#p@ss/w?9"
TOKEN = "zqToken8c1d4e7f"  # noqa: S105 - to nothing
IN_AN_ADDRESS = "zqAddress6b2e"
ENVIRONMENT = {
    "OPENAI_API_KEY": KEY,
    "AWS_ACCESS_KEY_ID": "AKIAZQ7EXAMPLE123456",
    "AWS_SECRET_ACCESS_KEY": "zqAws/secret+9d2f7b1c=8",
    "AWS_SESSION_TOKEN": 'zqSession7/"a\\a+b==',
    "PGPASSWORD": "zqPg4pass word<x>",
    "DATABASE_URL": "postgres://ann:zqEnvUrl81c@db/x",
}
SECRETS = (
    KEY,
    DSN,
    TOKEN,
    IN_AN_ADDRESS,
    *(value for name, value in ENVIRONMENT.items() if name != "DATABASE_URL"),
    "zqEnvUrl81c",
)


def leaks(content: bytes) -> list[str]:
    """Return the secrets in a text, in whatever form they stand there."""
    return [
        form
        for secret in SECRETS
        for form in {
            secret,
            quote(secret),
            quote(secret, safe=""),
            html.escape(secret),
            json.dumps(secret)[1:-1],
            base64.b64encode(secret.encode()).decode(),
        }
        if form.encode() in content
    ]


@dataclass
class Provider:
    """A server that echoes the header it was sent, as a model's reply or in a refusal."""

    url: str
    seen: list[str] = field(default_factory=list)


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def provider() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = str(self.headers["Authorization"])
            made.seen.append(sent)
            self.rfile.read(int(self.headers["Content-Length"]))
            kind = self.path.split("/")[1]
            if kind.isdigit():
                body = {"error": {"message": f"no: Authorization: {sent} is wrong, {sent[7:]}!"}}
                self.answer(int(kind), body)
                return
            sql = f"SELECT n, '{KEY}' AS k FROM item" if kind == "ok" else f"SELECT {KEY} FROM item"
            call = {"name": "run_query", "arguments": json.dumps({"sql": sql})}
            message = {
                "role": "assistant",
                "content": f"I was sent {sent}, and know {ENVIRONMENT['AWS_SESSION_TOKEN']}.",
                "tool_calls": [{"id": "c", "type": "function", "function": call}],
            }
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
            self.answer(
                200,
                {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "m",
                    "choices": [choice],
                    "usage": usage,
                },
            )

        def answer(self, status: int, body: object) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Provider(f"http://127.0.0.1:{server.server_port}")
    Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database, and questions about it that quote secrets of the environment."""
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript("CREATE TABLE item (n INTEGER); INSERT INTO item VALUES (1), (2);")
    connection.close()
    entry = {
        "id": "a",
        "question": f"How many? By the way, {ENVIRONMENT['AWS_SECRET_ACCESS_KEY']}",
        "evidence": f"and {ENVIRONMENT['PGPASSWORD']} and zqEnvUrl81c",
        "gold": f"SELECT n, '{KEY}' AS k FROM item",
    }
    (tmp_path / "q.jsonl").write_text(json.dumps(entry) + "\n")
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.fixture
def bothends(main_in_here: Command) -> Command:
    """The command line, in an environment full of secrets."""

    def run(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"} | ENVIRONMENT
        return main_in_here(*arguments, cwd=cwd, env=env)

    return run


def written(directory: Path) -> dict[str, bytes]:
    """Return what was written, with what is compressed unpacked."""
    found = {}
    for file in directory.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            found[str(file)] = gzip.decompress(content) if file.suffix == ".gz" else content
    return found


def assert_no_leak(cwd: Path, ran: subprocess.CompletedProcess[str]) -> dict[str, bytes]:
    texts = written(cwd / "out") | {"stdout": ran.stdout.encode(), "stderr": ran.stderr.encode()}
    assert {name: found for name, content in texts.items() if (found := leaks(content))} == {}
    assert "Traceback" not in ran.stderr
    return texts


def asked(url: str) -> tuple[str, ...]:
    return (
        "--suite", "q.jsonl", "--engine", "sqlite", "--data", "shop.db",
        "--model", "openai:m", "--base-url", f"{url}/v1",
    )  # fmt: skip


def test_the_search_finds_each_form() -> None:
    for secret in SECRETS:
        assert leaks(f"x{secret}y".encode())
        assert leaks(json.dumps({"a": secret}).encode())
        assert leaks(f"http://a/?b={quote(secret, safe='')}".encode())
    assert not leaks(b"[redacted]")


def test_a_run_that_meets_them_everywhere_keeps_none(
    bothends: Command, shop: Path, provider: Provider
) -> None:
    ran = bothends(
        shop, "run", *asked(f"{provider.url}/ok"), "--out", "out/r", "--record", "out/rec.jsonl",
        "--repeats", "1",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert provider.seen == [f"Bearer {KEY}"]
    texts = assert_no_leak(shop, ran)
    names = {Path(name).name for name in texts}
    assert names >= {"manifest.json", "trials.jsonl", "gold.jsonl", "report.html", "rec.jsonl"}
    assert names >= {"transcripts.jsonl.gz", "trials.csv"}
    for name in ("manifest.json", "trials.jsonl", "gold.jsonl", "transcripts.jsonl.gz"):
        assert b"[redacted]" in texts[str(shop / "out" / "r" / name)], name
    # The run is the same run all the same, and was judged by what was really returned.
    trial = json.loads(texts[str(shop / "out" / "r" / "trials.jsonl")])
    assert trial["verdict"]["exact"]
    again = bothends(shop, "run", *asked(f"{provider.url}/ok"), "--out", "out/r", "--repeats", "1")
    assert "1 of 1 trials are already in r" in again.stderr
    assert_no_leak(shop, again)
    assert_no_leak(shop, bothends(shop, "report", "out/r"))
    shown = bothends(shop, "transcript", "out/r", "--question", "a")
    assert "run_query" in shown.stdout
    assert_no_leak(shop, shown)
    assert_no_leak(shop, bothends(shop, "score", "out/r", "--out", "out/again"))


@pytest.mark.parametrize("kind", ["400", "401", "failing"])
def test_what_fails_quotes_none(
    bothends: Command, shop: Path, provider: Provider, kind: str
) -> None:
    ran = bothends(shop, "run", *asked(f"{provider.url}/{kind}"), "--out", "out/r")
    assert ran.returncode == (0 if kind == "failing" else 1)  # a failed query is measured
    assert "[redacted]" in ran.stderr
    assert_no_leak(shop, ran)
    one = bothends(shop, "ask", *asked(f"{provider.url}/{kind}"), "--question", "a")
    assert one.returncode == 1
    assert "[redacted]" in one.stdout + one.stderr
    assert_no_leak(shop, one)


def test_an_answer_shows_none(bothends: Command, shop: Path, provider: Provider) -> None:
    one = bothends(shop, "ask", *asked(f"{provider.url}/ok"), "--question", "a")
    assert one.returncode == 0, one.stderr
    assert "[redacted]" in one.stdout
    assert_no_leak(shop, one)


@pytest.mark.parametrize(
    "engine",
    [
        f"postgres://ann:{quote(DSN, safe='')}@127.0.0.1:1/shop",
        f"postgres://ann:{DSN}@127.0.0.1:1/shop",
        f"postgres://127.0.0.1:1/shop?user=ann&password={quote(DSN, safe='')}",
        f"postgres://127.0.0.1:1/shop?password={quote(DSN, safe='')}&nonsense=1",
        f"postgers://ann:{quote(DSN, safe='')}@127.0.0.1:1/shop",
        f"sc://127.0.0.1:x/;token={TOKEN}",
        f"sc://127.0.0.1:1/;token={TOKEN};nonsense",
    ],
)
def test_an_engine_that_cannot_be_reached_quotes_none(
    bothends: Command, shop: Path, engine: str
) -> None:
    settings = ("--suite", "q.jsonl", "--model", "scripted:perfect")
    ran = bothends(shop, "run", *settings, "--engine", engine, "--out", "out/r")
    assert ran.returncode != 0
    assert_no_leak(shop, ran)
    (shop / "e.yaml").write_text(
        json.dumps({"suite": "q.jsonl", "models": ["scripted:perfect"], "engine": engine})
    )
    assert_no_leak(shop, bothends(shop, "run", "e.yaml", "--out", "out/e"))
    (shop / "e.yaml").write_text(json.dumps({"engine": [engine], engine: 1}))
    assert bothends(shop, "run", "e.yaml").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "openai:m", "--base-url", f"http://ann:{IN_AN_ADDRESS}@127.0.0.1:1/v1"),
        ("--model", "openai:m", "--base-url", f"http://127.0.0.1:1/v1?api_key={IN_AN_ADDRESS}"),
        ("--model", "openai:m", "--base-url", f"http://127.0.0.1:1/{KEY}/v1"),
        ("--model", "scripted:perfect", "--base-url", f"http://a:{IN_AN_ADDRESS}@127.0.0.1/v1"),
        ("--model", f"openai:m?api_key={KEY}"),
        ("--model", f"openai:m?label={KEY}"),
        ("--model", f"openai:m?base_url=http://a:{IN_AN_ADDRESS}@127.0.0.1/v1"),
        ("--model", "scripted:perfect", "--checker", f"openai:m?seed={KEY}"),
    ],
)
def test_a_secret_in_what_is_recorded_is_refused_and_not_quoted(
    bothends: Command, shop: Path, arguments: tuple[str, ...]
) -> None:
    settings = ("--suite", "q.jsonl", "--engine", "sqlite", "--data", "shop.db")
    ran = bothends(shop, "run", *settings, *arguments, "--out", "out/r")
    assert ran.returncode == 2, ran.stderr
    assert not (shop / "out" / "r" / "trials.jsonl").exists()
    assert_no_leak(shop, ran)
