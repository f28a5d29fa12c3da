"""The charts over scale factors of a report that has several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bothends.eval.metrics import counted
from bothends.eval.outlook import Outlook
from bothends.eval.record import Trial
from bothends.eval.report.parts_chart import parts_chart
from bothends.eval.report.points import colors
from bothends.eval.report.scale import outlook_of
from bothends.eval.report.scale_chart import ScalePoint, cvq_chart, ves_star_chart
from bothends.eval.report.source import Group, ReportInput, groups

__all__ = ["ScaleFigure", "scale_figures"]

_WIDE, _NARROW = (620, 380), (360, 330)
_SPENT = "What an attempt takes of the LLM and of the engine."


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
    return [
        ScaleFigure(
            "cvq_by_scale",
            "Cost per valid query as data grows",
            "CVQ: mean(C_e2e) / EX. Dashed with a band: forecast. Circled: another model becomes "
            "the cheaper one.",
            cvq_chart([*points, *later], crossings, *_WIDE),
            cvq_chart([*points, *later], crossings, *_NARROW),
        ),
        ScaleFigure(
            "ves_star_by_scale",
            "Efficiency end to end as data grows",
            "VES*: mean(valid * P * T_gold / T_e2e).",
            ves_star_chart(points, *_WIDE),
            ves_star_chart(points, *_NARROW),
        ),
        ScaleFigure(
            "parts_by_scale",
            "Where time and money go as data grows",
            _SPENT,
            parts_chart(points, 1180),
            parts_chart(points, 360),
            spans=True,
        ),
    ]


def _point(group: Group, color: int) -> ScalePoint:
    trials, summary = counted(group.trials), group.summary
    return ScalePoint(
        model=group.label,
        color=color,
        scale_factor=group.scale_factor or 0.0,
        cvq_usd=summary.cvq.mean,
        llm_usd=_mean(trials, lambda trial: trial.cost.llm_usd),
        engine_usd=_mean(trials, lambda trial: trial.cost.engine_usd),
        llm_s=_mean(trials, lambda trial: sum(each.llm_s for each in trial.stages.values())),
        engine_s=_mean(trials, lambda trial: sum(each.engine_s for each in trial.stages.values())),
        ves_star=summary.ves_star.mean,
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


def _mean(trials: Sequence[Trial], value: Callable[[Trial], float | None]) -> float | None:
    values = [each for trial in trials if (each := value(trial)) is not None]
    return fmean(values) if values and len(values) == len(trials) else None
