"""What charts are drawn with: scales from values to pixels, their ticks, texts and labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["LINE", "Axis", "apart", "axis", "cut", "px", "text", "tick"]

LOG_FROM = 12.0
"""The ratio of the largest to the smallest value above which an axis is logarithmic."""
LINE = 17
"""Pixels from one line of text to the next."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from values to pixels, linear from 0 or logarithmic, with its ticks."""

    low: float
    high: float
    log: bool
    start: float
    end: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Return where a value lies."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def axis(
    values: Sequence[float], start: float, end: float, count: int, *, log: bool | None = None
) -> Axis:
    """Return a scale that holds all values.

    Args:
        values: At least one, none below 0.
        start: The pixel of its lower end.
        end: The pixel of its upper end.
        count: About how many ticks a linear one has.
        log: Whether it is logarithmic, where no value is 0; None for where they lie far apart.
    """
    low, high = min(values), max(values)
    if low > 0 and (high / low > LOG_FROM if log is None else log):
        first, last = math.floor(math.log10(low / 1.3)), math.ceil(math.log10(high * 1.3))
        steps = (1,) if last - first > 2 else (1, 2, 5)
        ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        lower, upper = low / 1.6, high * 1.6
        inside = tuple(each for each in ticks if lower <= each <= upper)
        return Axis(lower, upper, True, start, end, inside)
    top = (high or 1.0) * 1.15
    step = _nice(top / count)
    ticks = [step * i for i in range(count * 2 + 1) if step * i <= top * 1.0001]
    return Axis(0.0, top, False, start, end, tuple(ticks))


def apart(places: Sequence[float], low: float, high: float) -> list[float]:
    """Move labels apart, so that each has a line, within two bounds where these hold them all.

    Args:
        places: Where each would like to be, in pixels.
        low: The least place.
        high: The largest.

    Returns:
        Where each is, in the order of `places`.
    """
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    moved = list(places)
    least = low
    for i in order:
        moved[i] = least = max(places[i], least)
        least += LINE
    most = high
    for i in reversed(order):
        moved[i] = most = min(moved[i], most)
        most -= LINE
    # Where there is no room for all, they go on below.
    least = low
    for i in order:
        moved[i] = least = max(moved[i], least)
        least += LINE
    return moved


def cut(name: str, most: int) -> str:
    """Return a name with at most so many characters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def tick(value: float) -> str:
    """Return a tick's figure, without zeros at its end."""
    return f"{value:.10f}".rstrip("0").rstrip(".") if value < 1000 else f"{value:,.0f}"


def text(css: str, x: float, y: float, words: str, anchor: str) -> str:
    """Return a text element, its words escaped."""
    return (
        f'<text class="{css}" x="{px(x)}" y="{px(y)}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def px(value: float) -> str:
    """Return a length in pixels."""
    return f"{value:.1f}"


def _nice(value: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.9999)
