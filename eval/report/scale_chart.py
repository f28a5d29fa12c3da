"""Charts of a sweep over scale factors, as inline SVG: CVQ with its crossovers, and metrics.

What was measured is a line with points; what is forecast goes on from it dashed, with its
interval as a band.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Literal

from bothends.eval.outlook import Crossing
from bothends.eval.report.format import DASH, number
from bothends.eval.report.svg import LINE, Axis, apart, axis, cut, px, text, tick

__all__ = ["ScalePoint", "crossing_words", "cvq_chart", "metric_chart", "side_by_side"]

LEFT, TOP, BOTTOM, INSET = 62, 34, 46, 14
BETWEEN = 20
"""Pixels between two charts that are one."""
_METRICS = {"ex": "EX", "ves": "VES", "ves_star": "VES*"}
CHARACTER = 8.2
"""Pixels that a character of a label takes at most, on average."""


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """A model at one scale factor. What is undefined or unknown is None.

    Attributes:
        model: Its label.
        color: The number of its colour, from 1 to 8.
        scale_factor: Of the data.
        cvq_usd: Dollars for a valid answer.
        ex: EX.
        ves: VES.
        ves_star: VES*.
        stage_s: Mean seconds of an attempt in each stage and in overhead, by name.
        stage_usd: Mean dollars of them, likewise.
        forecast: Whether all this is forecast, and not measured.
        low_usd: The lower end of the interval of `cvq_usd`, where that is forecast.
        high_usd: The upper end; None beside a lower one where it has no bound.
    """

    model: str
    color: int
    scale_factor: float
    cvq_usd: float | None = None
    ex: float | None = None
    ves: float | None = None
    ves_star: float | None = None
    stage_s: Mapping[str, float | None] = field(default_factory=dict)
    stage_usd: Mapping[str, float | None] = field(default_factory=dict)
    forecast: bool = False
    low_usd: float | None = None
    high_usd: float | None = None


def crossing_words(crossing: Crossing) -> str:
    """Return a crossing as a sentence."""
    forecast = ", by the forecast" if crossing.forecast else ""
    return (
        f"{crossing.cheaper} becomes cheaper per valid answer than {crossing.dearer} from scale "
        f"factor {number(crossing.scale_factor)} on{forecast}."
    )


def cvq_chart(
    points: Sequence[ScalePoint], crossings: Sequence[Crossing], width: int, height: int
) -> str:
    """Return the chart of CVQ against the scale factor as SVG markup, both logarithmic.

    Args:
        points: Every model at every scale factor, at least one; in any order.
        crossings: Those to mark.
        width: Its width in pixels.
        height: Its height in pixels; it is higher where that has no room for all models' names.
    """
    values = [
        each
        for point in points
        for each in (point.cvq_usd, point.low_usd, point.high_usd)
        if each is not None
    ]
    labels = _label_characters(points, width)
    height = _height(points, height)
    right = width - round(CHARACTER * labels) - 16
    y = axis(values or [1.0], height - BOTTOM, TOP, 4, log=True)
    x = _scale_axis(points, LEFT, right)
    parts = [
        _open(width, height, "Cost per valid query against the scale factor"),
        _frame(points, x, y, "$"),
        text("title", 2, 14, f"$ per valid query{' (log)' if y.log else ''}", "start"),
        text("title", right, height - 8, "Scale factor (log)", "end"),
        *(_band(model, x, y) for model in _models(points)),
        _lines(points, x, y, lambda point: point.cvq_usd, _cvq_words, labels),
    ]
    for crossing in crossings:
        cx, cy = px(x.at(crossing.scale_factor)), px(y.at(crossing.usd))
        parts.append(
            f'<g class="crossing"><path d="M{cx} {cy}V{px(y.start)}"/>'
            f'<circle cx="{cx}" cy="{cy}" r="8"/>'
            f"<title>{escape(crossing_words(crossing))} Both cost ${number(crossing.usd)} there."
            "</title></g>"
        )
    return "".join(parts) + "</svg>"


def metric_chart(
    points: Sequence[ScalePoint], metric: Literal["ex", "ves", "ves_star"], width: int, height: int
) -> str:
    """Return a metric against the scale factor as SVG markup, to stand beside `cvq_chart`.

    Args:
        points: As there.
        metric: Which one.
        width: Its width in pixels.
        height: Its height in pixels, as there.
    """
    labels = _label_characters(points, width)
    height = _height(points, height)
    right = width - round(CHARACTER * labels) - 16
    name = _METRICS[metric]

    def value(point: ScalePoint) -> float | None:
        found: float | None = getattr(point, metric)
        return found

    def words(point: ScalePoint) -> str:
        where = f"{point.model} at scale factor {tick(point.scale_factor)}"
        return f"{where}: {name} {number(value(point), 'share')}"

    values = [each for point in points if (each := value(point)) is not None]
    y = axis(values or [1.0], height - BOTTOM, TOP, 4, log=False)
    x = _scale_axis(points, LEFT, right)
    return (
        _open(width, height, f"{name} against the scale factor")
        + _frame(points, x, y, "")
        + text("title", 2, 14, name, "start")
        + text("title", right, height - 8, "Scale factor (log)", "end")
        + _lines(points, x, y, value, words, labels)
        + "</svg>"
    )


def side_by_side(charts: Sequence[str], title: str, *, below: bool = False) -> str:
    """Return charts as one, beside or below one another.

    Args:
        charts: Charts of this module, all of the same width.
        title: What they show together.
        below: Whether they stand below one another.
    """
    sizes = [tuple(map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', c)[0])) for c in charts]
    parts, x, y = [], 0, 0
    for chart, (wide, high) in zip(charts, sizes, strict=True):
        place = f'<svg x="{x}" y="{y}" width="{wide}" height="{high}" '
        parts.append(chart.replace("<svg ", place, 1))
        x, y = (0, y + high + BETWEEN) if below else (x + wide + BETWEEN, 0)
    width = sizes[0][0] if below else x - BETWEEN
    height = y - BETWEEN if below else max(high for _, high in sizes)
    return f"{_open(width, height, title)}{''.join(parts)}</svg>"


def _open(width: int, height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" class="chart" '
        f'aria-label="{escape(title)}">'
    )


def _models(points: Sequence[ScalePoint]) -> list[list[ScalePoint]]:
    """Return each model's points by scale factor, the models in the order of their first."""
    names = list(dict.fromkeys(point.model for point in points))
    return [
        sorted((p for p in points if p.model == name), key=lambda p: (p.scale_factor, p.forecast))
        for name in names
    ]


def _label_characters(points: Sequence[ScalePoint], width: int) -> int:
    """Return how long labels may be: as they are, on a third of the width at most."""
    return min(max(len(point.model) for point in points), int(width * 0.33 / CHARACTER))


def _height(points: Sequence[ScalePoint], height: int) -> int:
    return max(height, TOP + BOTTOM + LINE * len({point.model for point in points}))


def _scale_axis(points: Sequence[ScalePoint], left: float, right: float) -> Axis:
    """Return the axis of scale factors, with a tick at each that has room for one."""
    scales = sorted({point.scale_factor for point in points})
    # The first and the last stand a little within it; one alone stands in the middle.
    span = scales[-1] / scales[0]
    edge = span ** (INSET / (right - left - 2 * INSET)) if span > 1 else 2.0
    whole = Axis(scales[0] / edge, scales[-1] * edge, True, left, right, ())
    ticks: list[float] = []
    end = left - 24
    for scale_factor in scales:
        half = 4 * len(tick(scale_factor)) + 5
        if whole.at(scale_factor) - half >= end:
            ticks.append(scale_factor)
            end = whole.at(scale_factor) + half
    return Axis(whole.low, whole.high, True, left, right, tuple(ticks))


def _frame(points: Sequence[ScalePoint], x: Axis, y: Axis, unit: str) -> str:
    parts = []
    for each in y.ticks:
        at = px(y.at(each))
        parts.append(
            f'<line class="grid" x1="{px(x.start)}" y1="{at}" x2="{px(x.end)}" y2="{at}"/>'
        )
        parts.append(text("tick", x.start - 8, y.at(each) + 4, f"{unit}{tick(each)}", "end"))
    for each in x.ticks:
        parts.append(text("tick", x.at(each), y.start + 18, tick(each), "middle"))
    for scale_factor in sorted({point.scale_factor for point in points}):
        at = px(x.at(scale_factor))
        parts.append(
            f'<line class="axis" x1="{at}" y1="{px(y.start)}" x2="{at}" y2="{y.start + 4}"/>'
        )
    parts.append(f'<path class="axis" d="M{px(x.start)} {px(y.end)}V{px(y.start)}H{px(x.end)}"/>')
    return "".join(parts)


def _band(model: Sequence[ScalePoint], x: Axis, y: Axis) -> str:
    """Return the interval of a model's forecast, from its last measured point on."""
    ends: list[tuple[float, float, float]] = []
    for point in model:
        if not point.forecast and point.cvq_usd is not None:
            ends = [(x.at(point.scale_factor), y.at(point.cvq_usd), y.at(point.cvq_usd))]
        elif point.forecast and point.low_usd is not None:
            top = y.end if point.high_usd is None else y.at(point.high_usd)
            ends.append((x.at(point.scale_factor), y.at(point.low_usd), top))
    if len(ends) < 2:
        return ""
    corners = [(at, low) for at, low, _ in ends] + [(at, high) for at, _, high in reversed(ends)]
    path = "L".join(f"{px(at)} {px(level)}" for at, level in corners)
    return f'<path class="band c{model[0].color}" d="M{path}Z"/>'


def _lines(
    points: Sequence[ScalePoint],
    x: Axis,
    y: Axis,
    value: Callable[[ScalePoint], float | None],
    words: Callable[[ScalePoint], str],
    characters: int,
) -> str:
    """Return each model's line with its points and its label; dashes where it is undefined."""
    parts: list[str] = []
    models = _models(points)
    # The dashes of one scale factor stand one above the other, on the axis.
    dashes: dict[float, int] = {}
    places: list[float] = []
    for model in models:
        inner: list[str] = []
        known = [(point, at) for point in model if (at := value(point)) is not None]
        for (a, from_), (b, to) in pairwise(known):
            if any(a.scale_factor < p.scale_factor < b.scale_factor for p in model):
                continue  # undefined between them
            style = "curve forecast" if b.forecast else "curve"
            start, end = (px(x.at(a.scale_factor)), px(x.at(b.scale_factor)))
            inner.append(
                f'<path class="{style}" d="M{start} {px(y.at(from_))}L{end} {px(y.at(to))}"/>'
            )
        for point in model:
            at, found = x.at(point.scale_factor), value(point)
            if found is None:
                below = dashes.get(point.scale_factor, 0)
                dashes[point.scale_factor] = below + 1
                mark = text("gap", at, y.start - 6 - 12 * below, DASH, "middle")
            else:
                style = ' class="forecast"' if point.forecast else ""
                mark = f'<circle{style} cx="{px(at)}" cy="{px(y.at(found))}" r="5"/>'
            inner.append(f"<g>{mark}<title>{escape(words(point))}</title></g>")
        places.append(y.at(known[-1][1]) + 5 if known else y.start)
        parts.append(f'<g class="c{model[0].color}">{"".join(inner)}</g>')
    for model, place, level in zip(models, places, apart(places, y.end, y.start), strict=True):
        last = [point for point in model if value(point) is not None][-1:]
        leader = "".join(
            f'<path class="leader" d="M{px(x.at(point.scale_factor) + 6)} {px(place - 5)}'
            f'L{px(x.end + 5)} {px(level - 5)}"/>'
            for point in last
        )
        name = text("label", x.end + 8, level, cut(model[0].model, characters), "start")
        parts.append(
            f'<g class="c{model[0].color}">{leader}{name}'
            f"<title>{escape(model[0].model)}</title></g>"
        )
    return "".join(parts)


def _cvq_words(point: ScalePoint) -> str:
    where = f"{point.model} at scale factor {tick(point.scale_factor)}"
    if point.cvq_usd is None:
        return f"{where}: {DASH}, the cost of a valid answer is undefined"
    if not point.forecast:
        return f"{where}: ${number(point.cvq_usd)} per valid query"
    if point.low_usd is None:
        interval = "without an interval"
    elif point.high_usd is None:
        interval = f"${number(point.low_usd)} or more"
    else:
        interval = f"${number(point.low_usd)} to ${number(point.high_usd)}"
    return f"{where}, forecast: ${number(point.cvq_usd)} per valid query ({interval})"
