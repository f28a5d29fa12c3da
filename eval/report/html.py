"""The report as one HTML file that opens anywhere, offline, and asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from bothends.agent.record import STAGES, Step
from bothends.eval.record import Trial
from bothends.eval.report.answer import headline
from bothends.eval.report.caveats import caveats
from bothends.eval.report.chart import Point, scatter
from bothends.eval.report.format import DASH
from bothends.eval.report.source import Group, ReportInput, groups
from bothends.eval.report.table import MARKS, Basis, Mark
from bothends.eval.report.tables import tables
from bothends.eval.report.words import plural
from bothends.infra.errors import RecordError

__all__ = ["write_html"]

LONGEST_TEXT, SHORTEST_TEXT, ALL_TEXT = 4_000, 200, 20_000_000
"""Characters of a step's text that the report keeps: as many as all of them together allow,
within bounds. The record keeps texts whole."""
COLORS = 8


def write_html(source: ReportInput, path: Path) -> Path:
    """Write the report; the same content gives the same bytes.

    Args:
        source: The run.
        path: The file to write.

    Returns:
        The file.

    Raises:
        RecordError: If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A model can write half a surrogate pair, which UTF-8 cannot hold.
        path.write_bytes(_render(source).encode("utf-8", "replace"))
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _render(source: ReportInput) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    found = groups(source)
    points = _points(found)
    first, *others = headline(source)
    return environment.from_string(_file("report.html")).render(
        source=source,
        first=first,
        others=others,
        caveats=caveats(source),
        terms=_terms(source),
        tables=tables(source),
        marks=MARKS,
        dash=DASH,
        charts=[Markup(scatter(points, *size)) for size in ((640, 380), (360, 320))]  # noqa: S704
        if points
        else [],
        unplaced=[_signed(group) for group in found if group.summary.cvq.mean is None],
        style=Markup(_file("report.css")),  # noqa: S704
        script=Markup(script),  # noqa: S704
        script_digest=digest,
        data=Markup(_json(_data(source, found))),  # noqa: S704
    )


def _file(name: str) -> str:
    return resources.files("bothends.eval.report").joinpath(name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """Return JSON that can stand in a script element: no text of it can close the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _points(found: Sequence[Group]) -> list[Point]:
    return [
        Point(_signed(group), group.summary.e2e_s.mean, group.summary.cvq.mean, 1 + i % COLORS)
        for i, group in enumerate(found)
        if group.summary.e2e_s.mean is not None and group.summary.cvq.mean is not None
    ]


def _signed(group: Group) -> str:
    """Return a model's name with the signs of what it is and what its dollars rest on."""
    basis = Basis.of(group)
    signs = "".join(MARKS[mark][0] for mark in (*basis.dollars, *basis.name))
    return f"{group.name} {signs}".rstrip()


def _terms(source: ReportInput) -> list[tuple[str, str]]:
    scale = "" if source.scale_factor is None else f", scale factor {source.scale_factor:g}"
    versions = ", ".join(f"{name} {version}" for name, version in source.versions.items())
    questions = plural(len(source.questions), "question")
    terms = [
        ("Suite", f"{source.suite}{scale}"),
        ("Engine", source.engine),
        ("Priced as", f"{source.machine}, billing {source.billing}"),
        ("Recipe", source.recipe),
        ("Asked", f"{questions}, {plural(source.replicas, 'replica')} each"),
        ("Timing", source.regimen),
        ("Prices", source.prices),
        ("Hardware", source.hardware),
        ("Ran", f"{_minute(source.started)} to {_minute(source.finished)}"),
        ("Versions", versions),
    ]
    return [(name, text) for name, text in terms if text]


def _minute(moment: str | None) -> str:
    """Return an ISO moment to the minute, as it is read."""
    return DASH if moment is None else moment[:16].replace("T", " ")


def _data(source: ReportInput, found: Sequence[Group]) -> dict[str, Any]:
    names = {group.model.spec: group.name for group in found}
    steps = sum(len(trial.steps) for trial in source.trials)
    longest = min(LONGEST_TEXT, max(SHORTEST_TEXT, ALL_TEXT // max(steps, 1)))
    return {
        "questions": {
            question.id: {"title": question.title, "text": question.text, "gold": question.gold_sql}
            for question in source.questions
        },
        "models": list(names.values()),
        "trials": [
            _trial(trial, names[trial.key.model], longest)
            for trial in source.trials
            if trial.key.model in names
        ],
    }


def _trial(trial: Trial, name: str, longest: int) -> dict[str, Any]:
    verdict, timing = trial.verdict, trial.timing
    stages = [
        {
            "name": stage,
            "s": cost.seconds,
            "input": cost.usage and cost.usage.input_tokens,
            "output": cost.usage and cost.usage.output_tokens,
            "usd": cost.usd,
        }
        for stage in STAGES
        if (cost := trial.stages.get(stage)) is not None
    ]
    overhead = {"name": "overhead", "s": trial.overhead_s, "input": None, "output": None}
    return {
        "model": name,
        "question": trial.key.question_id,
        "replica": trial.key.replica,
        "status": trial.status,
        "verdict": _verdict(trial),
        "reason": verdict.reason if verdict else "",
        "error": trial.error,
        "sql": trial.sql,
        "columns": trial.columns,
        "rows": trial.first_rows,
        "row_count": trial.row_count,
        "gold_s": timing and timing.gold_median_s,
        "generated_s": timing and timing.generated_median_s,
        "e2e_s": trial.e2e_s,
        "usd": trial.cost.usd,
        "llm_usd": trial.cost.llm_usd,
        "engine_usd": trial.cost.engine_usd,
        "marks": _marks(trial),
        "stages": [*stages, overhead | {"usd": None}],
        "steps": [_step(step, longest) for step in trial.steps],
    }


def _marks(trial: Trial) -> str:
    """Return the signs of what the trial's dollars rest on."""
    applies: dict[Mark, bool] = {
        "estimated": trial.cost.estimated,
        "replayed": trial.replayed,
        "scripted": trial.model_kind == "scripted",
    }
    return "".join(MARKS[mark][0] for mark, holds in applies.items() if holds)


def _verdict(trial: Trial) -> str:
    """Return `exact`, the error class, or `none` for a query that was not judged."""
    if trial.verdict is None:
        return "none"
    return trial.verdict.error_class or "exact"


def _step(step: Step, longest: int) -> dict[str, Any]:
    return {
        "name": step.name,
        "role": step.role or "tool",
        "nested": step.parent is not None,
        "s": step.seconds,
        "wait_s": step.wait_s,
        "input": step.usage and step.usage.input_tokens,
        "output": step.usage and step.usage.output_tokens,
        "text": _cut(step.text, longest),
        "calls": [
            _cut(f"{call.name}({json.dumps(call.arguments, default=str)})", longest)
            for call in step.tool_calls
        ],
        "error": step.error,
    }


def _cut(text: str, longest: int) -> str:
    rest = len(text) - longest
    return text if rest <= 0 else f"{text[:longest]} [{rest:,} characters more]"
