"""What an attempt takes at each scale factor, the LLM's part and the engine's, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bothends.eval.report.format import DASH, number
from bothends.eval.report.scale_chart import ScalePoint
from bothends.eval.report.svg import Axis, axis, cut, px, text, tick

__all__ = ["parts_chart"]

LEFT, GAP, TOP, ROW, PLOT = 58, 74, 52, 158, 104
"""Pixels before the first panel and between the two, above the rows, of a row and its plot."""
CHARACTER = 7.4
_PARTS = (("llm", "LLM"), ("engine", "Engine"))


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
        f'aria-label="Seconds and dollars of the LLM and the engine at each scale factor">',
        text("title", 2, 14, "Seconds of an attempt", "start"),
        text("title", LEFT + panel + GAP - 56, 14, "Dollars of an attempt", "start"),
        *_legend(),
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


def _legend() -> list[str]:
    return [
        f'<g class="part {css}"><rect x="{2 + 60 * i}" y="26" width="10" height="10" rx="2"/>'
        f"{text('tick', 17 + 60 * i, 35.5, words, 'start')}</g>"
        for i, (css, words) in enumerate(_PARTS)
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
    llm, engine = _parts(point, unit)
    total = _total(point, unit)
    if unit == "$":
        said = f"LLM {_usd(llm)}, engine {_usd(engine)}, together {_usd(total)}"
    else:
        said = f"LLM {_s(llm)}, engine {_s(engine)}, together {_s(total)}"
    title = (
        f"<title>{escape(point.model)} at scale factor {tick(point.scale_factor)}"
        f"{', forecast' if point.forecast else ''}: {said}</title>"
    )
    if total is None or llm is None or engine is None:
        return f"<g>{text('gap', middle, y.start - 5, DASH, 'middle')}{title}</g>"
    parts = []
    for css, start, end in (("llm", 0.0, llm), ("engine", llm, total)):
        top, bottom = y.at(end), y.at(start)
        parts.append(
            f'<rect class="{css}" x="{px(middle - half)}" y="{px(top)}" width="{px(2 * half)}" '
            f'height="{px(bottom - top)}"/>'
        )
    if figures:
        parts.append(text("value", middle, y.at(total) - 5, number(total), "middle"))
    return f'<g class="part{" forecast" if point.forecast else ""}">{"".join(parts)}{title}</g>'


def _parts(point: ScalePoint, unit: str) -> tuple[float | None, float | None]:
    return (point.llm_usd, point.engine_usd) if unit == "$" else (point.llm_s, point.engine_s)


def _total(point: ScalePoint, unit: str) -> float | None:
    llm, engine = _parts(point, unit)
    return None if llm is None or engine is None else llm + engine


def _usd(value: float | None) -> str:
    return DASH if value is None else f"${number(value)}"


def _s(value: float | None) -> str:
    return DASH if value is None else f"{number(value)} s"
