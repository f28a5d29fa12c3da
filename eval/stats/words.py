"""Comparisons as plain sentences: who beats whom by how much, or that it cannot be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bothends.eval.stats.comparison import Comparison
    from bothends.eval.stats.interval import Interval

__all__ = ["p_in_words", "points", "sentence"]


def sentence(comparison: Comparison) -> str:
    """Return what follows from a comparison of EX, with its numbers.

    One beats the other only where p after Holm is at most 0.05 and the interval excludes 0.
    """
    c = comparison
    if c.p_holm is None:
        return (
            f"{c.first} and {c.second} cannot be compared: no question has a scored trial of both."
        )
    p = p_in_words(c.p_holm)
    if c.family > 1:
        p += f" after Holm over {c.family} comparisons"
    difference = c.difference
    behind = _estimate(difference) < 0
    ahead, other = (c.second, c.first) if behind else (c.first, c.second)
    by = f"{points(abs(_estimate(difference)))} points{_interval(difference, turned=behind)}, {p}"
    if c.told_apart:
        return f"{ahead} beats {other} by {by}."
    these = f"these {c.questions} questions" if c.questions > 1 else "this one question"
    return f"{ahead} and {other} cannot be told apart with {these} (difference {by}; {_least(c)})."


def _least(comparison: Comparison) -> str:
    if comparison.shown_by_test:
        units = f"{comparison.difference.count} {comparison.difference.units}"
        return f"the test takes questions as independent, but the interval over {units} includes 0"
    # With replicas it is an approximation, which few questions carry beyond what there can be.
    if comparison.detectable is not None and comparison.detectable <= 1:
        share = 100 * comparison.detectable
        return f"the smallest difference this sample would show is about {share:.0f} points"
    if comparison.replicas == 1 or comparison.detectable is not None:
        return "this sample would show no difference at all, however large"
    return "how large a difference this sample would show cannot be told"


def points(share: float) -> str:
    """Return a difference of shares in percentage points, with one decimal."""
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text


def p_in_words(p: float) -> str:
    """Return a p value with its sign: two significant digits, never 0."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def _estimate(difference: Interval) -> float:
    return difference.estimate or 0.0


def _interval(difference: Interval, *, turned: bool = False) -> str:
    low, high = difference.low, difference.high
    if low is None or high is None:
        return ""
    if turned:
        low, high = -high, -low
    return f", {100 * difference.level:.0f}% interval {points(low)} to {points(high)}"
