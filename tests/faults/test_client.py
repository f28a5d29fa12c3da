"""Where all goes well: what OpenAI's own client sends, and what is made of its replies."""

from __future__ import annotations

import pytest

from bothends.agent.models.base import Model

from .conftest import CASE, COUNT, RunAgent, served
from .server import FaultyServer, call, calls, said

SECRET = "sk-very-secret-0123456789"  # noqa: S105 - a key to nothing


def ask(model: Model) -> str:
    return model.chat(CASE).invoke("Hello").text


def test_a_server_of_ones_own(server: FaultyServer) -> None:
    server.answers(said("Hello yourself"))
    model = served(server)
    assert (model.kind, model.text_calls, model.label) == ("self_hosted", True, "small")
    assert "127.0.0.1" not in model.description
    assert ask(model) == "Hello yourself"
    request = server.requests[0]
    assert server.paths == ["/v1/chat/completions"]
    assert request["model"] == "small"
    assert request["temperature"] == 0
    assert not request.get("stream")


def test_options_reach_the_server(server: FaultyServer) -> None:
    server.answers(said("Hi"))
    ask(served(server, "?temperature=0.7&top_p=0.9&seed=5&max_tokens=64"))
    request = server.requests[0]
    assert (request["temperature"], request["top_p"], request["seed"]) == (0.7, 0.9, 5)
    assert request["max_completion_tokens"] == 64


def test_the_key_of_the_environment_is_sent_where_there_is_one(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers(said("Hi"), said("Hi"))
    ask(served(server))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ask(served(server))
    assert server.keys == ["Bearer none", f"Bearer {SECRET}"]


def test_an_agent_over_http(server: FaultyServer, run_agent: RunAgent) -> None:
    run = run_agent(
        calls(call("list_tables"), usage=(100, 7)),
        said(
            '{"name": "check_query", "arguments": {"sql": "SELECT COUNT(*) FROM item"}}', usage=None
        ),
        said(f"```sql\n{COUNT}\n```", usage=(50, 9)),
        calls(call("run_query", sql=COUNT), usage=(300, 30)),
        check="llm",
    )
    assert run.status == "ok"
    assert run.outcome is not None
    assert run.outcome.rows == ((100,),)
    made = [step for step in run.steps if step.kind == "llm"]
    assert [step.role for step in made] == ["controller", "controller", "checker", "controller"]
    assert [step.calls_from_text for step in made] == [0, 1, 0, 0]
    assert made[0].usage is not None
    assert (made[0].usage.input_tokens, made[0].usage.output_tokens) == (100, 7)
    assert made[1].usage is None, "usage that is not reported is null"
    names = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert names == ["list_tables", "get_schema", "check_query", "run_query"]
    assert "tools" not in server.requests[2], "the checker has no tools"
