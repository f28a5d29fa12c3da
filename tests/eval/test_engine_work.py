"""What the engine did for a query stands beside what it did for gold."""

from __future__ import annotations

from typing import Any

from bothends.engines.facts import EngineFacts
from bothends.eval.record import Gold, Trial
from bothends.eval.report.engine_work import engine_work
from bothends.eval.report.source import ReportInput

from .reports import QUESTIONS, make_input, make_model
from .trials import make_trial

SPEC = "openai:gpt-4o"
GOLD = EngineFacts(read_bytes=4_000_000, shuffle_write_bytes=100_000, plan_digest="a")


def trial(facts: EngineFacts | None, replica: int, **changes: Any) -> Trial:
    made = make_trial(model=SPEC, question_id="q1", replica=replica, **changes)
    steps = tuple(
        step.model_copy(update={"facts": facts if step.name == "run_query" else None})
        for step in made.steps
    )
    return made.model_copy(update={"steps": steps})


def report(*trials: Trial, gold: EngineFacts | None = GOLD) -> ReportInput:
    record = Gold(
        suite="tpch",
        question_id="q1",
        engine="spark",
        scale_factor=0.01,
        fingerprint="f",
        sql="SELECT 1",
        status="ok",
        facts=gold,
    )
    return make_input(
        [make_model(SPEC)], trials, questions=QUESTIONS[:1], replicas=3, golds=[record]
    )


def values(source: ReportInput) -> dict[str, object]:
    table = engine_work(source)
    assert table is not None
    (row,) = table.rows
    return {column.key: cell.value for column, cell in zip(table.columns, row, strict=True)}


def test_medians_and_their_ratios_to_gold() -> None:
    source = report(
        trial(EngineFacts(read_bytes=8_000_000, shuffle_write_bytes=900_000, plan_digest="b"), 0),
        trial(EngineFacts(read_bytes=6_000_000, shuffle_write_bytes=1_500_000, plan_digest="b"), 1),
        trial(EngineFacts(read_bytes=9_000_000, shuffle_write_bytes=1_200_000, plan_digest="b"), 2),
    )
    found = values(source)
    assert (found["read_mb"], found["read_ratio"]) == (8.0, 2.0)
    assert (found["shuffle_mb"], found["shuffle_ratio"]) == (1.2, 12.0)
    assert (found["valid"], found["plan"], found["spill_mb"]) == (1.0, "another", None)
    table = engine_work(source)
    assert table is not None
    assert table.notes == (
        "Right, but shuffles ten times as much as gold or more: gpt-4o on q1 (12.0 times).",
    )


def test_one_that_is_wrong_is_not_called_right() -> None:
    facts = EngineFacts(read_bytes=1, shuffle_write_bytes=5_000_000, plan_digest="a")
    table = engine_work(report(trial(facts, 0, error_class="D")))
    assert table is not None
    assert table.notes == ()
    assert values(report(trial(facts, 0, error_class="D")))["plan"] == "gold's"


def test_what_is_not_known_is_left_out() -> None:
    assert engine_work(report(trial(None, 0))) is None
    assert engine_work(report(trial(GOLD, 0, status="failed", error="no"))) is None
    found = values(report(trial(GOLD, 0), gold=None))
    assert (found["read_mb"], found["read_ratio"], found["plan"]) == (4.0, None, "")
    # Gold that shuffles nothing has no ratio.
    still = EngineFacts(read_bytes=4_000_000, shuffle_write_bytes=0, plan_digest="a")
    assert values(report(trial(GOLD, 0), gold=still))["shuffle_ratio"] is None
