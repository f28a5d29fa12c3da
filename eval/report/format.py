"""Numbers as they are read: few significant digits, a dash for what is undefined."""

from __future__ import annotations

import math
from typing import Literal

__all__ = ["DASH", "Kind", "dollars", "number", "with_spread"]

DASH = "—"

Kind = Literal["text", "count", "rate", "percent", "share", "figure"]
"""What a column holds: text; a count; a rate of trials from 0 to 1; a percentage; a share from 0
to 1; or any other figure, shown with three significant digits."""


def number(value: float | None, kind: Kind = "figure") -> str:
    """Return a number as text.

    A rate is never rounded to 0 or 1 unless it is exactly that.
    """
    if value is None:
        return DASH
    return _fixed(value, _decimals(value, kind))


def with_spread(mean: float | None, sd: float | None, kind: Kind = "figure") -> str:
    """Return `mean ± sd`, both with the decimals that the larger of them deserves."""
    if mean is None or sd is None:
        return number(mean, kind)
    decimals = _decimals(max(abs(mean), sd) if kind == "figure" else mean, kind)
    return f"{_fixed(mean, decimals)} ± {_fixed(sd, decimals)}"


def dollars(value: float | None) -> str:
    """Return a sum of money for a sentence."""
    return DASH if value is None else f"${number(value)}"


def _decimals(value: float, kind: Kind) -> int | None:
    if kind == "count":
        return 0
    if kind == "percent":
        return 1
    if kind == "share":
        return 2
    if kind == "rate":
        exact = value in (0.0, 1.0)
        return 2 if exact else next((n for n in (2, 3, 4) if 0 < round(value, n) < 1), 5)
    if value == 0:
        return 0
    magnitude = math.floor(math.log10(abs(value)))
    return max(0, 2 - magnitude) if magnitude >= -6 else None


def _fixed(value: float, decimals: int | None) -> str:
    return f"{value:.2e}" if decimals is None else f"{value:,.{decimals}f}"
