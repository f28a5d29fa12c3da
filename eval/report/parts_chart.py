"""What an attempt takes at each scale factor, by stage (the paper's Figure 1), as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bothends.agent.record import STAGES
from bothends.eval.report.format import DASH, number
from bothends.eval.report.scale_chart import ScalePoint
from bothends.eval.report.svg import Axis, axis, cut, px, text, tick

__all__ = ["parts_chart"]

LEFT, GAP, TOP, ROW, PLOT, LEGEND = 58, 74, 62, 158, 104, 92
"""Pixels before the first panel and between the two, above the rows, of a row and its plot, and of
a legend's entry."""
CHARACTER = 7.4
_PARTS = (*STAGES, "overhead")


def parts_chart(points: Sequence[ScalePoint], width: int) -> str:
    """Return stacked bars as SVG markup: seconds at the left, dollars at the right, a row a model.

    All rows have the same scales, which are linear, so that bars compare across models. A bar of
    which a part is unknown is a dash.

    Args:
        points: Every model at every scale factor, at least one.
        width: Its width in pixels; its height is what the rows need.
    """
    names = list(dict.fromkeys(point.model for point in points))
    scales = sorted({point.scale_factor for point in points})
    height = TOP + ROW * len(names)
    panel = (width - LEFT - GAP - 8) / 2
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" class="chart" '
        f'aria-label="Seconds and dollars of each stage at each scale factor">',
        text("title", 2, 14, "Seconds of an attempt", "start"),
        text("title", LEFT + panel + GAP - 56, 14, "Dollars of an attempt", "start"),
        *_legend(width),
    ]
    for row, name in enumerate(names):
        level = TOP + ROW * row
        model = [point for point in points if point.model == name]
        parts.append(
            f"<g>{text('label', 2, level + 14, cut(name, int(width / 9)), 'start')}"
            f"<title>{escape(name)}</title></g>"
        )
        for left, unit in ((LEFT, "s"), (LEFT + panel + GAP, "$")):
            totals = [each for point in points if (each := _total(point, unit)) is not None]
            y = axis(totals or [1.0], level + 24 + PLOT, level + 24, 3, log=False)
            parts.append(_panel(model, scales, y, left, panel, unit))
    return "".join(parts) + "</svg>"


def _legend(width: int) -> list[str]:
    """Return the stages' colours with their names, in two rows where one has no room."""
    columns = len(_PARTS) if width > LEGEND * len(_PARTS) else -(-len(_PARTS) // 2)
    places = [(2 + LEGEND * (i % columns), 26 + 16 * (i // columns)) for i in range(len(_PARTS))]
    return [
        f'<g class="part"><rect class="{css}" x="{x}" y="{y}" width="10" height="10" rx="2"/>'
        f"{text('tick', x + 14, y + 9.5, css, 'start')}</g>"
        for css, (x, y) in zip(_PARTS, places, strict=True)
    ]


def _panel(
    model: Sequence[ScalePoint],
    scales: Sequence[float],
    y: Axis,
    left: float,
    wide: float,
    unit: str,
) -> str:
    parts = []
    for each in y.ticks:
        at = px(y.at(each))
        figure = f"${tick(each)}" if unit == "$" else tick(each)
        parts.append(
            f'<line class="grid" x1="{px(left)}" y1="{at}" x2="{px(left + wide)}" y2="{at}"/>'
        )
        parts.append(text("tick", left - 7, y.at(each) + 4, figure, "end"))
    slot = wide / len(scales)
    half = min(slot * 0.31, 22)
    totals = [total for point in model if (total := _total(point, unit)) is not None]
    figures = all(CHARACTER * len(number(total)) + 4 <= slot for total in totals)
    # Ticks are at every n-th bar, so that the widest has room.
    every = max(1, -int(-(CHARACTER * max(len(tick(each)) for each in scales) + 6) // slot))
    for i, scale_factor in enumerate(scales):
        middle = left + slot * (i + 0.5)
        if i % every == 0:
            parts.append(text("tick", middle, y.start + 17, tick(scale_factor), "middle"))
        found = [point for point in model if point.scale_factor == scale_factor]
        if found:
            parts.append(_bar(found[0], y, middle, half, unit, figures))
    parts.append(f'<path class="axis" d="M{px(left)} {px(y.start)}H{px(left + wide)}"/>')
    return "".join(parts)


def _bar(point: ScalePoint, y: Axis, middle: float, half: float, unit: str, figures: bool) -> str:
    took, total = _took(point, unit), _total(point, unit)
    said = ", ".join(f"{name} {_words(took[name], unit)}" for name in _PARTS if took[name] != 0)
    title = (
        f"<title>{escape(point.model)} at scale factor {tick(point.scale_factor)}: {said}, "
        f"together {_words(total, unit)}</title>"
    )
    if total is None:
        return f"<g>{text('gap', middle, y.start - 5, DASH, 'middle')}{title}</g>"
    parts, start = [], 0.0
    for name in _PARTS:
        end = start + (took[name] or 0.0)
        top, bottom = y.at(end), y.at(start)
        if end > start:
            parts.append(
                f'<rect class="{name}" x="{px(middle - half)}" y="{px(top)}" '
                f'width="{px(2 * half)}" height="{px(bottom - top)}"/>'
            )
        start = end
    if figures:
        parts.append(text("value", middle, y.at(total) - 5, number(total), "middle"))
    return f'<g class="part">{"".join(parts)}{title}</g>'


def _took(point: ScalePoint, unit: str) -> dict[str, float | None]:
    took = point.stage_usd if unit == "$" else point.stage_s
    return {name: took.get(name) for name in _PARTS}


def _total(point: ScalePoint, unit: str) -> float | None:
    known = [part for part in _took(point, unit).values() if part is not None]
    return sum(known) if len(known) == len(_PARTS) else None


def _words(value: float | None, unit: str) -> str:
    if value is None:
        return DASH
    return f"${number(value)}" if unit == "$" else f"{number(value)} s"
