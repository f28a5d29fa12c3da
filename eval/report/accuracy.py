"""Accuracy by question: what the report's heat map shows."""

from __future__ import annotations

from collections import Counter

from bothends.eval.metrics import VALUES, counted
from bothends.eval.report.heat_chart import HeatRow, heat_chart
from bothends.eval.report.source import ReportInput, groups

__all__ = ["accuracy_charts"]

_SIZES = ((1180, 60), (360, 24))
"""Width and columns: on a wide screen, and on a narrow one."""


def accuracy_charts(source: ReportInput) -> list[str]:
    """Return the heat map for a wide and for a narrow screen; none without several questions."""
    asked = list({question.id: question for question in source.questions}.values())
    rows = []
    for group in groups(source):
        kept = counted(group.trials)
        tried = Counter(trial.key.question_id for trial in kept)
        valid = Counter(trial.key.question_id for trial in kept if VALUES["ex"](trial))
        if kept:
            rows.append(
                HeatRow(group.name, [tried[q.id] for q in asked], [valid[q.id] for q in asked])
            )
    if not rows or len(asked) < 2:
        return []
    names = [f"{question.id} {question.title}".strip() for question in asked]
    return [heat_chart(names, rows, *size) for size in _SIZES]
