"""What a model does wrong over HTTP: fed back to it, or the trial's own end with its cause."""

from __future__ import annotations

import json
import re

import pytest

from bothends.agent.stages import total_usage

from .conftest import COUNT, RunAgent
from .server import Call, FaultyServer, Reply, call, calls, said, texts

ANSWER = calls(call("run_query", sql=COUNT), usage=(100, 20))
CUT_CALL = ("run_query", '{"sql": "SELECT COUNT(*) FR')

FED_BACK: dict[str, tuple[tuple[Call, ...], str]] = {
    "arguments that are not JSON": ((CUT_CALL,), "the arguments are not valid JSON: .*COUNT"),
    "a tool that does not exist": ((call("drop_tables"),), "there is no tool 'drop_tables'"),
    "a tool without a name": ((("", "{}"),), "there is no tool ''"),
    "no argument": ((call("run_query"),), "do not fit run_query: sql: Field required"),
    "null for arguments": ((("run_query", "null"),), "do not fit run_query: sql"),
    "a number for text": ((call("run_query", sql=5),), "do not fit run_query: sql: .*string"),
    "an object for text": ((call("run_query", sql={"a": 1}),), "do not fit run_query: sql"),
    "a table that does not exist": ((call("get_schema", tables=["itme"]),), "itme"),
}


@pytest.mark.parametrize(("made", "told"), FED_BACK.values(), ids=FED_BACK)
def test_a_call_that_cannot_be_made_is_fed_back(
    made: tuple[Call, ...], told: str, server: FaultyServer, run_agent: RunAgent
) -> None:
    run = run_agent(calls(*made), ANSWER)
    assert run.status == "ok", run.error
    (answer,) = texts(server.requests[1], "tool")
    assert re.search(told, answer), answer
    assert "pydantic" not in answer
    failed = next(step for step in run.steps if step.kind == "tool")
    assert failed.error
    for sent in server.requests[1]["messages"]:
        for sent_call in sent.get("tool_calls") or ():
            # Servers with a chat template parse them, and refuse the conversation otherwise.
            assert isinstance(json.loads(sent_call["function"]["arguments"]), dict)


def test_each_call_of_a_turn_is_answered(server: FaultyServer, run_agent: RunAgent) -> None:
    run = run_agent(calls(CUT_CALL, call("list_tables"), call("nonsense")), ANSWER)
    assert run.status == "ok"
    sent = server.requests[1]["messages"]
    made = [made["id"] for each in sent for made in each.get("tool_calls") or ()]
    answered = [each["tool_call_id"] for each in sent if each["role"] == "tool"]
    assert sorted(made) == sorted(answered)
    assert len(made) == 3


def test_a_call_that_was_cut_is_fed_back_with_the_reason(
    server: FaultyServer, run_agent: RunAgent
) -> None:
    run = run_agent(calls(CUT_CALL, finish_reason="length"), ANSWER)
    assert run.status == "ok"
    assert "ended at its token limit" in texts(server.requests[1], "tool")[0]


ENDS: dict[str, tuple[Reply, str]] = {
    "cut": (said("First I would", finish_reason="length"), "cut at its token limit .*First I"),
    "cut while thinking": (said("", finish_reason="length"), "cut at its token limit .*empty"),
    "empty": (said(""), "without running a query; the answer is empty"),
    "null": (said(None), "without running a query; the answer is empty"),
    "talk": (said("It is 100."), "without running a query: It is 100"),
    "filtered": (said("", finish_reason="content_filter"), r"withheld the reply \(content_filter"),
    "refused": (said(None, refusal="I will not."), "the model refused: I will not"),
}


@pytest.mark.parametrize(("reply", "cause"), ENDS.values(), ids=ENDS)
def test_a_reply_that_calls_nothing_ends_the_trial(
    reply: Reply, cause: str, server: FaultyServer, run_agent: RunAgent
) -> None:
    run = run_agent(reply)
    assert (run.status, run.sql) == ("no_query", None)
    assert re.search(cause, run.error or ""), run.error
    assert run.steps[0].usage is not None, "it is billed all the same"
    assert len(server.requests) == 1


def test_a_query_that_was_cut_is_not_run(run_agent: RunAgent) -> None:
    # All that would be left of `... WHERE price > 90` is another query, and a valid one.
    cut = said(COUNT, finish_reason="length")
    assert run_agent(cut, run_answer_sql=True).status == "no_query"
    assert run_agent(said(COUNT), run_answer_sql=True).status == "ok"


def test_calls_written_into_the_text(server: FaultyServer, run_agent: RunAgent) -> None:
    written = json.dumps({"name": "run_query", "arguments": {"sql": COUNT}})
    run = run_agent(said('{"name": "list_tables"}'), said(f"<tool_call>{written}</tool_call>"))
    assert run.status == "ok"
    assert [step.calls_from_text for step in run.steps if step.kind == "llm"] == [1, 1]


def test_a_call_in_the_text_that_was_cut_is_none(run_agent: RunAgent) -> None:
    written = json.dumps({"name": "run_query", "arguments": {"sql": COUNT}})
    run = run_agent(said(written[:-12], finish_reason="length"))
    assert run.status == "no_query"
    assert "cut at its token limit" in (run.error or "")


def test_seventeen_calls_in_one_turn(server: FaultyServer, run_agent: RunAgent) -> None:
    run = run_agent(calls(*[call("list_tables")] * 17), ANSWER)
    assert run.status == "ok"
    assert len(texts(server.requests[1], "tool")) == 17
    run = run_agent(calls(*[call("list_tables")] * 8, *[call("run_query", sql=COUNT)] * 9))
    assert (run.status, run.ignored_calls) == ("ok", 8)
    assert sum(step.name == "run_query" for step in run.steps) == 1


def test_the_same_call_for_ever(server: FaultyServer, run_agent: RunAgent) -> None:
    server.answer = lambda _: calls(call("list_tables"), usage=(30, 3))
    run = run_agent(max_turns=7)
    assert run.status == "gave_up"
    assert "within 7 turns" in (run.error or "")
    assert len(server.requests) == 7
    usage = total_usage(run.steps)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (7 * 30, 7 * 3)
