"""The chart of a report: cost per valid query against end-to-end seconds, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from bothends.eval.report.format import number
from bothends.eval.report.svg import LINE, Axis, axis, cut, px, text, tick

__all__ = ["Point", "scatter"]

LEFT, RIGHT, TOP, BOTTOM = 62, 18, 34, 46
GAP, LETTER = 14, 7.8


@dataclass(frozen=True, slots=True)
class Point:
    """A model in the chart.

    Attributes:
        name: Its label.
        seconds: Its mean end-to-end seconds.
        usd: Its cost per valid query.
        color: The number of its colour, from 1; points of one colour and name are joined.
        scale: The scale of its data in words, where the chart shows several.
        front: Whether it is on the Pareto front: nothing is both faster and cheaper.
        seconds_ci: The ends of the interval of its seconds, where one is known.
        usd_ci: The ends of the interval of its cost, where one is known; it may have no bound.
    """

    name: str
    seconds: float
    usd: float
    color: int
    scale: str = ""
    front: bool = False
    seconds_ci: tuple[float, float] | None = None
    usd_ci: tuple[float, float] | None = None


def scatter(points: Sequence[Point], width: int, height: int) -> str:
    """Return the chart as SVG markup.

    Args:
        points: The models that have both figures.
        width: Its width in pixels.
        height: Its height in pixels.
    """
    seconds = _values((each.seconds, each.seconds_ci) for each in points)
    usd = _values((each.usd, each.usd_ci) for each in points)
    x = axis(seconds, LEFT, width - RIGHT, 5)
    y = axis(usd, height - BOTTOM, TOP, 4)
    bottom, right = height - BOTTOM, width - RIGHT
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" class="chart" '
        f'aria-label="Cost per valid query against end-to-end seconds">'
    ]
    for each in y.ticks:
        at = px(y.at(each))
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{at}" x2="{right}" y2="{at}"/>')
        parts.append(text("tick", LEFT - 8, y.at(each) + 4, f"${tick(each)}", "end"))
    for each in x.ticks:
        at = px(x.at(each))
        parts.append(f'<line class="grid" x1="{at}" y1="{TOP}" x2="{at}" y2="{bottom}"/>')
        parts.append(text("tick", x.at(each), bottom + 18, tick(each), "middle"))
    parts.append(
        f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>'
        + text("title", 2, 14, f"$ per valid query{' (log)' if y.log else ''}", "start")
        + text("title", right, height - 8, f"End to end, s{' (log)' if x.log else ''}", "end")
    )
    places = [(x.at(point.seconds), y.at(point.usd)) for point in points]
    parts += _joined(points, places)
    # Before all points and labels, so that no line goes through one.
    parts += [_whiskers(point, x, y) for point in points]
    longest = int(0.62 * (right - LEFT) / LETTER)
    names = [cut(name, longest) for name in _names(points)]
    labels = _labels(places, names, right, bottom)
    for point, name, (cx, cy), (lx, ly, anchor) in zip(points, names, places, labels, strict=True):
        ring = f'<circle class="ring" cx="{px(cx)}" cy="{px(cy)}" r="10"/>' if point.front else ""
        parts.append(
            f'<g class="c{point.color}">{ring}'
            f'<circle class="point" cx="{px(cx)}" cy="{px(cy)}" r="6"/>'
            f"{text('label', lx, ly, name, anchor)}"
            f"<title>{escape(_said(point))}</title></g>"
        )
    return "".join(parts) + "</svg>"


def _values(figures: Iterable[tuple[float, tuple[float, float] | None]]) -> list[float]:
    """Return what an axis must show: figures, and the ends of intervals that have one."""
    return [
        value
        for figure, interval in figures
        for value in (figure, *(interval or ()))
        if not math.isinf(value)
    ]


def _said(point: Point) -> str:
    """Return what a point says, for a reader who cannot see it."""

    def ends(interval: tuple[float, float] | None, unit: str = "") -> str:
        if interval is None:
            return ""
        if math.isinf(interval[1]):
            return f" (at least {unit}{number(interval[0])})"
        return f" ({unit}{number(interval[0])} to {unit}{number(interval[1])})"

    front = "; nothing is both faster and cheaper" if point.front else ""
    return (
        f"{point.name}{f', {point.scale}' if point.scale else ''}: "
        f"${number(point.usd)}{ends(point.usd_ci, '$')} per valid query, "
        f"{number(point.seconds)} s{ends(point.seconds_ci)}{front}"
    )


def _names(points: Sequence[Point]) -> list[str]:
    """Return each point's label: where a model has several, its name stands at the last."""
    last = {(point.name, point.color): number for number, point in enumerate(points)}
    return [
        f"{point.name} {point.scale}".rstrip()
        if last[point.name, point.color] == number
        else point.scale
        for number, point in enumerate(points)
    ]


def _joined(points: Sequence[Point], places: Sequence[tuple[float, float]]) -> list[str]:
    """Return a line through each model's points, from scale to scale."""
    of_model: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for point, place in zip(points, places, strict=True):
        of_model.setdefault((point.name, point.color), []).append(place)
    return [
        f'<polyline class="scale c{color}" '
        f'points="{" ".join(f"{px(cx)},{px(cy)}" for cx, cy in line)}"/>'
        for (_, color), line in of_model.items()
        if len(line) > 1
    ]


def _whiskers(point: Point, x: Axis, y: Axis) -> str:
    """Return the intervals of a point as lines through it."""
    cx, cy = px(x.at(point.seconds)), px(y.at(point.usd))
    lines = ""
    if point.seconds_ci is not None:
        low, high = (px(_within(x, end)) for end in point.seconds_ci)
        lines += f'<line class="whisker" x1="{low}" y1="{cy}" x2="{high}" y2="{cy}"/>'
    if point.usd_ci is not None:
        low, high = (px(_within(y, end)) for end in point.usd_ci)
        lines += f'<line class="whisker" x1="{cx}" y1="{low}" x2="{cx}" y2="{high}"/>'
    return f'<g class="c{point.color}">{lines}</g>' if lines else ""


def _within(scale: Axis, value: float) -> float:
    """Return where a value lies, or the end of the axis that it is beyond."""
    return scale.at(min(max(value, scale.low), scale.high))


def _labels(
    places: Sequence[tuple[float, float]], names: Sequence[str], right: float, bottom: float
) -> list[tuple[float, float, str]]:
    """Place each label beside its point, where it covers no other label and no other point."""
    taken: list[tuple[float, float, float]] = []
    labels = []
    for (cx, cy), name in zip(places, names, strict=True):
        wide = LETTER * len(name)
        sides = ((cx + GAP, "start"), (cx - GAP - wide, "end"))
        spots = [
            (left, cy + 5 + up * LINE, side) for up in (0, -1, 1, -2, 2) for left, side in sides
        ]
        inside = [
            (left, y, side)
            for left, y, side in spots
            if left >= LEFT and left + wide <= right and TOP <= y < bottom - 2
        ]
        others = [(x - 7, x + 7, y + 5) for x, y in places if (x, y) != (cx, cy)]
        free = [
            (left, y, side)
            for left, y, side in inside
            if not any(
                start < left + wide and left < end and abs(y - level) < LINE - 2
                for start, end, level in taken + others
            )
        ]
        left, y, side = (free or inside or spots)[0]
        taken.append((left, left + wide, y))
        labels.append((left if side == "start" else left + wide, y, side))
    return labels
