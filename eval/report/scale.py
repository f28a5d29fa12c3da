"""The models at each scale factor: what a sweep shows."""

from __future__ import annotations

from bothends.eval.report.source import ReportInput, groups
from bothends.eval.report.table import MODEL, Basis, Cell, Column, Table, marked, name_cell

__all__ = ["by_scale"]


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


_COLUMNS = (
    MODEL,
    Column(
        "scale_factor",
        "SF",
        help="Scale factor of the data on which the queries were executed.",
        identifies=True,
    ),
    Column("scored", "Scored", help="Trials that count at this scale factor.", kind="count"),
    Column("ex", "EX", help="Share of valid answers.", kind="rate"),
    Column(
        "ves_star",
        "VES*",
        help="mean(valid * P * T_gold / T_e2e), with the engine's seconds at this scale factor and "
        "the LLM's of the one translation.",
    ),
    Column("vces", "VCES", unit="/$", help="mean(valid * P * T_gold / T_e2e / C_e2e)."),
    Column("cvq_usd", "CVQ", unit="$", help="Dollars per valid query: mean(C_e2e) / EX."),
    Column("llm_usd", "LLM", unit="$", help="Mean dollars of the LLM for an attempt."),
    Column("engine_usd", "Engine", unit="$", help="Mean dollars of the engine for an attempt."),
    Column(
        "burned_usd",
        "Burned",
        unit="$",
        help="Dollars of scored trials that gave no valid answer.",
    ),
    Column("llm_s", "LLM", unit="s", help="Mean seconds in LLM calls.", secondary=True),
    Column("engine_s", "Engine", unit="s", help="Mean seconds in which the engine worked."),
    Column("timeouts", "Timeout", help="Trials that passed the time limit.", kind="count"),
    Column(
        "skipped",
        "Skipped",
        help="Trials not run, since their query passed the limit at a smaller scale factor.",
        kind="count",
    ),
)
