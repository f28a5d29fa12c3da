"""Accuracy by question and model as a heat map, as inline SVG (the paper's Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from bothends.eval.report.format import DASH, number
from bothends.eval.report.svg import cut, px, text

__all__ = ["HeatRow", "heat_chart"]

ROW, TOP, CHARACTER = 30, 34, 7.4
"""Pixels of a row, above the first, and of a character of a label."""
_FAINT = 0.07
"""How opaque the cell of an EX of 0 is: that of 1 is opaque."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A configuration's trials of each question, in one order for all rows.

    Attributes:
        name: The configuration's name.
        counted: How many trials of each question count.
        valid: How many of them are valid.
    """

    name: str
    counted: Sequence[int]
    valid: Sequence[int]


def heat_chart(questions: Sequence[str], rows: Sequence[HeatRow], width: int, most: int) -> str:
    """Return the heat map as SVG markup: a row a configuration, a column a question.

    Where there are more questions than columns they are sorted from the hardest for all
    configurations together to the easiest, and a column holds an equal part of them.

    Args:
        questions: What each question is called.
        rows: The configurations, at least one.
        width: Its width in pixels; its height is what the rows need.
        most: How many columns it has at most.
    """
    groups = _columns(len(questions), rows, most)
    together = len(groups) < len(questions)
    # Names stand above their rows where they would take too much beside them.
    longest = max(len(row.name) for row in rows) * CHARACTER + 14
    beside = longest if longest < width * 0.25 else 0.0
    step = ROW if beside else ROW + 20
    wide = (width - beside - 2) / len(groups)
    height = TOP + step * len(rows) + 2
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" class="chart" '
        f'aria-label="Share of valid answers by question and model">',
        *_head(questions, groups, beside, wide, together=together),
        '<g class="heat">',
    ]
    for number_, row in enumerate(rows):
        top = TOP + step * number_ + (0 if beside else 20)
        name = text(
            "label",
            beside - 12 if beside else 0,
            top + (19 if beside else -5),
            cut(row.name, int((beside or width) / CHARACTER)),
            "end" if beside else "start",
        )
        parts.append(f"<g>{name}<title>{escape(row.name)}</title></g>")
        for column, members in enumerate(groups):
            words = (
                f"{len(members)} questions, column {column + 1} of {len(groups)} from the hardest"
                if together
                else questions[members[0]]
            )
            parts.append(_cell(row, members, words, beside + wide * column, top, wide))
    return "".join(parts) + "</g></svg>"


def _columns(count: int, rows: Sequence[HeatRow], most: int) -> list[list[int]]:
    """Return the questions of each column by their numbers."""
    if count <= most:
        return [[number_] for number_ in range(count)]

    def ease(question: int) -> float:
        tried = sum(row.counted[question] for row in rows)
        return sum(row.valid[question] for row in rows) / tried if tried else 1.0

    order = sorted(range(count), key=ease)
    ends = [count * column // most for column in range(most + 1)]
    return [order[start:end] for start, end in pairwise(ends)]


def _head(
    questions: Sequence[str],
    groups: Sequence[Sequence[int]],
    left: float,
    wide: float,
    *,
    together: bool,
) -> list[str]:
    """Return what stands above the columns: names of questions, or which end is which."""
    if together:
        right = left + wide * len(groups)
        middle = f"about {len(questions) / len(groups):.0f} questions a column"
        words = [
            text("tick", left, TOP - 10, "hardest", "start"),
            text("tick", right, TOP - 10, "easiest", "end"),
        ]
        if wide * len(groups) > CHARACTER * (len(middle) + 20):
            words.append(text("tick", (left + right) / 2, TOP - 10, middle, "middle"))
        return words
    names = [question.partition(" ")[0] for question in questions]
    every = max(1, -int(-(CHARACTER * max(map(len, names)) + 8) // wide))
    return [
        text("tick", left + wide * (column + 0.5), TOP - 10, name, "middle")
        for column, name in enumerate(names)
        if column % every == 0 and CHARACTER * len(name) < every * wide
    ]


def _cell(
    row: HeatRow, members: Sequence[int], words: str, left: float, top: float, wide: float
) -> str:
    counted = sum(row.counted[question] for question in members)
    valid = sum(row.valid[question] for question in members)
    rate = valid / counted if counted else None
    figure = DASH if rate is None else number(rate, "rate")
    said = f"{row.name}, {words}: EX {figure}" + (f", {valid} of {counted}" if counted else "")
    shade = 0.0 if rate is None else _FAINT + (1 - _FAINT) * rate
    style = 'class="none"' if rate is None else f'fill-opacity="{shade:.2f}"'
    short = figure.removesuffix(".00") if rate in (0.0, 1.0) else figure.removeprefix("0")
    shown = (
        text("over" if shade > 0.55 else "on", left + wide / 2, top + 18, short, "middle")
        if wide > 3 * CHARACTER + 3
        else ""
    )
    return (
        f'<g><rect {style} x="{px(left)}" y="{px(top)}" width="{px(wide - 1)}" '
        f'height="{ROW - 2}"/>{shown}<title>{escape(said)}</title></g>'
    )
