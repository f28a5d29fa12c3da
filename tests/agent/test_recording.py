"""Recording a model's replies and playing them back through the real agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.models.recording import (
    RecordedCall,
    RecordingHeader,
    question_digest,
    read_recording,
)
from bothends.agent.models.recording_writer import RecordingWriter, make_header
from bothends.agent.models.registry import load_model
from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentRun
from bothends.agent.retry import RetryPolicy
from bothends.engines import Engine
from bothends.infra.errors import ReplayError, UsageError
from bothends.infra.prices import MachinePricing, NoPricing, PriceBook, TokenPricing

Telling = Callable[..., Model]
Call = Callable[..., AIMessage]

COUNT = "SELECT COUNT(*) AS n FROM item"


@pytest.fixture(scope="module")
def prices() -> PriceBook:
    return PriceBook.load()


def header(**changes: Any) -> RecordingHeader:
    fields: dict[str, Any] = {
        "model": "openai:small",
        "label": "small",
        "server": "a server of the tests",
        "hardware": "a machine of the tests",
        "date": "2026-01-02",
        "bothends_version": "0.1.0",
        "suite": "shop",
        "engine": "sqlite",
        "scale_factor": None,
        "recipe": "react",
        "text_calls": True,
        "run": "a run of the tests",
    }
    return RecordingHeader(**{**fields, **changes})


def line(case: Case, index: int, text: str = "", **changes: Any) -> RecordedCall:
    return RecordedCall(
        question_id=case.question_id,
        question_sha256=question_digest(case.question),
        replica=case.replica,
        index=index,
        text=text,
        **{"role": "controller", "prompt_sha256": "", "seconds": 1.5, **changes},
    )


def record(path: Path, *lines: RecordedCall, **changes: Any) -> Path:
    with RecordingWriter(path, header(**changes)) as writer:
        for each in lines:
            writer.append(each)
    return path


def replies(model: Model, case: Case) -> str:
    """Call a replayed model without tools until it refuses, and return what it said."""
    chat = model.chat(case)
    said = ""
    try:
        while True:
            said += chat.invoke("?").text
    except ReplayError:
        return said


def whole_run(telling: Telling, call: Call) -> Model:
    return telling(
        [
            call(("list_tables", {}), usage=(100, 10), text="First the tables."),
            AIMessage('{"name": "check_query", "arguments": {"sql": "SELECT 1"}}'),
            call(("run_query", {"sql": COUNT}), usage=(200, 20)),
        ],
        [AIMessage(f"```sql\n{COUNT}\n```")],
        text_calls=True,
    )


def test_plays_a_run_back_as_it_was(
    shop: Engine, telling: Telling, call: Call, case: Case, prices: PriceBook, tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "run.jsonl"
    live = whole_run(telling, call)
    about = make_header(
        live, suite="shop", engine="sqlite", scale_factor=None, recipe="react", server="a stub"
    )
    with RecordingWriter(path, about) as writer:
        first = Agent(shop, live).run(case, callbacks=[writer.handler(case)])
    again = load_model(f"replay:{path}", prices=prices)
    second = Agent(shop, again).run(case)

    def course(run: AgentRun) -> list[Any]:
        return [
            (s.kind, s.role, s.text, s.tool_calls, s.calls_from_text, s.usage) for s in run.steps
        ]

    assert first.status == second.status == "ok"
    assert first.sql == second.sql == COUNT
    assert course(first) == course(second)
    assert (again.kind, again.label, again.text_calls) == ("replay", "telling (replayed)", True)
    calls = read_recording(path).calls(case)
    assert [call.role for call in calls] == ["controller", "controller", "checker", "controller"]
    assert [call.index for call in calls] == [0, 1, 2, 3]
    assert [s.seconds for s in second.steps if s.kind == "llm"] == [c.seconds for c in calls]
    assert all(step.replayed for step in second.steps if step.kind == "llm")
    assert len({call.prompt_sha256 for call in calls}) == 4


def test_a_failed_attempt_leaves_no_line(
    shop: Engine, telling: Telling, call: Call, case: Case, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    live = telling([RuntimeError("broken"), call(("run_query", {"sql": COUNT}))])
    with RecordingWriter(path, header()) as writer:
        run = Agent(shop, live).run(case, callbacks=[writer.handler(case)])
        assert run.status == "provider_error"
        Agent(shop, live).run(case, callbacks=[writer.handler(case)])
    assert [call.tool_calls[0]["name"] for call in read_recording(path).calls(case)] == [
        "run_query"
    ]


def test_replayed_seconds_are_the_recorded_ones(
    shop: Engine, case: Case, prices: PriceBook, tmp_path: Path
) -> None:
    calls = ({"name": "run_query", "args": {"sql": COUNT}, "id": "1"},)
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_token_details": {"cache_read": 4},
        "output_token_details": {"reasoning": 3},
    }
    made = line(case, 0, tool_calls=calls, usage=usage, seconds=1234.5, finish_reason="tool_calls")
    run = Agent(shop, load_model(f"replay:{record(tmp_path / 'r', made)}", prices=prices)).run(case)
    assert run.status == "ok"
    assert run.steps[0].seconds == 1234.5
    assert run.seconds > 1234.5
    recorded = run.steps[0].usage
    assert recorded is not None
    assert (recorded.cache_read_tokens, recorded.reasoning_tokens) == (4, 3)


def test_invalid_calls_are_played_back(case: Case, prices: PriceBook, tmp_path: Path) -> None:
    bad = {"name": "run_query", "args": '{"sql": ', "id": "1", "error": "not JSON"}
    path = record(tmp_path / "r", line(case, 0, role="checker", invalid_tool_calls=(bad,)))
    reply = load_model(f"replay:{path}", prices=prices).chat(case).invoke("?")
    assert [call["args"] for call in reply.invalid_tool_calls] == ['{"sql": ']


def test_the_last_numbering_counts(case: Case, prices: PriceBook, tmp_path: Path) -> None:
    other = replace(case, question_id="q2")
    lines = [
        line(case, 0, "old", role="checker"),
        line(other, 0, "x", role="checker"),
        line(case, 1, "old", role="checker"),
        line(case, 0, "new", role="checker"),
        line(other, 1, "y", role="checker"),
    ]
    model = load_model(f"replay:{record(tmp_path / 'r', *lines)}", prices=prices)
    assert replies(model, case) == "new"
    assert replies(model, other) == "xy"


def test_replicas_beyond_those_recorded_are_refused(
    case: Case, prices: PriceBook, tmp_path: Path
) -> None:
    lines = [line(replace(case, replica=r), 0, f"replica {r}", role="checker") for r in (0, 1, 3)]
    model = load_model(f"replay:{record(tmp_path / 'r', *lines)}", prices=prices)
    said = [replies(model, replace(case, replica=r)) for r in range(3)]
    assert said == ["replica 0", "replica 1", "replica 3"]
    with pytest.raises(ReplayError, match="holds 3 replicas of question 'q1'"):
        model.chat(replace(case, replica=3))


def test_another_course(shop: Engine, case: Case, prices: PriceBook, tmp_path: Path) -> None:
    calls = ({"name": "check_query", "args": {"sql": COUNT}, "id": "1"},)
    path = record(tmp_path / "r", line(case, 0, tool_calls=calls), line(case, 1, role="checker"))
    model = load_model(f"replay:{path}", prices=prices)
    with pytest.raises(ReplayError, match="another course than the recorded one at call 1"):
        Agent(shop, model, recipe=Recipe(check="off")).run(case)
    with pytest.raises(ReplayError, match="at call 2"):
        Agent(shop, model).run(case)


def test_a_question_that_was_not_recorded(case: Case, prices: PriceBook, tmp_path: Path) -> None:
    path = record(tmp_path / "r.jsonl", line(case, 0), line(replace(case, question_id="q3"), 0))
    assert read_recording(path).questions == ("q1", "q3")
    model = load_model(f"replay:{path}", prices=prices)
    with pytest.raises(ReplayError, match="holds no question 'q2'; it holds: q1, q3"):
        model.chat(replace(case, question_id="q2"))
    with pytest.raises(ReplayError, match="another text"):
        model.chat(replace(case, question=case.question + " "))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no recording"),
        (b"", "is no recording"),
        (b"\xff\xfe\x00", "is no recording"),
        (b'{"some": "json"}\n', "is no recording"),
        ((header().model_dump_json() + '\n{"half": 1}\n').encode(), "line 2"),
    ],
)
def test_not_a_recording(
    content: bytes | None, said: str, prices: PriceBook, tmp_path: Path
) -> None:
    path = tmp_path / "r"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReplayError, match=said):
        load_model(f"replay:{path}", prices=prices)


def test_a_directory_is_no_recording(prices: PriceBook, tmp_path: Path) -> None:
    with pytest.raises(
        ReplayError, match="is a directory: name one of the recordings in it: there are none"
    ):
        load_model(f"replay:{tmp_path}", prices=prices)


def test_calls_that_do_not_follow_one_another(case: Case, tmp_path: Path) -> None:
    path = record(tmp_path / "r", line(case, 0), line(case, 2))
    with pytest.raises(ReplayError, match="call 2 of question 'q1'"):
        read_recording(path)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "openai:large"},
        {"suite": "other"},
        {"engine": "spark"},
        {"scale_factor": 1.0},
        {"recipe": "other"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_does_not_write_into_a_recording_of_another_run(
    change: dict[str, Any], tmp_path: Path
) -> None:
    path = record(tmp_path / "r")
    before = path.read_bytes()
    with pytest.raises(ReplayError, match=next(iter(change))):
        RecordingWriter(path, header(**change))
    assert path.read_bytes() == before


def test_does_not_write_into_another_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine, without a line break at its end")
    with pytest.raises(ReplayError, match="is no recording"):
        RecordingWriter(path, header())
    assert path.read_text() == "mine, without a line break at its end"


def test_continues_after_a_line_that_was_cut_short(case: Case, tmp_path: Path) -> None:
    path = record(tmp_path / "r", line(case, 0, "whole"))
    with path.open("a") as file:
        file.write('{"question_id": "q1", "ind')
    assert [call.text for call in read_recording(path).calls(case)] == ["whole"]
    record(path, line(case, 1, "next"), date="2026-02-03")
    assert [call.text for call in read_recording(path).calls(case)] == ["whole", "next"]
    assert read_recording(path).header.date == "2026-01-02", "the first header stays"


def test_each_line_is_on_disk_at_once(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "r"
    with RecordingWriter(path, header()) as writer:
        writer.append(line(case, 0))
        assert len(path.read_text().splitlines()) == 2
        assert json.loads(path.read_text().splitlines()[0])["bothends_recording"] == 1


def test_trials_may_be_recorded_at_the_same_time(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "r"

    def write(question: str) -> None:
        for index in range(50):
            writer.append(line(replace(case, question_id=question), index, "x" * 500))

    with RecordingWriter(path, header()) as writer:
        threads = [Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    recording = read_recording(path)
    assert all(len(recording.calls(replace(case, question_id=name))) == 50 for name in "abcd")


@pytest.mark.parametrize(
    ("priced", "options", "expected"),
    [
        ({}, "", NoPricing),
        ({"price_as": "openai:gpt-4o"}, "", TokenPricing("openai", "gpt-4o")),
        ({"machine": "box", "usd_per_hour": 0.25}, "", MachinePricing("box", 0.25)),
        (
            {"machine": "box", "usd_per_hour": 0.25},
            "?price_as=openai:gpt-4o",
            TokenPricing("openai", "gpt-4o"),
        ),
    ],
)
def test_pricing(
    priced: dict[str, Any], options: str, expected: Any, prices: PriceBook, tmp_path: Path
) -> None:
    path = record(tmp_path / "r", **priced)
    pricing = load_model(f"replay:{path}{options}", prices=prices).pricing
    if expected is NoPricing:
        assert isinstance(pricing, NoPricing)
    else:
        assert pricing == expected


def test_the_header_keeps_what_the_model_was_priced_by(telling: Telling) -> None:
    terms = {"suite": "shop", "engine": "sqlite", "scale_factor": 1.0, "recipe": "react"}
    model = replace(telling([]), pricing=MachinePricing("box", 0.25))
    made = make_header(model, **terms)
    assert (made.machine, made.usd_per_hour, made.price_as) == ("box", 0.25, None)
    made = make_header(replace(model, pricing=TokenPricing("openai", "gpt-4o")), **terms)
    assert (made.machine, made.usd_per_hour, made.price_as) == (None, None, "openai:gpt-4o")


def test_says_that_it_is_a_recording(prices: PriceBook, tmp_path: Path) -> None:
    model = load_model(f"replay:{record(tmp_path / 'r', note='Warm cache.')}", prices=prices)
    assert model.description == (
        "A recording, not a live model: openai:small, served by a server of the tests, recorded "
        "on 2026-01-02 on a machine of the tests; 0 questions, 0 replicas of each. Warm cache."
    )
    with pytest.raises(UsageError, match="takes no option"):
        load_model(f"replay:{tmp_path / 'r'}?temperature=0", prices=prices)


@pytest.mark.parametrize(
    ("spec", "recorded"),
    [
        ("openai:small", "openai:small"),
        ("openai:small?base_url=http://10.1.2.3:8000/v1", "openai:small"),
        ("openai:small?seed=1&base_url=http://10.1.2.3/v1&top_p=1", "openai:small?seed=1&top_p=1"),
    ],
)
def test_an_address_is_not_recorded(spec: str, recorded: str, telling: Telling) -> None:
    model = replace(telling([]), spec=spec)
    made = make_header(model, suite="shop", engine="sqlite", scale_factor=None, recipe="react")
    assert made.model == recorded
    assert "10.1.2.3" not in made.model_dump_json()


def test_a_fault_that_ended_a_trial_ends_its_replay(
    tmp_path: Path, shop: Engine, telling: Callable[..., Model], case: Case, prices: PriceBook
) -> None:
    overflow = RuntimeError("400: this request exceeds the available context size (8192 tokens)")
    passing = ConnectionError("reset")
    looking = AIMessage(
        "", tool_calls=[{"name": "list_tables", "args": {}, "id": "1", "type": "tool_call"}]
    )
    policy = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)
    model = telling([passing, looking, overflow])
    file = tmp_path / "r.jsonl"
    with RecordingWriter(file, header()) as writer:
        recorded = Agent(shop, model, retry=policy).run(case, callbacks=[writer.handler(case)])
    replayed = Agent(shop, load_model(f"replay:{file}", prices=prices)).run(case)
    assert (replayed.status, replayed.error) == (recorded.status, recorded.error)
    assert replayed.status == "gave_up"
    assert [step.name for step in replayed.steps if step.kind == "tool"] == ["list_tables"]
