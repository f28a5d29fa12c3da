"""What a provider does wrong: tried again where it may pass, and told apart where it may not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from bothends.agent.retry import RetryPolicy
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.runner import run_experiment
from bothends.eval.store import RunDirectory
from bothends.infra.errors import RefusedError

from .conftest import COUNT, RunAgent
from .server import FaultyServer, Reply, call, calls, refusal, said, texts, whole

ANSWER = calls(call("run_query", sql=COUNT), usage=(100, 20))
TWICE = RetryPolicy(attempts=2, first_wait_s=0.001, max_wait_s=0.002)
PASSING = {
    "429": refusal(429),
    "500": refusal(500),
    "502 of a proxy": Reply(b"<html>Bad Gateway</html>", 502, {"Content-Type": "text/html"}),
    "503": refusal(503),
    "529": refusal(529, "overloaded"),
    "reset before a reply": replace(ANSWER, cut="before"),
    "reset within a reply": replace(ANSWER, cut="middle"),
    "end within a reply": replace(ANSWER, cut="short"),
    "half of a JSON": Reply(ANSWER.body[:60]),
    "no body": Reply(b""),
    "a page in place of JSON": Reply(b"<html>Busy</html>", headers={"Content-Type": "text/html"}),
    "a page said to be JSON": Reply(b"<html>Busy</html>"),
    "a list": Reply(b"[]"),
    "no choices": Reply(b'{"id": "x", "object": "chat.completion"}'),
    "null choices": whole(None),
    "empty choices": whole([]),
    "null message": whole([{"index": 0, "message": None, "finish_reason": "stop"}]),
    "a message of nobody": whole([{"index": 0, "message": {"content": "Hi"}}]),
    "a message of another role": whole(
        [{"index": 0, "message": {"role": "critic", "content": "Hi"}, "finish_reason": "stop"}]
    ),
    "an error with status 200": Reply(b'{"error": {"code": 503, "message": "try again"}}'),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again(
    fault: Reply, server: FaultyServer, run_agent: RunAgent
) -> None:
    run = run_agent(fault, ANSWER)
    assert run.status == "ok", run.error
    assert run.outcome is not None
    assert run.outcome.rows == ((100,),)
    failed, answered = (step for step in run.steps if step.kind == "llm")
    assert failed.error
    assert (failed.usage, failed.wait_s > 0) == (None, True)
    assert answered.usage is not None
    assert (answered.usage.input_tokens, answered.usage.output_tokens) == (100, 20)
    assert len(server.requests) == 2, "the client makes no attempts of its own"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (refusal(503, "overloaded"), r"kept failing \(503\); gave up after 4 attempts: .*overload"),
        (replace(ANSWER, cut="before"), r"cannot be reached; gave up after 4 attempts: .*\(.+\)"),
        (Reply(ANSWER.body[:60]), "sent no reply that its API allows .*; gave up after 4 attempts"),
        (whole([]), "sent no reply that its API allows .*; gave up after 4 attempts"),
    ],
    ids=["status", "connection", "half", "empty"],
)
def test_what_does_not_pass_ends_the_trial(
    fault: Reply, said: str, server: FaultyServer, run_agent: RunAgent
) -> None:
    run = run_agent(*[fault] * 4)
    assert run.status == "provider_error"
    assert run.error is not None
    assert re.search(said, run.error), run.error
    assert "\n" not in run.error
    assert len(server.requests) == 4


def test_a_reply_that_does_not_come_in_time(server: FaultyServer, run_agent: RunAgent) -> None:
    late = replace(ANSWER, delay_s=2.0)
    run = run_agent(late, late, options="?timeout_s=0.1", retry=TWICE)
    assert run.status == "provider_error"
    assert "timed out" in (run.error or "").lower()
    assert len(server.requests) == 2


def test_a_server_that_is_not_there(run_agent: RunAgent) -> None:
    run = run_agent(options="?base_url=http://127.0.0.1:9/v1", retry=TWICE)
    assert run.status == "provider_error"
    assert "cannot be reached; gave up after 2 attempts" in (run.error or "")
    assert "refused" in (run.error or "")


@pytest.mark.parametrize("status", [401, 403, 404, 429])
def test_a_refusal_says_what_to_do_and_no_secret(
    status: int, run_agent: RunAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-very-secret-0123456789"  # noqa: S105 - a key to nothing
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    with pytest.raises(RefusedError) as caught:
        run_agent(refusal(status, f"no: {secret}", code="insufficient_quota"))
    # The key is to be checked where it is refused; else the account, then the name.
    todo = "check OPENAI_API_KEY" if status in {401, 403} else "no credit left"
    assert todo in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_request_that_is_refused_fails_alone(server: FaultyServer, run_agent: RunAgent) -> None:
    run = run_agent(refusal(400, "bad parameter"))
    assert run.status == "provider_error"
    assert "refused the request (400)" in (run.error or "")
    assert len(server.requests) == 1


def after(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("asked", "least_s", "most_s"),
    [(lambda: "0.05", 0.05, 0.05), (lambda: after(2), 0.5, 2.0), (lambda: after(-9), 0.001, 0.002)],
    ids=["seconds", "date", "past"],
)
def test_waits_as_long_as_it_is_asked_to(
    status: int, asked: Callable[[], str], least_s: float, most_s: float, run_agent: RunAgent
) -> None:
    busy = refusal(status, headers={"Retry-After": asked()})
    run = run_agent(busy, ANSWER)
    assert run.status == "ok"
    assert least_s <= run.steps[0].wait_s <= most_s
    assert run.seconds >= run.steps[0].wait_s


TOO_LONG = {
    "openai": refusal(
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9001 tokens. Please reduce the length of the messages.",
        code="context_length_exceeded",
    ),
    "vllm": refusal(
        400,
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
        "(112946 in the messages, 10000 in the completion).",
        code=400,
    ),
    "vllm's newer engine": refusal(
        400, "The decoder prompt (length 10127) is longer than the maximum model length of 8192."
    ),
    "llama.cpp": refusal(
        400,
        "the request exceeds the available context size, try increasing it",
        type="exceed_context_size_error",
    ),
    "older llama.cpp": refusal(
        500, "the request exceeds the available context size. try increasing the context size"
    ),
    "llama.cpp with status 200": Reply(
        b'{"error": {"code": 400, "message": "the request exceeds the available context size."}}'
    ),
    "ollama": refusal(400, "prompt too long; exceeded max context length by 812 tokens"),
    "tgi": refusal(422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 + 200"),
}


@pytest.mark.parametrize("fault", TOO_LONG.values(), ids=TOO_LONG)
def test_a_conversation_that_is_too_long(
    fault: Reply, server: FaultyServer, run_agent: RunAgent
) -> None:
    run = run_agent(calls(call("list_tables"), usage=(50, 5)), fault)
    assert run.status == "gave_up"
    assert "longer than the model's context window" in (run.error or "")
    assert len(server.requests) == 2, "it is not tried again"
    assert run.steps[0].usage is not None, "what came before is billed"


REFUSALS = {
    "401": refusal(401, "Incorrect API key"),
    "403": refusal(403, "not allowed"),
    "404": refusal(404, "model not found"),
    "quota": refusal(429, "You exceeded your current quota", code="insufficient_quota"),
}


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_refusal_stops_the_run_and_loses_nothing(
    fault: Reply, concurrency: int, server: FaultyServer, shop: Path, tmp_path: Path
) -> None:
    file = tmp_path / "questions.jsonl"
    question = {"question": "How many items?", "gold": COUNT}
    file.write_text("".join(json.dumps({"id": str(i), **question}) + "\n" for i in range(12)))
    experiment = Experiment(
        suite=str(file),
        engine=f"sqlite:///{shop}",
        data=shop,
        models=("openai:small",),
        base_url=server.url,
        concurrency=concurrency,
        regimen=Regimen(warmups=0, repeats=1),
    )
    left = [ANSWER] * 5 + [fault] * concurrency
    server.answer = lambda _: left.pop(0)
    with pytest.raises(RefusedError, match="the same command goes on from there"):
        run_experiment(experiment, tmp_path / "run")
    before = RunDirectory(tmp_path / "run").trials()
    assert [trial.status for trial in before] == ["ok"] * 5
    server.answer = lambda _: ANSWER
    trials = run_experiment(experiment, tmp_path / "run").trials()
    assert trials[:5] == before
    assert sorted(int(trial.key.question_id) for trial in trials) == list(range(12))
    assert {trial.status for trial in trials} == {"ok"}


def test_the_prompts_filter_is_no_fault_of_the_provider(run_agent: RunAgent) -> None:
    run = run_agent(refusal(400, "The response was filtered", code="content_filter"))
    assert run.status == "no_query"
    assert "a content filter stopped the request" in (run.error or "")


def test_the_checkers_provider_is_retried_like_the_controllers(
    server: FaultyServer, run_agent: RunAgent
) -> None:
    run = run_agent(
        calls(call("check_query", sql=COUNT)),
        refusal(503),
        said(f"```sql\n{COUNT}\n```"),
        ANSWER,
        check="llm",
    )
    assert run.status == "ok"
    waited = [step for step in run.steps if step.wait_s > 0]
    assert [(step.role, step.parent is not None) for step in waited] == [("checker", True)]


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (said(f"```sql\n{COUNT}", finish_reason="length"), COUNT),
        (said("```sql\nSELECT 1\n```\nand also", finish_reason="length"), COUNT),
        (said(""), COUNT),
        (said("```sql\nSELECT 2\n```"), "SELECT 2"),
    ],
    ids=["cut", "cut after a query", "empty", "whole"],
)
def test_half_a_correction_is_none(
    reply: Reply, shown: str, server: FaultyServer, run_agent: RunAgent
) -> None:
    run_agent(calls(call("check_query", sql=COUNT)), reply, ANSWER, check="llm")
    assert texts(server.requests[-1], "tool")[-1].endswith(f"\n\n{shown}")


def without_usage() -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ANSWER.body)
    del body["usage"]
    return body


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ("missing", None),
        (None, None),
        ({}, (None, None)),
        ({"prompt_tokens": 100, "completion_tokens": None, "total_tokens": None}, (100, None)),
        ({"prompt_tokens": 100, "total_tokens": 100}, (100, None)),
        ({"prompt_tokens": None, "completion_tokens": 20}, (None, 20)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, 0)),
        ({"prompt_tokens": 100, "completion_tokens": 0, "total_tokens": 100}, (100, 0)),
    ],
    ids=str,
)
def test_tokens_that_are_not_reported_are_null(
    usage: Any, tokens: Any, run_agent: RunAgent
) -> None:
    body = without_usage() | ({} if usage == "missing" else {"usage": usage})
    run = run_agent(Reply(json.dumps(body).encode()))
    found = run.steps[0].usage
    assert (found and (found.input_tokens, found.output_tokens)) == tokens
