"""The chart of a report: cost per valid query against end-to-end seconds, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bothends.eval.report.format import number
from bothends.eval.report.svg import LINE, axis, px, text, tick

__all__ = ["Point", "scatter"]

LEFT, RIGHT, TOP, BOTTOM = 62, 18, 34, 46
GAP = 11


@dataclass(frozen=True, slots=True)
class Point:
    """A model in the chart.

    Attributes:
        name: Its label.
        seconds: Its mean end-to-end seconds.
        usd: Its cost per valid query.
        color: The number of its colour, from 1.
    """

    name: str
    seconds: float
    usd: float
    color: int


def scatter(points: Sequence[Point], width: int, height: int) -> str:
    """Return the chart as SVG markup.

    Args:
        points: The models that have both figures.
        width: Its width in pixels.
        height: Its height in pixels.
    """
    x = axis([point.seconds for point in points], LEFT, width - RIGHT, 5)
    y = axis([point.usd for point in points], height - BOTTOM, TOP, 4)
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
    labels = _labels(places, [point.name for point in points], right, bottom)
    for point, (cx, cy), (lx, ly, anchor) in zip(points, places, labels, strict=True):
        parts.append(
            f'<g class="c{point.color}"><circle cx="{px(cx)}" cy="{px(cy)}" r="6"/>'
            f"{text('label', lx, ly, point.name, anchor)}"
            f"<title>{escape(point.name)}: ${number(point.usd)} per valid query, "
            f"{number(point.seconds)} s</title></g>"
        )
    return "".join(parts) + "</svg>"


def _labels(
    places: Sequence[tuple[float, float]], names: Sequence[str], right: float, bottom: float
) -> list[tuple[float, float, str]]:
    """Place each label beside its point, where it covers no other label and no other point."""
    taken: list[tuple[float, float, float]] = []
    labels = []
    for (cx, cy), name in zip(places, names, strict=True):
        wide = 7.8 * len(name)
        sides = ((cx + GAP, "start"), (cx - GAP - wide, "end"))
        spots = [
            (left, cy + 5 + up * LINE, side) for up in (0, -1, 1, -2, 2) for left, side in sides
        ]
        inside = [
            (left, y, side)
            for left, y, side in spots
            if left >= 0 and left + wide <= right and TOP <= y < bottom - 2
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
