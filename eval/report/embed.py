"""What the page knows of trials: an index of all, and the details of as many as fit.

The index holds one array a column, with the names and the values of `trials.csv`. The details are
layers (see `pack`), cut where the page would grow too large; trials that went wrong come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from bothends.agent.record import STAGES, Stage
from bothends.agent.stages import stage_shares
from bothends.eval.manifest import QuestionTerms
from bothends.eval.record import Gold, Trial
from bothends.eval.report.csv import flat
from bothends.eval.report.helps import HELP
from bothends.eval.report.pack import Layer, pack, pack_layer
from bothends.eval.report.source import Group, ReportInput, groups
from bothends.eval.report.table import MARKS, Basis, Mark
from bothends.eval.report.talk import said
from bothends.eval.transcripts import Transcript
from bothends.infra.text import as_cell

__all__ = ["embedded"]

NUMBERS: Final = (
    "replica",
    "row_count",
    "precision",
    "gold_median_s",
    "generated_median_s",
    "e2e_s",
    "queue_s",
    *(f"{stage}_s" for stage in STAGES),
    "overhead_s",
    *(f"{stage}_usd" for stage in STAGES),
    "llm_usd",
    "engine_usd",
    "usd",
    "input_tokens",
    "output_tokens",
    "retries",
    "retry_s",
)
"""Columns of `trials.csv` that the index holds as they are."""
_SIZES: Final = {"query": 256, "steps": 64, "rows": 32, "talk": 8}
_TOLD: Final = 2_000
"""Trials whose transcripts are read at all: more of them never fit."""


def embedded(source: ReportInput, budget: int) -> dict[str, Any]:
    """Return what the page embeds: the packed index and the layers.

    Args:
        source: The report's content.
        budget: How many characters all of it may have; the index is whole even beyond it.
    """
    trials = [(run, trial) for run in source.runs for trial in run.trials]
    order = sorted(range(len(trials)), key=lambda number: _interest(trials[number][1]))
    # How many fit is only known once they are packed, so the index that tells it comes last.
    index = _index(source)
    left = budget - len(pack(index)) - 8 * len(trials)
    told = _told(source, order[:_TOLD], [trial for _, trial in trials])

    def queries(numbers: Sequence[int]) -> list[Any]:
        return [_query(trials[number][1]) for number in numbers]

    def steps(numbers: Sequence[int]) -> list[Any]:
        return [_steps(trials[number][1]) for number in numbers]

    def rows(numbers: Sequence[int]) -> list[Any]:
        return [_rows(trials[number][1]) for number in numbers]

    def talk(numbers: Sequence[int]) -> dict[str, Any]:
        return _shared([told(number) for number in numbers])

    layers: dict[str, Layer] = {}
    for name, content in (("query", queries), ("steps", steps), ("rows", rows), ("talk", talk)):
        most = order[:_TOLD] if name == "talk" else order
        layers[name] = pack_layer(most, content, _SIZES[name], max(0, left))
        left -= layers[name].characters
    return {
        "index": pack(index | {"order": order}),
        "layers": {
            name: {"size": layer.size, "count": layer.count, "chunks": layer.chunks}
            for name, layer in layers.items()
        },
    }


def _interest(trial: Trial) -> int:
    """Return where a trial comes: those that went wrong first, those that are exact last."""
    if trial.verdict is None or not trial.verdict.focus:
        return 0
    return 2 if trial.verdict.exact else 1


def _index(source: ReportInput) -> dict[str, Any]:
    found = groups(source)
    config = {id(trial): number for number, group in enumerate(found) for trial in group.trials}
    golds: list[dict[str, Any]] = []
    columns: dict[str, list[Any]] = {
        name: [] for name in ("config", "gold", "status", "class", "marks", *NUMBERS)
    }
    for run in source.runs:
        place = {each.id: len(golds) + number for number, each in enumerate(run.questions)}
        results = {gold.question_id: gold for gold in run.golds}
        golds += [_gold(run, question, results.get(question.id)) for question in run.questions]
        for trial in run.trials:
            row = flat(trial)
            columns["config"].append(config[id(trial)])
            columns["gold"].append(place.get(trial.key.question_id))
            columns["status"].append(trial.status)
            columns["class"].append(_class(trial))
            columns["marks"].append(_marks(trial))
            for name in NUMBERS:
                columns[name].append(row[name])
    return {
        "name": source.name,
        "stages": STAGES,
        "help": HELP,
        "configs": [_config(group) for group in found],
        "golds": golds,
        "columns": columns,
    }


def _config(group: Group) -> dict[str, Any]:
    signs = "".join(MARKS[mark][0] for mark in Basis.of(group).name)
    return {
        "name": group.name,
        "label": group.label,
        "spec": group.model.spec,
        "scale": group.scale_factor,
        "signs": signs,
    }


def _gold(run: ReportInput, question: QuestionTerms, gold: Gold | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "run": run.name,
        "id": question.id,
        "title": question.title,
        "text": question.text,
        "database": question.database,
        "difficulty": question.difficulty,
        "evidence": question.evidence,
        "sql": question.gold_sql,
    }
    if gold is not None:
        told |= {
            "columns": gold.columns,
            "rows": [_cells(row) for row in gold.first_rows],
            "row_count": gold.row_count,
            "status": gold.status,
            "error": gold.error,
            "facts": gold.facts and gold.facts.model_dump(exclude_none=True),
            "determinism": gold.determinism if gold.deterministic is False else "",
        }
    return told


def _class(trial: Trial) -> str:
    """Return `exact`, the error class, or nothing for a query that was not judged."""
    return "" if trial.verdict is None else trial.verdict.error_class or "exact"


def _marks(trial: Trial) -> str:
    """Return the signs of what the trial's dollars rest on."""
    applies: dict[Mark, bool] = {
        "estimated": trial.cost.estimated,
        "replayed": trial.replayed,
        "scripted": trial.model_kind == "scripted",
    }
    return "".join(MARKS[mark][0] for mark, holds in applies.items() if holds)


def _query(trial: Trial) -> dict[str, Any]:
    verdict, timing = trial.verdict, trial.timing
    return {
        "sql": trial.sql,
        "error": trial.error,
        "verdict": verdict
        and {
            "focus": verdict.focus,
            "exact": verdict.exact,
            "ordered": verdict.ordered,
            "bird_set": verdict.bird_set,
            "columns": [verdict.gold_columns, verdict.predicted_columns, verdict.columns_found],
            "rows": [verdict.gold_rows, verdict.predicted_rows],
            "empty_gold": verdict.empty_gold,
            "nondeterministic": verdict.gold_nondeterministic,
            "reason": verdict.reason,
        },
        "timings": timing and [timing.gold_s, timing.generated_s],
        "usd": {stage: [cost.llm_usd, cost.engine_usd] for stage, cost in trial.stages.items()},
        "tokens": {
            stage: cost.usage and [cost.usage.input_tokens, cost.usage.output_tokens]
            for stage, cost in trial.stages.items()
        },
    }


def _steps(trial: Trial) -> list[Any]:
    stage_of: dict[int, Stage] = {}
    for stage, shares in stage_shares(trial.steps).items():
        for share in shares:
            stage_of.setdefault(share.step.index, stage)
    # Records from before steps were priced have no dollars of theirs.
    usd = trial.step_usd or (None,) * len(trial.steps)
    return [
        {
            "name": step.name,
            "role": step.role or "tool",
            "stage": stage_of[step.index],
            "nested": step.parent is not None,
            "start_s": _short(step.start_s),
            "seconds": _short(step.seconds),
            "wait_s": _short(step.wait_s),
            "engine_s": _short(step.engine_s),
            "input": step.usage and step.usage.input_tokens,
            "output": step.usage and step.usage.output_tokens,
            "usd": None if cost is None else float(f"{cost:.4g}"),
            "calls": [call.name for call in step.tool_calls],
            "error": step.error,
            "facts": step.facts and step.facts.model_dump(exclude_none=True),
        }
        for step, cost in zip(trial.steps, usd, strict=True)
    ]


def _short(seconds: float) -> float:
    """Return seconds to the microsecond: a timeline shows no more."""
    return round(seconds, 6)


def _rows(trial: Trial) -> dict[str, Any]:
    return {"columns": trial.columns, "rows": [_cells(row) for row in trial.first_rows]}


def _cells(row: Sequence[Any]) -> list[str | None]:
    return [None if cell is None else as_cell(cell) for cell in row]


def _told(
    source: ReportInput, numbers: Sequence[int], trials: Sequence[Trial]
) -> Callable[[int], list[dict[str, Any]]]:
    """Return what gives a trial's conversation, of these trials; read once, run by run."""
    wanted = set(numbers)
    kept: dict[int, Transcript] = {}
    first = 0
    for run in source.runs:
        keys = {trial.key: first + i for i, trial in enumerate(run.trials) if first + i in wanted}
        kept |= {keys[transcript.key]: transcript for transcript in run.transcripts(keys.keys())}
        first += len(run.trials)
    return lambda number: said(trials[number], kept.get(number))


def _shared(talks: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return several conversations with each text once: prompts and schemas are often the same."""
    texts: dict[str, int] = {}
    for talk in talks:
        for entry in talk:
            entry["text"] = texts.setdefault(entry["text"], len(texts))
    return {"texts": list(texts), "talks": talks}
