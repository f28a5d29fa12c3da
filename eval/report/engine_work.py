"""What the engine did for each query, beside what it did for gold: the second end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median

from bothends.engines.facts import EngineFacts
from bothends.eval.carry import run_step
from bothends.eval.metrics import counted
from bothends.eval.report.format import number
from bothends.eval.report.source import ReportInput, split
from bothends.eval.report.table import MODEL, Cell, Column, Table, name_cell

__all__ = ["engine_work"]

_MB = 1_000_000
_MUCH = 10.0
_Fact = Callable[[EngineFacts], int | None]


def engine_work(source: ReportInput) -> Table | None:
    """What each query read and shuffled, by question and configuration, beside gold's.

    Of several trials the medians. None where the engine tells nothing.
    """
    gold = {
        (record.question_id, record.scale_factor): record.facts
        for run in source.runs
        for record in run.golds
    }
    of_question = split(source, lambda trial: trial.key.question_id)
    rows = []
    much = []
    for question in source.questions:
        for group in of_question.get(question.id, ()):
            executed = [trial for trial in counted(group.trials) if trial.status == "ok"]
            steps = [step for trial in executed if (step := run_step(trial)) is not None]
            told = [step.facts for step in steps if step.facts is not None]
            if not told:
                continue
            theirs = gold.get((question.id, group.scale_factor))
            read, read_ratio = _beside(told, theirs, lambda facts: facts.read_bytes)
            shuffled, ratio = _beside(told, theirs, lambda facts: facts.shuffle_write_bytes)
            spilled = _middle(told, lambda facts: facts.spill_disk_bytes)
            if group.valid and ratio is not None and ratio >= _MUCH:
                much.append(f"{group.name} on {question.id} ({number(ratio)} times)")
            rows.append(
                (
                    Cell(question.id),
                    name_cell(group),
                    Cell(float(group.valid / len(group.trials))),
                    Cell(_mb(read)),
                    Cell(read_ratio),
                    Cell(_mb(shuffled)),
                    Cell(ratio),
                    Cell(_mb(spilled)),
                    Cell(_middle(told, lambda facts: facts.stages)),
                    Cell(_middle(told, lambda facts: facts.tasks)),
                    Cell(_same_plan(told, theirs)),
                )
            )
    if not any(cell.value is not None for row in rows for cell in row[3:]):
        return None
    named = ", ".join(much)
    notes = (f"Right, but shuffles ten times as much as gold or more: {named}.",) if much else ()
    return Table("engine_work", "What the engine did, beside gold", _COLUMNS, tuple(rows), notes)


def _beside(
    told: Iterable[EngineFacts], gold: EngineFacts | None, fact: _Fact
) -> tuple[float | None, float | None]:
    """Return the median of a fact, and how many times gold's it is."""
    ours = _middle(told, fact)
    theirs = fact(gold) if gold is not None else None
    return ours, ours / theirs if ours is not None and theirs else None


def _middle(told: Iterable[EngineFacts], fact: _Fact) -> float | None:
    values = [value for facts in told if (value := fact(facts)) is not None]
    return float(median(values)) if values else None


def _same_plan(told: Iterable[EngineFacts], gold: EngineFacts | None) -> str:
    if gold is None or gold.plan_digest is None:
        return ""
    same = [facts.plan_digest == gold.plan_digest for facts in told]
    return "gold's" if all(same) else "another" if not any(same) else "both"


def _mb(value_bytes: float | None) -> float | None:
    return None if value_bytes is None else value_bytes / _MB


_COLUMNS = (
    Column("question_id", "Question", kind="text", identifies=True),
    MODEL,
    Column("valid", "Valid", help="Share of the trials that are valid.", kind="rate"),
    Column("read_mb", "Read", unit="MB", help="Bytes that the engine read from tables' files."),
    Column("read_ratio", "Read", unit="of gold's", help="The same over what gold's query read."),
    Column("shuffle_mb", "Shuffle", unit="MB", help="Bytes that tasks wrote for other tasks."),
    Column("shuffle_ratio", "Shuffle", unit="of gold's", help="The same over gold's."),
    Column("spill_mb", "Spill", unit="MB", help="Bytes on disk that did not fit into memory."),
    Column("stages", "Stages", help="Stages that ran.", kind="count", secondary=True),
    Column("tasks", "Tasks", help="Tasks that ran.", kind="count", secondary=True),
    Column(
        "plan",
        "Plan",
        help="Whether the engine's physical plan is that of gold's query.",
        kind="text",
        secondary=True,
    ),
)
