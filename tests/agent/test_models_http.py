"""Models over HTTP: the real OpenAI client against a server on the loopback that speaks its API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.models.registry import load_model
from bothends.agent.recipe import Recipe
from bothends.agent.retry import RetryPolicy, call_with_retry
from bothends.engines import Engine
from bothends.infra.errors import ProviderError
from bothends.infra.prices import PriceBook

CASE = Case("q1", "How many items are there?", 0, None, "sqlite")
QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.01, total_wait_s=5)
PRICES = PriceBook.load()
SECRET = "sk-very-secret-0123456789"  # noqa: S105 - a key to nothing


@dataclass(slots=True)
class Answer:
    """One reply of the server."""

    body: dict[str, Any]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False


@dataclass(slots=True)
class Server:
    """What the server answers, in order, and what it was asked."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def completion(
    text: str = "", calls: list[tuple[str, dict[str, Any]]] | None = None, **usage: Any
) -> Answer:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{i}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for i, (name, arguments) in enumerate(calls)
        ]
    body: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "small-model-2026",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        ],
    }
    if usage:
        body["usage"] = usage
    return Answer(body)


def fault(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"error": {"message": message, "code": code}}, status, headers)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            state.requests.append(json.loads(self.rfile.read(size)))
            state.keys.append(self.headers.get("Authorization", ""))
            state.paths.append(self.path)
            answer = state.answers.pop(0)
            if answer.hang_up:
                self.close_connection = True
                return
            body = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Server(f"http://127.0.0.1:{http.server_address[1]}/v1")
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def load(server: Server, options: str = "") -> Model:
    spec = "openai:small-model" + (f"?{options}" if options else "")
    return load_model(spec, prices=PRICES, base_url=server.url)


def ask(model: Model, waits: list[float] | None = None) -> str:
    chat = model.chat(CASE)
    noted: list[float] = [] if waits is None else waits
    return call_with_retry(
        lambda: chat.invoke("Hello"), QUICK, on_wait=lambda seconds, _: noted.append(seconds)
    ).text


def test_a_server_of_ones_own(server: Server) -> None:
    server.answers = [completion("Hello yourself")]
    model = load(server)
    assert (model.kind, model.text_calls, model.label) == ("self_hosted", True, "small-model")
    assert "127.0.0.1" not in model.description
    assert ask(model) == "Hello yourself"
    request = server.requests[0]
    assert server.paths == ["/v1/chat/completions"]
    assert request["model"] == "small-model"
    assert request["temperature"] == 0
    assert not request.get("stream")


def test_options_reach_the_server(server: Server) -> None:
    server.answers = [completion("Hi")]
    ask(load(server, "temperature=0.7&top_p=0.9&seed=5&max_tokens=64"))
    request = server.requests[0]
    assert (request["temperature"], request["top_p"], request["seed"]) == (0.7, 0.9, 5)
    assert request["max_completion_tokens"] == 64


def test_the_key_of_the_environment_is_sent_where_there_is_one(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [completion("Hi"), completion("Hi")]
    ask(load(server))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ask(load(server))
    assert server.keys == ["Bearer none", f"Bearer {SECRET}"]


def test_a_recipe_without_tools_over_http(server: Server, shop: Engine) -> None:
    query = "SELECT COUNT(*) AS n FROM item"
    usage = {"prompt_tokens": 40, "completion_tokens": 6, "total_tokens": 46}
    server.answers = [
        completion("```sql\nSELECT no_such FROM item\n```", **usage),
        fault(503, "busy"),
        completion(f"<think>Hm.</think>```sql\n{query};\n```", **usage),
    ]
    agent = Agent(shop, load(server), recipe=Recipe(name="single+correct"), retry=QUICK)
    run = agent.run(CASE)
    assert (run.status, run.sql) == ("ok", query)
    assert [step.wait_s > 0 for step in run.steps if step.kind == "llm"] == [False, True, False]
    first, _, last = server.requests
    assert "tools" not in first
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert [message["role"] for message in last["messages"]] == [
        *("system", "user", "assistant", "user")
    ]
    assert "no such column: no_such" in last["messages"][-1]["content"]


def test_an_agent_over_http(server: Server, shop: Engine) -> None:
    query = "SELECT COUNT(*) AS n FROM item"
    server.answers = [
        completion(calls=[("list_tables", {})], prompt_tokens=100, completion_tokens=7),
        completion('{"name": "check_query", "arguments": {"sql": "SELECT COUNT(*) FROM item"}}'),
        completion(f"```sql\n{query}\n```", prompt_tokens=50, completion_tokens=9),
        completion(calls=[("run_query", {"sql": query})], prompt_tokens=300, completion_tokens=30),
    ]
    run = Agent(shop, load(server), retry=QUICK).run(CASE)
    assert run.status == "ok"
    assert run.outcome is not None
    assert run.outcome.rows == ((3,),)
    calls = [step for step in run.steps if step.kind == "llm"]
    assert [step.role for step in calls] == ["controller", "controller", "checker", "controller"]
    assert [step.calls_from_text for step in calls] == [0, 1, 0, 0]
    assert calls[0].usage is not None
    assert (calls[0].usage.input_tokens, calls[0].usage.output_tokens) == (100, 7)
    assert calls[1].usage is None, "usage that is not reported is null"
    names = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert names == ["list_tables", "get_schema", "check_query", "run_query"]
    assert "tools" not in server.requests[2], "the checker has no tools"


def test_waits_as_long_as_retry_after_says(server: Server) -> None:
    server.answers = [fault(429, "slow down", Retry_After="0.05"), completion("Hi")]
    waits: list[float] = []
    assert ask(load(server), waits) == "Hi"
    assert waits == [0.05]
    assert len(server.requests) == 2, "the client makes no attempts of its own"


@pytest.mark.parametrize("status", [429, 500, 529])
def test_tries_again_and_gives_up(status: int, server: Server) -> None:
    server.answers = [fault(status, "no luck")] * 3
    waits: list[float] = []
    with pytest.raises(ProviderError, match=rf"\({status}\); gave up after 3 attempts"):
        ask(load(server), waits)
    assert len(waits) == 2
    assert not server.answers


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (fault(401, f"Incorrect API key provided: {SECRET}"), "check OPENAI_API_KEY"),
        (fault(403, "not allowed"), "check OPENAI_API_KEY"),
        (fault(404, "model not found", "model_not_found"), "knows no such model"),
        (fault(400, "bad parameter"), r"refused the request \(400\)"),
        (
            fault(400, "maximum context length is 8192 tokens", "context_length_exceeded"),
            "longer than the model's context window",
        ),
        (fault(429, "You exceeded your quota", "insufficient_quota"), "no credit left"),
    ],
)
def test_a_refusal_is_final(
    answer: Answer, said: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.answers = [answer]
    with pytest.raises(ProviderError, match=said) as caught:
        ask(load(server))
    assert len(server.requests) == 1
    assert SECRET not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_dropped_connection_is_tried_again(server: Server) -> None:
    server.answers = [Answer({}, hang_up=True), completion("Hi")]
    assert ask(load(server)) == "Hi"


def test_a_server_that_is_not_there(server: Server) -> None:
    gone = Server("http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError, match="cannot be reached; gave up after 3 attempts"):
        ask(load(gone))
