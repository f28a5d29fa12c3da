"""Where all goes well: what OpenAI's own client sends, and what is made of its replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bothends import RetryPolicy, Sampling, run
from bothends.agent.models.base import Model
from bothends.agent.models.registry import load_model
from bothends.eval.store import RunDirectory

from .conftest import CASE, COUNT, PRICES, RunAgent, served
from .server import FaultyServer, call, calls, refusal, said

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
    answered = run_agent(
        calls(call("list_tables"), usage=(100, 7)),
        said(
            '{"name": "check_query", "arguments": {"sql": "SELECT COUNT(*) FROM item"}}', usage=None
        ),
        said(f"```sql\n{COUNT}\n```", usage=(50, 9)),
        calls(call("run_query", sql=COUNT), usage=(300, 30)),
        check="llm",
    )
    assert answered.status == "ok"
    assert answered.outcome is not None
    assert answered.outcome.rows == ((100,),)
    made = [step for step in answered.steps if step.kind == "llm"]
    assert [step.role for step in made] == ["controller", "controller", "checker", "controller"]
    assert [step.calls_from_text for step in made] == [0, 1, 0, 0]
    assert made[0].usage is not None
    assert (made[0].usage.input_tokens, made[0].usage.output_tokens) == (100, 7)
    assert made[1].usage is None, "usage that is not reported is null"
    names = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert names == ["list_tables", "get_schema", "check_query", "run_query"]
    assert "tools" not in server.requests[2], "the checker has no tools"


ALL = Sampling(temperature=0.3, top_p=0.8, max_tokens=77, seed=4, reasoning_effort="low")


def sampled(server: FaultyServer, options: str = "", sampling: Sampling | None = None) -> Model:
    return load_model(
        f"openai:small{options}", prices=PRICES, base_url=server.url, sampling=sampling
    )


def test_one_sampling_for_all_reaches_the_server(server: FaultyServer) -> None:
    server.answers(said("Hi"), said("Hi"))
    model = sampled(server, sampling=ALL)
    ask(model)
    request = server.requests[0]
    assert request["max_completion_tokens"] == 77
    assert {name: request[name] for name in ("temperature", "top_p", "seed")} == {
        "temperature": 0.3,
        "top_p": 0.8,
        "seed": 4,
    }
    assert request["reasoning_effort"] == "low"
    assert model.sampling == ALL.model_dump()
    # A model's own option wins; what it leaves out is the run's.
    own = sampled(server, "?temperature=0.9&reasoning_effort=high", ALL)
    ask(own)
    request = server.requests[1]
    assert (request["temperature"], request["reasoning_effort"]) == (0.9, "high")
    assert (request["top_p"], request["seed"]) == (0.8, 4)
    assert own.sampling["temperature"] == 0.9


def test_what_is_not_set_is_recorded_as_not_set(server: FaultyServer) -> None:
    server.answers(said("Hi"))
    model = sampled(server, sampling=Sampling(seed=4))
    ask(model)
    assert model.sampling == {
        # A server of one's own is asked for its likeliest reply, unless told otherwise.
        "temperature": 0.0,
        "top_p": None,
        "max_tokens": None,
        "seed": 4,
        "reasoning_effort": None,
    }
    assert (
        server.requests[0].keys() & {"top_p", "max_completion_tokens", "reasoning_effort"} == set()
    )


def test_what_a_model_refuses_is_recorded_as_not_sent(server: FaultyServer) -> None:
    # LangChain's class drops the temperature of reasoning models, which take none.
    server.answers(said("Hi"))
    model = load_model(
        "openai:gpt-5", prices=PRICES, base_url=server.url, sampling=Sampling(temperature=0.3)
    )
    ask(model)
    assert "temperature" not in server.requests[0]
    assert model.sampling["temperature"] is None


def test_scripts_sample_nothing(server: FaultyServer) -> None:
    model = load_model("scripted:perfect", prices=PRICES, sampling=ALL)
    assert model.sampling == {}


def test_the_manifest_says_what_was_sent(server: FaultyServer, shop: Path, tmp_path: Path) -> None:
    server.answer = lambda _: calls(call("run_query", sql=COUNT))
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"id": "1", "question": "How many?", "gold": COUNT}) + "\n")
    result = run(
        suite=str(file),
        engine=f"sqlite:///{shop}",
        data=shop,
        out=tmp_path / "run",
        models=["openai:small", "openai:small?label=cold&temperature=0.1", "scripted:perfect"],
        base_url=server.url,
        sampling=Sampling(temperature=0.5, max_tokens=99),
        retry=RetryPolicy(attempts=2),
        check="off",
    )
    assert {trial.status for trial in result.trials} == {"ok"}
    manifest = RunDirectory(result.directory).manifest
    plain, cold, script = (terms.sampling for terms in manifest.models)
    assert (plain["temperature"], plain["max_tokens"], plain["seed"]) == (0.5, 99, None)
    assert (cold["temperature"], cold["max_tokens"]) == (0.1, 99)
    assert script == {}
    assert {request["temperature"] for request in server.requests} == {0.5, 0.1}
    assert manifest.experiment.retry.attempts == 2


def test_a_recipe_without_tools_over_http(server: FaultyServer, run_agent: RunAgent) -> None:
    answered = run_agent(
        said("```sql\nSELECT no_such FROM item\n```"),
        refusal(503),
        said(f"<think>Hm.</think>```sql\n{COUNT};\n```"),
        name="single+correct",
    )
    assert (answered.status, answered.sql) == ("ok", COUNT)
    waits = [step.wait_s > 0 for step in answered.steps if step.kind == "llm"]
    assert waits == [False, True, False]
    first, _, last = server.requests
    assert "tools" not in first
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert [message["role"] for message in last["messages"]] == [
        *("system", "user", "assistant", "user")
    ]
    assert "no such column: no_such" in last["messages"][-1]["content"]


def test_a_draft_that_was_cut_is_not_run(server: FaultyServer, run_agent: RunAgent) -> None:
    answered = run_agent(said(f"```sql\n{COUNT} WHERE", finish_reason="length"), name="single")
    assert (answered.status, answered.sql) == ("no_query", None)
    assert "was cut at its token limit" in (answered.error or "")
