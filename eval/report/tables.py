"""The tables of a report: raw values with what they rest on; formatting is left to renderers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from bothends.agent.record import STAGES
from bothends.eval.report.breakdown import (
    RATES,
    SCORED,
    VALID,
    by_database,
    by_difficulty,
    official,
)
from bothends.eval.report.certainty import certainty_tables
from bothends.eval.report.engine_work import engine_work
from bothends.eval.report.helps import HELP
from bothends.eval.report.outcomes import models, outcomes
from bothends.eval.report.scale import by_scale, forecast_table
from bothends.eval.report.source import Group, ReportInput, contenders, groups, split
from bothends.eval.report.table import MODEL, Basis, Cell, Column, Table, marked, name_cell
from bothends.eval.summary import Estimate

__all__ = ["all_tables", "by_model", "by_question", "cost", "efficiency", "tables"]

_VES = Column("ves", "VES", help=HELP["ves"])
_VES_STAR = Column("ves_star", "VES*", help=HELP["ves_star"])
_VCES = Column("vces_per_usd", "VCES", unit="per $", help=HELP["vces"])
_CVQ = Column("cvq_usd", "CVQ", unit="$", help=HELP["cvq"])


@lru_cache(maxsize=1)
def tables(source: ReportInput) -> tuple[Table, ...]:
    """Return every table that has something to say, in reading order.

    The last report's are kept, since each way of showing it asks for them.
    """
    builders: tuple[Callable[[ReportInput], Table | None], ...] = (
        by_scale,
        forecast_table,
        by_model,
        official,
        by_difficulty,
        by_database,
        efficiency,
        cost,
        by_question,
        engine_work,
        outcomes,
        models,
    )
    return tuple(table for build in builders if (table := build(source)) is not None)


@lru_cache(maxsize=1)
def all_tables(source: ReportInput) -> tuple[Table, ...]:
    """Return every table, those too that a terminal does not show: how sure the figures are."""
    return (*tables(source), *certainty_tables(source))


def by_model(source: ReportInput) -> Table:
    """Accuracy, end-to-end seconds, and where they go."""
    rows = []
    for group in groups(source):
        s = group.summary
        e2e_s = s.e2e_s.mean
        rates = (s.ex, s.ex_exact, s.ex_ordered, s.ex_set)
        rows.append(
            (
                name_cell(group),
                Cell(s.counted),
                Cell(group.valid),
                *(Cell(rate.mean) for rate in rates),
                marked(e2e_s),
                marked(s.e2e_s.sd),
                *(marked(_percent(s.stage_s.get(stage), e2e_s)) for stage in STAGES),
                marked(_percent(s.overhead_s, e2e_s)),
            )
        )
    columns = (
        MODEL,
        SCORED,
        VALID,
        *RATES,
        Column("e2e_s", "End to end", unit="s", help=HELP["e2e_s"]),
        Column("e2e_sd_s", "SD", unit="s", help="Standard deviation of T_e2e over replicas."),
        *(
            Column(
                f"{stage}_pct",
                stage.capitalize(),
                unit="%",
                help=f"Share of T_e2e in stage `{stage}`. {HELP['stage']}",
                kind="percent",
            )
            for stage in STAGES
        ),
        Column(
            "overhead_pct",
            "Overhead",
            unit="%",
            help=f"Share of T_e2e. {HELP['overhead']}",
            kind="percent",
        ),
    )
    return Table("by_model", "Accuracy and time by model", columns, tuple(rows))


def efficiency(source: ReportInput) -> Table:
    """VES and VES*, raw and against the best model, with each stage's factor of time."""
    found = groups(source)
    best_ves = _best(group.summary.ves for group in contenders(found))
    best_star = _best(group.summary.ves_star for group in contenders(found))
    rows = []
    for group in found:
        s = group.summary
        rows.append(
            (
                name_cell(group),
                marked(s.ves),
                marked(_ratio(s.ves.mean, best_ves)),
                marked(s.ves_star),
                marked(_ratio(s.ves_star.mean, best_star)),
                *(marked(_ratio(s.stage_s.get(x), s.e2e_s.mean)) for x in STAGES),
                marked(_ratio(s.overhead_s, s.e2e_s.mean)),
            )
        )
    columns = (
        MODEL,
        _VES,
        Column("ves_normalised", "VES / best", help="VES over the best model's.", kind="share"),
        _VES_STAR,
        Column("ves_star_normalised", "VES* / best", help="VES* over the best's.", kind="share"),
        *_factors("time", "T_e2e"),
    )
    return Table("efficiency", "Efficiency", columns, tuple(rows), _best_note(found))


def cost(source: ReportInput) -> Table:
    """What an attempt and a valid answer cost, and which stage is charged for it."""
    found = groups(source)
    best = _best(group.summary.vces for group in contenders(found))
    rows = []
    for group in found:
        s = group.summary
        basis = Basis.of(group)
        parts = (*(s.stage_usd.get(stage) for stage in STAGES), s.overhead_usd)
        shares = [_ratio(part, s.cost_usd.mean) for part in parts]
        rows.append(
            (
                name_cell(group),
                marked(s.cvq, basis.dollars),
                marked(s.cost_usd, basis.dollars),
                marked(s.burned_usd, basis.dollars),
                marked(s.burned_share, basis.dollars),
                marked(s.vces, basis.dollars),
                marked(_ratio(s.vces.mean, best), basis.dollars),
                *(marked(share, basis.dollars) for share in shares),
                Cell(group.model.priced_by),
            )
        )
    columns = (
        MODEL,
        _CVQ,
        Column("attempt_usd", "Attempt", unit="$", help=HELP["cost_usd"]),
        Column("burned_usd", "Burned", unit="$", help=HELP["burned_usd"]),
        Column(
            "burned_share",
            "Burned",
            unit="of cost",
            help=HELP["burned_share"],
            kind="share",
        ),
        _VCES,
        Column("vces_normalised", "VCES / best", help="VCES over the best model's.", kind="share"),
        *_factors("cost", "C_e2e"),
        Column("priced_by", "LLM priced by", kind="text", secondary=True),
    )
    notes = (f"Engine: {source.machine}; billing `{source.billing}`.", *_best_note(found))
    return Table("cost", "Cost", columns, tuple(rows), notes)


def by_question(source: ReportInput) -> Table:
    """The metrics of each question for each model that tried it, mean and standard deviation."""
    of_question = split(source, lambda trial: trial.key.question_id)
    rows = []
    for question in source.questions:
        for group in of_question.get(question.id, ()):
            s = group.summary
            basis = Basis.of(group)
            rows.append(
                (
                    Cell(question.id),
                    Cell(question.title),
                    name_cell(group),
                    marked(s.ex),
                    marked(s.ves),
                    marked(s.ves_star),
                    marked(s.vces, basis.dollars),
                    marked(s.cvq, basis.dollars),
                )
            )
    columns = (
        Column("question_id", "Question", kind="text", identifies=True),
        Column("title", "Title", kind="text", identifies=True, secondary=True),
        MODEL,
        RATES[0],
        _VES,
        _VES_STAR,
        _VCES,
        _CVQ,
    )
    spread = f"Mean ± standard deviation over {source.replicas} replicas."
    notes = (spread,) if source.replicas > 1 else ()
    return Table("by_question", "By question", columns, tuple(rows), notes)


def _factors(what: str, whole: str) -> tuple[Column, ...]:
    return tuple(
        Column(
            f"{name}_{what}_factor",
            name.capitalize(),
            unit=f"of {what}",
            help=f"Share of {whole} that falls to {name}.",
            kind="share",
            secondary=True,
        )
        for name in (*STAGES, "overhead")
    )


def _best(estimates: Iterable[Estimate]) -> float | None:
    return max((e.mean for e in estimates if e.mean is not None), default=None)


def _best_note(found: tuple[Group, ...]) -> tuple[str, ...]:
    scripts = any(group.model.kind == "scripted" for group in found)
    aside = scripts and all(group.model.kind != "scripted" for group in contenders(found))
    return ("The best model is sought among models, scripts aside.",) if aside else ()


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _percent(part: float | None, whole: float | None) -> float | None:
    ratio = _ratio(part, whole)
    return None if ratio is None else 100 * ratio
