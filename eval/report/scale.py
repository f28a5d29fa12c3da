"""The models at each scale factor: what a sweep shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from bothends.eval.outlook import Outlook
from bothends.eval.record import Trial
from bothends.eval.report.breakdown import RATES, SCORED
from bothends.eval.report.helps import HELP
from bothends.eval.report.scale_chart import crossing_words
from bothends.eval.report.source import ReportInput, contenders, groups
from bothends.eval.report.table import MODEL, Basis, Cell, Column, Table, marked, name_cell
from bothends.eval.report.words import plural

__all__ = ["by_scale", "forecast_table", "lost_questions", "outlook_of", "scale_words"]


def by_scale(source: ReportInput) -> Table | None:
    """Accuracy, efficiency and cost of each model, scale factor by scale factor.

    None where there are no several scale factors.
    """
    if len(source.scale_factors) < 2:
        return None
    found = [group.by_label() for group in groups(source) if group.trials]
    labels = list(dict.fromkeys(group.label for group in found))
    found.sort(key=lambda group: (labels.index(group.label), group.scale_factor or 0.0))
    rows = []
    for group in found:
        s, basis = group.summary, Basis.of(group)
        lost = (s.statuses.get("timeout", 0), s.statuses.get("skipped", 0))
        rows.append(
            (
                name_cell(group),
                Cell(group.scale_factor),
                Cell(s.counted),
                marked(s.ex.mean),
                marked(s.ves.mean),
                marked(s.ves_star),
                marked(s.vces, basis.dollars),
                marked(s.cvq, basis.dollars),
                marked(s.llm_usd, basis.dollars),
                marked(s.engine_usd),
                marked(s.burned_usd, basis.dollars),
                marked(s.llm_s),
                marked(s.engine_s),
                *(Cell(count) for count in lost),
            )
        )
    return Table("by_scale", "Models by scale factor", _COLUMNS, tuple(rows))


def lost_questions(source: ReportInput) -> tuple[str, ...]:
    """Return the questions whose gold failed at some scale factor, where there are several.

    They are left out of whatever is compared between scale factors: without them at one and with
    them at another, figures are of different questions.
    """
    if len(source.scale_factors) < 2:
        return ()
    failed = (t.key.question_id for t in source.trials if t.status == "gold_failed")
    return tuple(dict.fromkeys(failed))


@lru_cache(maxsize=2)
def outlook_of(source: ReportInput, beyond: tuple[float, ...] | None = None) -> Outlook | None:
    """Return a sweep's outlook; None where there are no several scale factors, or no one price.

    Args:
        source: The report's content.
        beyond: The scale factors that are forecast; None for the next powers of ten.
    """
    if len(source.scale_factors) < 2 or source.price is None:
        return None
    trials: dict[str, dict[float, Sequence[Trial]]] = {}
    lost = lost_questions(source)
    for group in groups(source):
        kept = tuple(trial for trial in group.trials if trial.key.question_id not in lost)
        if kept and group.scale_factor is not None:
            trials.setdefault(group.label, {})[group.scale_factor] = kept
    return Outlook(
        trials,
        source.price,
        source.timeout_s,
        list(dict.fromkeys(group.label for group in contenders(groups(source)))),
        beyond,
    )


def forecast_table(source: ReportInput, beyond: tuple[float, ...] | None = None) -> Table | None:
    """What a valid answer will cost on more data; None where nothing is forecast.

    Args:
        source: The report's content.
        beyond: The scale factors; None for the next powers of ten.
    """
    outlook = outlook_of(source, beyond)
    if outlook is None or not outlook.forecasts:
        return None
    names = {group.label: name_cell(group.by_label()) for group in groups(source)}
    rows = [
        (
            names[name],
            Cell(scale),
            Cell(each.p),
            Cell(each.llm_usd),
            Cell(each.engine_usd),
            Cell(each.cvq_usd),
            Cell(each.low_usd),
            Cell(each.high_usd),
            Cell(len(each.timeouts)),
            Cell(each.reason or ""),
        )
        for name, scales in outlook.forecasts.items()
        for scale, each in scales.items()
    ]
    return Table("forecast", "Forecast on more data", _FORECAST, tuple(rows), _notes(outlook))


def scale_words(source: ReportInput) -> list[str]:
    """Return what a sweep says, in sentences: where models change places, how far to trust it."""
    outlook = outlook_of(source)
    crossings = () if outlook is None else outlook.crossings
    said = [crossing_words(each) for each in crossings[:_SAID]]
    more = len(crossings) - len(said)
    if more:
        said.append(
            f"{plural(more, 'more such place')} {'is' if more == 1 else 'are'} in the chart."
        )
    return said


_SAID = 3
"""Crossings that are told in words: of many models there are many."""


def _notes(outlook: Outlook) -> tuple[str, ...]:
    said = [
        "Of each query from its measured executions; the interval (80%) is calibrated on how well "
        "the largest measured scale factor is predicted from the smaller ones. EX is taken to be "
        "that of the largest, but for queries that would pass the time limit."
    ]
    held = outlook.held_out
    if held is None or held.relative_error is None or held.within_factor_2 is None:
        said.append("Nothing was held out: that takes three scale factors.")
    else:
        covered = (
            f", and {held.coverage:.0%} lie in their intervals" if held.coverage is not None else ""
        )
        said.append(
            f"Held out: SF {held.scale_factor:g} predicted from the smaller ones for "
            f"{plural(len(held.queries), 'query', 'queries')}: median error "
            f"{held.relative_error:.0%}, {held.within_factor_2:.0%} within a factor of 2{covered}."
        )
    return tuple(said)


_COLUMNS = (
    MODEL,
    Column("scale_factor", "SF", help=HELP["scale_factor"], identifies=True),
    SCORED,
    RATES[0],
    Column("ves", "VES", help=HELP["ves"]),
    Column(
        "ves_star",
        "VES*",
        help=f"{HELP['ves_star']} The engine's seconds are those at this scale factor, the LLM's "
        "those of the one translation.",
    ),
    Column("vces", "VCES", unit="per $", help=HELP["vces"]),
    Column("cvq_usd", "CVQ", unit="$", help=HELP["cvq"]),
    Column("llm_usd", "LLM", unit="$", help=HELP["llm_usd"]),
    Column("engine_usd", "Engine", unit="$", help=HELP["engine_usd"]),
    Column("burned_usd", "Burned", unit="$", help=HELP["burned_usd"]),
    Column("llm_s", "LLM", unit="s", help=HELP["llm_s"], secondary=True),
    Column("engine_s", "Engine", unit="s", help=HELP["engine_s"]),
    Column("timeouts", "Timeout", help="Trials that passed the time limit.", kind="count"),
    Column(
        "skipped",
        "Skipped",
        help="Trials not run, since their query passed the limit at a smaller scale factor.",
        kind="count",
    ),
)

_FORECAST = (
    MODEL,
    Column("scale_factor", "SF", help="Scale factor that is forecast.", identifies=True),
    Column("ex", "EX", help="Share of answers that are valid and in time there.", kind="rate"),
    Column(
        "apart_usd",
        "But query",
        unit="$",
        help="Mean dollars of an attempt apart from executing its query: the LLM, and the engine "
        "for its other steps.",
    ),
    Column("query_usd", "Query", unit="$", help="Mean dollars of executing its query."),
    Column("cvq_usd", "CVQ", unit="$", help=HELP["cvq"]),
    Column("low_usd", "Low", unit="$", help="The lower end of its 80% interval."),
    Column("high_usd", "High", unit="$", help="The upper end."),
    Column("timeouts", "Timeout", help="Queries that would pass the time limit.", kind="count"),
    Column("reason", "Why a dash", help="Why a figure is missing.", kind="text", secondary=True),
)
