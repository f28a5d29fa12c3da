"""Stage attribution, against shares worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.messages import AIMessage

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.record import Step, ToolCall, Usage
from bothends.agent.stages import stage_shares, top_level_seconds, total_usage
from bothends.engines import Engine


def llm(index: int, turn: int, seconds: float, *calls: str, **more: object) -> Step:
    return Step.model_validate(
        {
            "index": index,
            "kind": "llm",
            "name": "m",
            "role": "controller",
            "turn": turn,
            "start_s": 0.0,
            "seconds": seconds,
            "tool_calls": tuple(ToolCall(name=name) for name in calls),
            **more,
        }
    )


def tool(index: int, turn: int, name: str, seconds: float) -> Step:
    return Step(index=index, kind="tool", name=name, turn=turn, start_s=0.0, seconds=seconds)


def seconds_by_stage(steps: list[Step]) -> dict[str, float]:
    return {
        stage: sum(
            share.fraction * (share.step.seconds + share.step.wait_s)
            for share in shares
            if share.step.parent is None
        )
        for stage, shares in stage_shares(steps).items()
    }


def test_a_turn_belongs_to_the_stage_of_the_tool_it_calls() -> None:
    steps = [
        llm(0, 0, 1.0, "list_tables"),
        tool(1, 0, "list_tables", 0.1),
        llm(2, 1, 2.0, "get_schema"),
        tool(3, 1, "get_schema", 0.2),
        llm(4, 2, 4.0),
    ]
    assert seconds_by_stage(steps) == pytest.approx(
        {"list": 1.1, "schema": 2.2, "check": 0, "run": 0, "answer": 4.0}
    )


def test_a_turn_with_several_calls_is_shared_equally() -> None:
    steps = [
        llm(0, 0, 6.0, "list_tables", "get_schema", "get_schema"),
        tool(1, 0, "list_tables", 0.1),
        tool(2, 0, "get_schema", 0.2),
        tool(3, 0, "get_schema", 0.3),
    ]
    assert seconds_by_stage(steps) == pytest.approx(
        {"list": 2.1, "schema": 4.5, "check": 0, "run": 0, "answer": 0}
    )


def test_failed_attempts_and_their_waits_go_with_their_turn() -> None:
    steps = [
        llm(0, 0, 0.5, wait_s=2.0, error="429"),
        llm(1, 0, 1.0, "run_query"),
        tool(2, 0, "run_query", 3.0),
    ]
    assert seconds_by_stage(steps) == pytest.approx(
        {"list": 0, "schema": 0, "check": 0, "run": 6.5, "answer": 0}
    )


def test_the_checker_counts_to_check_and_its_seconds_only_once() -> None:
    checker = llm(2, 0, 1.5, role="checker", parent=1, usage=Usage(input_tokens=7, output_tokens=3))
    steps = [llm(0, 0, 1.0, "check_query"), tool(1, 0, "check_query", 2.0), checker]
    assert {share.step.index for share in stage_shares(steps)["check"]} == {0, 1, 2}
    assert seconds_by_stage(steps)["check"] == pytest.approx(3.0)
    assert top_level_seconds(steps) == pytest.approx(3.0)


def test_a_call_to_an_unknown_tool_belongs_to_answer() -> None:
    steps = [llm(0, 0, 1.0, "no_such_tool"), tool(1, 0, "no_such_tool", 0.0)]
    assert seconds_by_stage(steps)["answer"] == pytest.approx(1.0)


def test_usage_adds_and_is_null_once_one_call_does_not_report() -> None:
    known = llm(0, 0, 1.0, usage=Usage(input_tokens=10, output_tokens=2, cache_read_tokens=4))
    more = llm(1, 1, 1.0, usage=Usage(input_tokens=5, output_tokens=1))
    silent = llm(2, 2, 1.0)
    failed = llm(3, 2, 1.0, error="reset")
    assert total_usage([known, more, failed]) == Usage(
        input_tokens=15, output_tokens=3, cache_read_tokens=4
    )
    assert total_usage([known, silent]) is None
    assert total_usage([]) is None


def test_stages_and_overhead_make_up_the_whole_of_a_real_trial(
    shop: Engine,
    telling: Callable[..., Model],
    call: Callable[..., AIMessage],
    case: Case,
) -> None:
    sql = "SELECT COUNT(*) FROM item"
    model = telling(
        [
            call(("list_tables", {}), ("get_schema", {"tables": ["item", "sale"]})),
            call(("check_query", {"sql": sql})),
            call(("run_query", {"sql": sql})),
        ],
        [AIMessage(sql)],
    )
    run = Agent(shop, model).run(case)
    # Steps never overlap but for the checker inside its tool, so that the gaps between them are
    # what the harness took: worked out from the timeline, not from the totals.
    top = [step for step in run.steps if step.parent is None]
    gaps, clock_s = 0.0, 0.0
    for step in top:
        assert step.start_s >= clock_s
        gaps += step.start_s - clock_s
        clock_s = step.start_s + step.seconds
    gaps += run.seconds - clock_s
    stages = sum(seconds_by_stage(list(run.steps)).values())
    assert stages + gaps == pytest.approx(run.seconds, abs=1e-3)
    checker = next(step for step in run.steps if step.role == "checker")
    parent = run.steps[checker.parent or 0]
    assert parent.name == "check_query"
    assert parent.start_s <= checker.start_s
    assert checker.start_s + checker.seconds <= parent.start_s + parent.seconds
