"""Dollars by stage: what each attempt, machine second and unknown adds up to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bothends.agent.record import Step, ToolCall, Usage
from bothends.eval.cost import Priced, describe_pricing, price_steps
from bothends.infra.prices import (
    Machine,
    MachinePricing,
    NoPricing,
    PriceBook,
    Pricing,
    ScanPrice,
    TokenPricing,
)

GPT_4O = TokenPricing("openai", "gpt-4o")  # 2.5, 10 and (cached) 1.25 dollars a million
MACHINE = Machine("test.large", 3.6, "a test")  # 0.001 dollars a second


def llm(index: int, turn: int, *tools: str, **changes: Any) -> Step:
    fields: dict[str, Any] = {
        "index": index,
        "kind": "llm",
        "name": "gpt-4o",
        "role": "controller",
        "turn": turn,
        "start_s": 0.0,
        "seconds": 1.0,
        "usage": Usage(input_tokens=1000, output_tokens=100),
        "tool_calls": tuple(ToolCall(name=tool) for tool in tools),
    }
    return Step(**(fields | changes))


def tool(index: int, turn: int, name: str, **changes: Any) -> Step:
    fields = {"index": index, "kind": "tool", "name": name, "turn": turn, "start_s": 0.0}
    return Step(**({**fields, "seconds": 0.5, "engine_s": 0.4} | changes))


def price(
    steps: list[Step],
    overhead_s: float = 0.25,
    pricing: Pricing = GPT_4O,
    checker: Pricing | None = None,
    **changes: Any,
) -> Priced:
    staged_s = sum(step.seconds + step.wait_s for step in steps if step.parent is None)
    fields: dict[str, Any] = {
        "pricing": pricing,
        "checker_pricing": checker or pricing,
        "prices": PriceBook.load(),
        "machine": MACHINE,
        "billing": "busy",
    }
    return price_steps(steps, staged_s + overhead_s, overhead_s, **(fields | changes))


def trial() -> list[Step]:
    """A turn of two calls, one that was tried twice and is checked, and the last."""
    return [
        llm(0, 0, "list_tables", "get_schema"),
        tool(1, 0, "list_tables"),
        tool(2, 0, "get_schema", engine_s=0.0),
        llm(3, 1, usage=None, error="429", seconds=0.25, wait_s=0.75),
        llm(4, 1, "check_query", usage=Usage(input_tokens=2001, output_tokens=100)),
        tool(5, 1, "check_query", seconds=2.0, engine_s=0.0),
        llm(6, 1, parent=5, role="checker", seconds=1.5),
        llm(7, 2, "run_query", usage=Usage(input_tokens=4000, output_tokens=50)),
        tool(8, 2, "run_query", seconds=1.0, engine_s=0.9),
    ]


def test_stages_of_a_trial() -> None:
    stages, cost, _ = price(trial())
    assert list(stages) == ["list", "schema", "check", "run"]
    assert [stage.seconds for stage in stages.values()] == pytest.approx([1.0, 1.0, 4.0, 2.0])
    assert [stage.llm_s for stage in stages.values()] == pytest.approx([0.5, 0.5, 3.5, 1.0])
    assert [stage.engine_s for stage in stages.values()] == pytest.approx([0.4, 0, 0, 0.9])
    # 1000 and 100 tokens are 0.0035 dollars.
    assert [stage.llm_usd for stage in stages.values()] == pytest.approx(
        [0.00175, 0.00175, 0.0060025 + 0.0035, 0.0105]
    )
    assert [stage.engine_usd for stage in stages.values()] == pytest.approx([0.0004, 0, 0, 0.0009])
    assert cost.usd == pytest.approx(0.0035 * 2 + 0.0060025 + 0.0105 + 0.0013)
    assert cost.llm_usd == sum(stage.llm_usd or 0.0 for stage in stages.values())
    assert cost.engine_usd == sum(stage.engine_usd or 0.0 for stage in stages.values())
    assert cost.llm_priced_by.startswith("openai:gpt-4o per token (genai-prices ")
    assert cost.engine_priced_by == "test.large at $3.6/h, busy seconds"


def test_each_step_has_its_dollars_and_they_add_up_to_the_stages() -> None:
    _, cost, by_step = price(trial())
    # The first turn's 1000 and 100 tokens; 0.4 s of the engine; nothing of it in get_schema.
    assert by_step[:3] == pytest.approx((0.0035, 0.0004, 0.0))
    # A failed attempt that reported no tokens; the check; its tool; the checker inside it.
    assert by_step[3:7] == pytest.approx((0.0, 0.0060025, 0.0, 0.0035))
    assert by_step[7:] == pytest.approx((0.0105, 0.0009))
    assert sum(usd or 0 for usd in by_step) == pytest.approx(cost.usd)
    # By the wall each second outside of another step is charged, back-off too; overhead is none's.
    stages, cost, by_step = price(trial(), billing="wall")
    assert by_step[:3] == pytest.approx((0.0045, 0.0005, 0.0005))
    assert by_step[3:7] == pytest.approx((0.001, 0.0070025, 0.002, 0.0035))
    assert sum(usd or 0 for usd in by_step) == pytest.approx(
        sum(stage.usd or 0 for stage in stages.values())
    )
    assert cost.usd == pytest.approx(sum(usd or 0 for usd in by_step) + 0.00025)


def test_what_a_step_scans_is_its_own_and_unknown_is_none() -> None:
    steps = [llm(0, 0, "run_query"), tool(1, 0, "run_query", scans_bytes=(1024**4, 1024**3))]
    _, _, by_step = price(steps, machine=SCAN)
    assert by_step == pytest.approx((0.0035, 4 + 4 / 1024))
    untold = steps[1].model_copy(update={"scans_bytes": (None,)})
    _, _, by_step = price([steps[0], untold], machine=SCAN)
    assert by_step == (pytest.approx(0.0035), None)


def test_shared_tokens_are_whole_and_add_up() -> None:
    usage = Usage(input_tokens=1001, output_tokens=7, cache_read_tokens=5)
    steps = [llm(0, 0, "list_tables", "get_schema", "run_query", usage=usage)]
    stages, cost, _ = price(steps)
    parts = [stage.usage for stage in stages.values()]
    assert [part.input_tokens for part in parts if part] == [334, 333, 334]
    total = sum((part for part in parts if part), Usage(input_tokens=0, output_tokens=0))
    assert total == usage
    assert cost.llm_usd == pytest.approx((996 * 2.5 + 5 * 1.25 + 7 * 10) / 1e6)


def test_wall_billing_charges_all_of_the_trial() -> None:
    stages, cost, _ = price(trial(), billing="wall")
    assert stages["check"].engine_usd == pytest.approx(0.004)
    assert cost.engine_usd == pytest.approx(8.25 * 0.001)
    assert cost.engine_priced_by.endswith("wall seconds")
    staged = sum(stage.engine_usd or 0.0 for stage in stages.values())
    assert cost.engine_usd == staged + 0.25 * 3.6 / 3600


def test_missing_usage_is_unknown_not_free() -> None:
    steps = [llm(0, 0, "list_tables", usage=None), llm(1, 1, "run_query")]
    stages, cost, _ = price(steps)
    assert stages["list"].usage is None
    assert (stages["list"].llm_usd, stages["list"].usd, stages["list"].engine_usd) == (
        None,
        None,
        0,
    )
    assert stages["run"].llm_usd == pytest.approx(0.0035)
    assert (cost.llm_usd, cost.usd, cost.engine_usd) == (None, None, 0.0)


def test_a_failed_attempt_is_charged_what_it_reported() -> None:
    failed = llm(0, 0, usage=None, error="timeout")
    answered = llm(1, 0, "run_query")
    stages, cost, _ = price([failed, answered])
    assert cost.llm_usd == pytest.approx(0.0035)
    assert stages["run"].usage == Usage(input_tokens=1000, output_tokens=100)
    reported = failed.model_copy(update={"usage": answered.usage})
    assert price([reported, answered])[1].llm_usd == pytest.approx(0.007)


def test_an_unknown_price_is_null() -> None:
    _, cost, _ = price(trial(), pricing=TokenPricing("openai", "no-such-model"))
    assert (cost.llm_usd, cost.usd) == (None, None)
    assert cost.llm_priced_by == "not priced: no price is known for openai:no-such-model"
    _, cost, _ = price(trial(), pricing=NoPricing("a script"))
    assert (cost.llm_usd, cost.llm_priced_by) == (None, "not priced: a script")


def test_a_served_model_is_priced_by_its_seconds() -> None:
    gpu = MachinePricing("g5.xlarge", 1.006)
    stages, cost, _ = price(trial(), pricing=gpu)
    # Every attempt's seconds, without the wait: 1 + 0.25 + 1 + 1.5 + 1.
    assert cost.llm_usd == pytest.approx(4.75 * 1.006 / 3600)
    assert cost.llm_priced_by.startswith("g5.xlarge at $1.006/h")
    assert stages["check"].llm_usd == pytest.approx(2.75 * 1.006 / 3600)


def test_the_checker_has_a_price_of_its_own() -> None:
    stages, cost, _ = price(trial(), checker=TokenPricing("openai", "gpt-4o-mini"))
    # 0.15 and 0.6 dollars a million.
    assert stages["check"].llm_usd == pytest.approx(0.0060025 + 0.00021)
    assert "; checker: openai:gpt-4o-mini per token" in cost.llm_priced_by
    assert price(trial(), checker=NoPricing("a script"))[1].usd is None


def test_every_call_is_priced_alone_where_long_prompts_cost_more() -> None:
    pricing = TokenPricing("google", "gemini-2.5-pro")
    usage = Usage(input_tokens=150_000, output_tokens=0)
    _, cost, _ = price([llm(0, 0, usage=usage), llm(1, 1, usage=usage)], pricing=pricing)
    # 1.25 dollars a million up to 200,000 tokens of a prompt, 2.5 above.
    assert cost.llm_usd == pytest.approx(0.375)


def test_estimated_tokens_mark_the_cost() -> None:
    usage = Usage(input_tokens=1, output_tokens=1, estimated=True)
    assert price([llm(0, 0, usage=usage)])[1].estimated
    assert not price(trial())[1].estimated


def test_a_trial_without_steps_costs_nothing_but_its_wall_time() -> None:
    assert price([])[1].usd == 0.0
    assert price([], billing="wall")[1].usd == pytest.approx(0.00025)


def test_seconds_that_do_not_add_up_are_a_fault() -> None:
    with pytest.raises(ValueError, match="are not"):
        price_steps(
            trial(),
            1.0,
            0.0,
            pricing=GPT_4O,
            checker_pricing=GPT_4O,
            prices=PriceBook.load(),
            machine=MACHINE,
            billing="busy",
        )


def test_pricing_in_words() -> None:
    book = PriceBook.load()
    assert describe_pricing(NoPricing("told the SQL"), book) == "not priced: told the SQL"
    assert describe_pricing(MachinePricing("a machine", 0.35), book) == (
        "a machine at $0.35/h, seconds of calls"
    )


def test_embedding_is_priced_by_its_own_price_and_unknown_without_one(tmp_path: Path) -> None:
    usage = Usage(input_tokens=500_000, output_tokens=0, estimated=True)
    linking = tool(0, 0, "link_tables", usage=usage, priced_as="openai:small", engine_s=0.0)
    steps = [linking, llm(1, 0, "run_query"), tool(2, 0, "run_query")]
    stages, cost, _ = price(steps)
    assert (stages["schema"].llm_usd, cost.llm_usd, cost.usd) == (None, None, None)
    book = tmp_path / "prices.yaml"
    book.write_text("models:\n  openai:small: {input_usd_per_mtok: 0.02, output_usd_per_mtok: 0}\n")
    stages, cost, _ = price(steps, prices=PriceBook.load(book))
    assert stages["schema"].llm_usd == pytest.approx(0.01)
    assert stages["schema"].llm_s == 0
    # 1,000 tokens in and 100 out at 2.5 and 10 dollars a million.
    assert cost.llm_usd == pytest.approx(0.01 + 0.0025 + 0.001)
    own = linking.model_copy(update={"priced_as": None})
    assert price([own, *steps[1:]])[1].llm_usd == pytest.approx(0.0035)


SCAN = ScanPrice("lake", 4.0, 10, "a test")  # 4 dollars for 1024 ** 4 bytes, 10 MB at least


@pytest.mark.parametrize("billing", ["busy", "wall"])
def test_scans_are_priced_by_their_bytes(billing: str) -> None:
    gb = 1024**3
    steps = [
        llm(0, 0, "check_query", "run_query"),
        tool(1, 0, "check_query", engine_s=0.0),
        tool(2, 0, "run_query", seconds=1.0, engine_s=0.9, scanned_bytes=256 * gb),
    ]
    stages, cost, _ = price(steps, machine=SCAN, billing=billing)
    assert (stages["check"].engine_usd, stages["run"].engine_usd) == (0, pytest.approx(1.0))
    assert cost.engine_usd == pytest.approx(1.0)
    assert cost.usd == pytest.approx(1.0035)
    small = [steps[2].model_copy(update={"scanned_bytes": 1})]
    assert price(small, machine=SCAN)[1].engine_usd == 4.0 * 10 / 1024**2


def test_each_of_a_steps_queries_is_charged_for_at_least_so_much() -> None:
    mb = 1024**2
    steps = [
        tool(0, 0, "list_tables", scans_bytes=(), scanned_bytes=0),
        tool(1, 0, "get_schema", scans_bytes=(3, 12 * mb + 1, 0), scanned_bytes=12 * mb + 4),
        tool(2, 0, "run_query", scans_bytes=(100 * mb,), scanned_bytes=100 * mb),
    ]
    stages, cost, _ = price(steps, machine=SCAN)
    told = [stage.engine_usd for stage in stages.values()]
    assert told == pytest.approx([0, 4 * (10 + 13 + 10) / 1024**2, 4 * 100 / 1024**2])
    assert cost.engine_usd == pytest.approx(4 * 133 / 1024**2)
    unknown = steps[1].model_copy(update={"scans_bytes": (3, None), "scanned_bytes": None})
    assert price([steps[0], unknown], machine=SCAN)[1].engine_usd is None


def test_bytes_that_no_engine_tells_leave_the_cost_unknown() -> None:
    stages, cost, _ = price(trial(), machine=SCAN)
    # In the second stage, the schema, the engine did not work.
    assert [stage.engine_usd for stage in stages.values()] == [None, 0, 0, None]
    assert (cost.engine_usd, cost.usd) == (None, None)
    assert cost.llm_usd == pytest.approx(0.0035 * 2 + 0.0060025 + 0.0105)
    assert cost.engine_priced_by == (
        "lake at $4 per TB scanned, 10 MB a query at least; "
        "not priced where the engine does not tell what it scanned"
    )


def test_a_cluster_is_priced_by_its_second() -> None:
    cluster = PriceBook.load().engine("emr:m5.xlarge+2xr5.xlarge@0.1?ebs_gb=36")
    # 0.192 + 2 * 0.1 on EC2, 0.048 + 2 * 0.063 for EMR, 3 * 36 GB * 0.08 / 720 of disk.
    usd_per_s = (0.392 + 0.174 + 0.012) / 3600
    assert price(trial(), machine=cluster)[1].engine_usd == pytest.approx(1.3 * usd_per_s)
    wall = price(trial(), machine=cluster, billing="wall")[1]
    assert wall.engine_usd == pytest.approx(8.25 * usd_per_s)
