"""What a trial cost: tokens or serving seconds for the LLM, seconds or scans for the engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from bothends.agent.record import Stage, Step, Usage
from bothends.agent.stages import Share, stage_shares
from bothends.eval.record import Cost, StageCost
from bothends.infra.prices import (
    EnginePrice,
    Machine,
    MachinePricing,
    PriceBook,
    Pricing,
    ScanPrice,
    TokenPricing,
)

__all__ = ["Priced", "describe_engine", "describe_pricing", "price_steps"]


class Priced(NamedTuple):
    """What a trial cost, at three grains.

    Attributes:
        stages: The stages that it went through.
        cost: The whole.
        step_usd: Each step, in their order; None where a price is unknown.
    """

    stages: dict[Stage, StageCost]
    cost: Cost
    step_usd: tuple[float | None, ...]


def price_steps(
    steps: Sequence[Step],
    e2e_s: float,
    overhead_s: float,
    *,
    pricing: Pricing,
    checker_pricing: Pricing,
    prices: PriceBook,
    machine: EnginePrice,
    billing: Literal["busy", "wall"],
) -> Priced:
    """Price each step, each stage and the whole trial (C_e2e of the paper's equation 3).

    Every attempt at an LLM call is priced on its own, since some prices depend on the length of
    one prompt. An attempt that failed and reported no tokens is taken to have failed before its
    first token, and is charged none. What is unknown is null, and so is every sum that it is in.

    Args:
        steps: Every LLM and tool call of the trial.
        e2e_s: T_e2e, in seconds.
        overhead_s: T_e2e minus the stages, in seconds.
        pricing: What the controller is priced by.
        checker_pricing: What the checker is priced by.
        prices: What tokens cost.
        machine: What the engine's work costs, by the second or by the byte scanned.
        billing: `busy` charges the seconds in which the engine worked; `wall` charges all of
            T_e2e, each stage for its own seconds and the total for the overhead's as well. What
            is paid by the byte is the same by both.

    Returns:
        The stages that the trial went through, the whole, which is their exact sum (under
        `wall`, with the overhead's), and the steps, whose sum is the stages', but for rounding.

    Raises:
        ValueError: If the stages and the overhead do not add up to T_e2e.
    """

    def llm_usd(step: Step) -> float | None:
        if step.priced_as is not None:
            provider, _, model = step.priced_as.partition(":")
            return _llm_usd(step, TokenPricing(provider, model), prices)
        by = checker_pricing if step.role == "checker" else pricing
        return _llm_usd(step, by, prices)

    shares_of = {stage: shares for stage, shares in stage_shares(steps).items() if shares}
    usage_of = _split_usage(shares_of)
    stages = {
        stage: _stage_cost(shares, usage_of[stage], llm_usd, machine, billing)
        for stage, shares in shares_of.items()
    }
    staged_s = sum(cost.seconds for cost in stages.values())
    if not math.isclose(staged_s + overhead_s, e2e_s, rel_tol=1e-9, abs_tol=1e-6):
        raise ValueError(f"stages {staged_s} s + overhead {overhead_s} s are not {e2e_s} s")
    engine_usd = _sum([cost.engine_usd for cost in stages.values()])
    if billing == "wall" and engine_usd is not None and isinstance(machine, Machine):
        engine_usd += overhead_s * machine.usd_per_s
    total_llm_usd = _sum([cost.llm_usd for cost in stages.values()])
    llm_priced_by = describe_pricing(pricing, prices)
    if checker_pricing != pricing:
        llm_priced_by += f"; checker: {describe_pricing(checker_pricing, prices)}"
    whole = Cost(
        llm_usd=total_llm_usd,
        engine_usd=engine_usd,
        usd=_sum([total_llm_usd, engine_usd]),
        billing=billing,
        llm_priced_by=llm_priced_by,
        engine_priced_by=describe_engine(machine, billing),
        estimated=any(step.usage is not None and step.usage.estimated for step in steps),
    )
    return Priced(
        stages, whole, tuple(_step_usd(step, llm_usd, machine, billing) for step in steps)
    )


def describe_pricing(pricing: Pricing, prices: PriceBook) -> str:
    """Return what a model is priced by, in words."""
    if isinstance(pricing, MachinePricing):
        return f"{Machine(pricing.machine, pricing.usd_per_hour, '').describe()}, seconds of calls"
    if not isinstance(pricing, TokenPricing):
        return f"not priced: {pricing.reason}"
    name = f"{pricing.provider}:{pricing.model}"
    source = prices.source(pricing.provider, pricing.model)
    if source is None:
        return f"not priced: no price is known for {name}"
    return f"{name} per token ({source})"


def describe_engine(machine: EnginePrice, billing: Literal["busy", "wall"]) -> str:
    """Return what an engine's work is priced by, in words."""
    if isinstance(machine, ScanPrice):
        return f"{machine.describe()}; not priced where the engine does not tell what it scanned"
    return f"{machine.describe()}, {billing} seconds"


def _stage_cost(
    shares: Sequence[Share],
    usage: Usage | None,
    llm_usd: Callable[[Step], float | None],
    machine: EnginePrice,
    billing: Literal["busy", "wall"],
) -> StageCost:
    # A nested step's seconds are inside its parent's; its tokens, and that it is an LLM's, are not.
    seconds = sum(
        (share.step.seconds + share.step.wait_s) * share.fraction
        for share in shares
        if share.step.parent is None
    )
    calls = [share for share in shares if share.step.kind == "llm"]
    embedded = [share for share in shares if share.step.priced_as is not None]
    llm_s = sum((call.step.seconds + call.step.wait_s) * call.fraction for call in calls)
    engine_s = sum(share.step.engine_s * share.fraction for share in shares)
    usd = _sum(
        [
            None if (whole := llm_usd(share.step)) is None else whole * share.fraction
            for share in (*calls, *embedded)
        ]
    )
    if isinstance(machine, Machine):
        engine_usd: float | None = machine.usd_per_s * (engine_s if billing == "busy" else seconds)
    else:
        engine_usd = _scans_usd(shares, machine)
    return StageCost(
        seconds=seconds,
        llm_s=llm_s,
        engine_s=engine_s,
        usage=usage,
        llm_usd=usd,
        engine_usd=engine_usd,
        usd=_sum([usd, engine_usd]),
    )


def _step_usd(
    step: Step,
    llm_usd: Callable[[Step], float | None],
    machine: EnginePrice,
    billing: Literal["busy", "wall"],
) -> float | None:
    whole = (Share(step, 1.0),)
    if isinstance(machine, Machine):
        # A nested step's wall seconds are charged to its parent.
        wall_s = step.seconds + step.wait_s if step.parent is None else 0.0
        engine = machine.usd_per_s * (step.engine_s if billing == "busy" else wall_s)
        engine_usd: float | None = engine
    else:
        engine_usd = _scans_usd(whole, machine)
    asks = step.kind == "llm" or step.priced_as is not None
    return _sum([llm_usd(step) if asks else 0.0, engine_usd])


def _scans_usd(shares: Sequence[Share], price: ScanPrice) -> float | None:
    return _sum(
        [
            None if (whole := price.query_usd(scanned_bytes)) is None else whole * share.fraction
            for share in shares
            for scanned_bytes in _scans_bytes(share.step)
        ]
    )


def _scans_bytes(step: Step) -> tuple[int | None, ...]:
    """Return what each query of a step scanned."""
    if step.scans_bytes is not None:
        return step.scans_bytes
    # In a record from before they were told apart. Where the engine did not work, none was.
    return (step.scanned_bytes,) if step.engine_s or step.scanned_bytes else ()


def _split_usage(shares_of: Mapping[Stage, Sequence[Share]]) -> dict[Stage, Usage | None]:
    """Share the tokens out; a turn's are cut into whole tokens that add up to what it took."""
    usage_of: dict[Stage, Usage | None] = {
        stage: Usage(input_tokens=0, output_tokens=0) for stage in shares_of
    }
    taken: dict[int, float] = {}
    for stage, shares in shares_of.items():
        for share in shares:
            step = share.step
            if step.kind == "tool" or (step.usage is None and step.error is not None):
                continue
            start = taken.get(step.index, 0.0)
            taken[step.index] = end = start + share.fraction
            so_far = usage_of[stage]
            if so_far is None or step.usage is None:
                usage_of[stage] = None
            else:
                usage_of[stage] = so_far + _slice(step.usage, start, end)
    return usage_of


def _slice(usage: Usage, start: float, end: float) -> Usage:
    def cut(count: int | None) -> int | None:
        return None if count is None else round(count * end) - round(count * start)

    return Usage(
        input_tokens=cut(usage.input_tokens),
        output_tokens=cut(usage.output_tokens),
        cache_read_tokens=cut(usage.cache_read_tokens),
        cache_write_tokens=cut(usage.cache_write_tokens),
        reasoning_tokens=cut(usage.reasoning_tokens),
        estimated=usage.estimated,
    )


def _llm_usd(step: Step, pricing: Pricing, prices: PriceBook) -> float | None:
    if isinstance(pricing, MachinePricing):
        return step.seconds * pricing.usd_per_hour / 3600
    if not isinstance(pricing, TokenPricing):
        return None
    if step.usage is None:
        return 0.0 if step.error is not None else None
    return prices.token_usd(
        pricing.provider,
        pricing.model,
        input_tokens=step.usage.input_tokens,
        output_tokens=step.usage.output_tokens,
        cache_read_tokens=step.usage.cache_read_tokens,
        cache_write_tokens=step.usage.cache_write_tokens,
    )


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
