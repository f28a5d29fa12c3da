"""A small factory of synthetic trials, for tests of metrics and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bothends.agent.record import ModelKind, Stage, Step, ToolCall, Usage
from bothends.eval.record import (
    Cost,
    ErrorClass,
    StageCost,
    Status,
    Timing,
    Tolerance,
    Trial,
    TrialKey,
    Verdict,
)

SECONDS: Mapping[Stage, float] = {"list": 0.5, "schema": 1.0, "check": 2.0, "run": 0.5}


def make_verdict(error_class: ErrorClass | None = None, **changes: Any) -> Verdict:
    """Return a verdict on four gold columns and three gold rows, by its class."""
    exact = error_class is None
    focus = error_class in (None, "C")
    predicted_columns = {"B": 3, "C": 5}.get(error_class or "", 4)
    found = 4 if focus else {"A": 0, "B": 3, "D": 2}[str(error_class)]
    fields: dict[str, Any] = {
        "focus": focus,
        "exact": exact,
        "ordered": exact,
        "bird_set": exact,
        "error_class": error_class,
        "gold_columns": 4,
        "predicted_columns": predicted_columns,
        "columns_found": found,
        "precision": found / predicted_columns,
        "gold_rows": 3,
        "predicted_rows": 2 if error_class == "A" else 3,
        "tolerance": Tolerance(),
        "reason": "" if exact else f"class {error_class}",
    }
    return Verdict(**(fields | changes))


def make_trial(
    *,
    model: str = "openai:gpt-4o",
    label: str | None = None,
    kind: ModelKind = "hosted",
    question_id: str = "q1",
    replica: int = 0,
    status: Status = "ok",
    error_class: ErrorClass | None = None,
    error: str | None = None,
    sql: str | None = "SELECT 1",
    gold_s: float = 0.2,
    generated_s: float | None = 0.4,
    stage_s: Mapping[Stage, float] = SECONDS,
    overhead_s: float = 0.0,
    usd: float | None = 0.01,
    engine_usd: float | None = 0.0,
    estimated: bool = False,
    replayed: bool = False,
    tokens: tuple[int, int] | None = (1000, 100),
    verdict: Verdict | None = None,
    **changes: Any,
) -> Trial:
    """Return a trial of four stages whose dollars and tokens fall on `check` alone.

    `usd` is the LLM's part of the cost; `engine_usd` falls on `run`. A status other than `ok`
    leaves neither verdict nor timing.
    """
    usage = (
        Usage(input_tokens=tokens[0], output_tokens=tokens[1], estimated=estimated)
        if tokens is not None
        else None
    )
    none_used = Usage(input_tokens=0, output_tokens=0)
    stages: dict[Stage, StageCost] = {}
    for stage, seconds in stage_s.items():
        llm = usd if stage == "check" else 0.0
        engine = engine_usd if stage == "run" else 0.0
        if usd is None:
            llm = None
        stages[stage] = StageCost(
            seconds=seconds,
            llm_s=seconds / 2,
            engine_s=generated_s or 0.0 if stage == "run" else 0.0,
            usage=usage if stage == "check" else none_used,
            llm_usd=llm,
            engine_usd=engine,
            usd=None if llm is None or engine is None else llm + engine,
        )
    executed = status == "ok"
    fields: dict[str, Any] = {
        "key": TrialKey(
            suite="tpch",
            question_id=question_id,
            engine="sqlite",
            scale_factor=0.01,
            model=model,
            checker=None,
            recipe="paper",
            replica=replica,
        ),
        "model_kind": kind,
        "model_label": label or model.partition(":")[2],
        "status": status,
        "error": error,
        "sql": sql,
        "row_count": 3 if executed else None,
        "columns": ("a", "b") if executed else (),
        "first_rows": (("1", None), ("2", "x")) if executed else (),
        "verdict": (verdict or make_verdict(error_class)) if executed else None,
        "timing": Timing(
            gold_s=(gold_s,),
            generated_s=() if generated_s is None else (generated_s,),
            gold_median_s=gold_s,
            generated_median_s=generated_s,
        )
        if executed
        else None,
        "e2e_s": sum(stage_s.values()) + overhead_s,
        "overhead_s": overhead_s,
        "stages": stages,
        "usage": usage,
        "cost": Cost(
            llm_usd=usd,
            engine_usd=engine_usd,
            usd=None if usd is None or engine_usd is None else usd + engine_usd,
            billing="busy",
            llm_priced_by="not priced: no price is known" if usd is None else "per token",
            engine_priced_by="m7i.xlarge at $0.2016/h, busy seconds",
            estimated=estimated,
        ),
        "steps": make_steps(sql, replayed),
        "replayed": replayed,
        "fingerprint": "f1",
        "bothends_version": "0.1.0",
        "started_at": f"2026-01-02T03:04:{replica:02d}Z",
    }
    return Trial(**(fields | changes))


def make_steps(sql: str | None, replayed: bool = False) -> tuple[Step, ...]:
    """Return two turns: one that lists the tables, one that runs the query."""
    names = (("list_tables", {}), ("run_query", {"query": sql}))
    steps: list[Step] = []
    for turn, (name, arguments) in enumerate(names):
        start = turn * 2.0
        steps.append(
            Step(
                index=2 * turn,
                kind="llm",
                name="gpt-4o",
                role="controller",
                turn=turn,
                start_s=start,
                seconds=1.5,
                usage=Usage(input_tokens=500, output_tokens=50),
                tool_calls=(ToolCall(name=name, arguments=arguments),),
                replayed=replayed,
            )
        )
        steps.append(
            Step(
                index=2 * turn + 1,
                kind="tool",
                name=name,
                turn=turn,
                start_s=start + 1.5,
                seconds=0.5,
                engine_s=0.4,
                text="customer, lineitem, orders",
                arguments=arguments,
            )
        )
    return tuple(steps)
