"""Accuracy by difficulty and by database, and the official evaluators' numbers."""

from __future__ import annotations

from collections.abc import Callable

from bothends.eval.manifest import QuestionTerms
from bothends.eval.report.helps import HELP
from bothends.eval.report.source import Group, ReportInput, groups, split
from bothends.eval.report.table import MODEL, Cell, Column, Table, marked, name_cell

__all__ = ["RATES", "SCORED", "VALID", "by_database", "by_difficulty", "official"]

SCORED = Column("scored", "Scored", help=HELP["scored"], kind="count")
VALID = Column("valid", "Valid", help=HELP["valid"], kind="count")
RATES = (
    Column("ex", "EX", help=HELP["ex"], kind="rate"),
    Column("ex_exact", "EX exact", help=HELP["ex_exact"], kind="rate"),
    Column("ex_ordered", "EX ordered", help=HELP["ex_ordered"], kind="rate"),
    Column("ex_set", "EX set", help=HELP["ex_set"], kind="rate"),
)
_EM = Column("em", "EM", help=HELP["em"], kind="rate")
_SOFT_F1 = Column("soft_f1", "Soft-F1", help=HELP["soft_f1"], kind="rate")


def official(source: ReportInput) -> Table | None:
    """EX by set, EM, Soft-F1 and R-VES; None where queries were not looked at for these."""
    if all(trial.exact_match is None and trial.soft_f1 is None for trial in source.trials):
        return None
    rows = tuple(
        (
            name_cell(group),
            Cell(group.summary.counted),
            Cell(group.summary.ex_set.mean),
            Cell(group.summary.em.mean),
            Cell(group.summary.soft_f1.mean),
            marked(group.summary.r_ves),
        )
        for group in groups(source)
    )
    columns = (
        MODEL,
        SCORED,
        RATES[3],
        _EM,
        _SOFT_F1,
        Column("r_ves", "R-VES", help=HELP["r_ves"]),
    )
    timed = any(trial.timing is not None for trial in source.trials)
    few = "R-VES takes the median of the ratios where there are 10 repeats or fewer: BIRD repeats "
    few += "100 times and drops outliers."
    note = few if timed else "Queries were not timed: --repeats gives VES and R-VES."
    return Table("official", "Numbers of the official evaluators", columns, rows, (note,))


def by_difficulty(source: ReportInput) -> Table | None:
    """The rates for each difficulty; None where the suite names none."""
    column = Column("difficulty", "Difficulty", kind="text", identifies=True)
    return _by(source, "by_difficulty", "By difficulty", column, lambda terms: terms.difficulty)


def by_database(source: ReportInput) -> Table | None:
    """The rates for each database; None where the suite has one alone."""
    column = Column("database", "Database", kind="text", identifies=True)
    return _by(source, "by_database", "By database", column, lambda terms: terms.database)


def _by(
    source: ReportInput,
    name: str,
    title: str,
    column: Column,
    value: Callable[[QuestionTerms], str],
) -> Table | None:
    of_question = {question.id: value(question) for question in source.questions}
    values = list(dict.fromkeys(each for each in of_question.values() if each))
    if not values:
        return None
    of_value = split(source, lambda trial: of_question.get(trial.key.question_id, ""))
    rows = tuple(
        (Cell(each), *_rates(group)) for each in values for group in of_value.get(each, ())
    )
    return Table(name, title, (column, MODEL, SCORED, VALID, *RATES, _EM, _SOFT_F1), rows)


def _rates(group: Group) -> tuple[Cell, ...]:
    s = group.summary
    return (
        name_cell(group),
        Cell(s.counted),
        Cell(group.valid),
        *(Cell(rate.mean) for rate in (s.ex, s.ex_exact, s.ex_ordered, s.ex_set, s.em, s.soft_f1)),
    )
