"""The charts over scale factors of a report that has several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bothends.eval.outlook import Outlook
from bothends.eval.report.helps import HELP
from bothends.eval.report.parts_chart import parts_chart
from bothends.eval.report.points import colors
from bothends.eval.report.scale import outlook_of
from bothends.eval.report.scale_chart import ScalePoint, cvq_chart, metric_chart, side_by_side
from bothends.eval.report.source import Group, ReportInput, groups

__all__ = ["ScaleFigure", "scale_figures"]

_WIDE, _NARROW = (580, 380), (360, 330)


@dataclass(frozen=True, slots=True)
class ScaleFigure:
    """One chart, in the sizes that the page and the files have.

    Attributes:
        name: Its file's name, without the ending.
        title: Its title.
        caption: What is to be seen in it.
        wide: The chart.
        narrow: The same for a narrow screen.
        spans: Whether it takes the page's whole width.
    """

    name: str
    title: str
    caption: str
    wide: str
    narrow: str
    spans: bool = False


def scale_figures(source: ReportInput) -> list[ScaleFigure]:
    """Return the charts over scale factors; none where there are not several."""
    found = [g for g in groups(source) if g.scale_factor is not None and g.summary.counted]
    if len({group.scale_factor for group in found}) < 2:
        return []
    color = colors(source)
    points = [_point(group, color[group.label]) for group in found]
    outlook = outlook_of(source)
    crossings = () if outlook is None else outlook.crossings
    later = [] if outlook is None else _forecast(outlook, color)

    def both(width: int, height: int, *, below: bool) -> str:
        panels = (
            metric_chart(points, "ves", width, height),
            cvq_chart([*points, *later], crossings, width, height),
        )
        return side_by_side(panels, "VES, and cost per valid query, as data grows", below=below)

    signs = " Dashed with a band: forecast." if later else ""
    signs += " Circled: another model becomes the cheaper one." if crossings else ""
    return [
        ScaleFigure(
            "ves_and_cvq_by_scale",
            "Efficiency of the query, and cost per valid query, as data grows",
            "VES: mean(exact * T_gold / T_gen) compares both on the same data, so that growth "
            f"cancels out. CVQ: mean(C_e2e) / EX pays for it.{signs}",
            both(*_WIDE, below=False),
            both(*_NARROW, below=True),
            spans=True,
        ),
        ScaleFigure(
            "ves_star_by_scale",
            "Efficiency end to end as data grows",
            HELP["ves_star"],
            metric_chart(points, "ves_star", *_WIDE),
            metric_chart(points, "ves_star", *_NARROW),
        ),
        ScaleFigure(
            "ex_by_scale",
            "Accuracy as data grows",
            "EX falls where queries pass the time limit on more data, or small data hid a fault.",
            metric_chart(points, "ex", *_WIDE),
            metric_chart(points, "ex", *_NARROW),
        ),
        ScaleFigure(
            "stages_by_scale",
            "Where time and money go as data grows",
            f"What an attempt takes in each stage. {HELP['stage']}",
            parts_chart(points, 1180),
            parts_chart(points, 360),
            spans=True,
        ),
    ]


def _point(group: Group, color: int) -> ScalePoint:
    s = group.summary
    return ScalePoint(
        model=group.label,
        color=color,
        scale_factor=group.scale_factor or 0.0,
        cvq_usd=s.cvq.mean,
        ex=s.ex.mean,
        ves=s.ves.mean,
        ves_star=s.ves_star.mean,
        stage_s=s.stage_s | {"overhead": s.overhead_s},
        stage_usd=s.stage_usd | {"overhead": s.overhead_usd},
    )


def _forecast(outlook: Outlook, color: Mapping[str, int]) -> list[ScalePoint]:
    """Return the points beyond what was measured."""
    return [
        ScalePoint(
            model=label,
            color=color[label],
            scale_factor=scale,
            cvq_usd=each.cvq_usd,
            forecast=True,
            low_usd=each.low_usd,
            high_usd=each.high_usd,
        )
        for label, scales in outlook.forecasts.items()
        for scale, each in scales.items()
    ]
