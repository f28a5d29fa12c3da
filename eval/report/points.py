"""The points of the report's first chart: one a configuration, and which of them are best."""

from __future__ import annotations

from collections.abc import Iterable

from bothends.eval.report.certainty import figure_intervals
from bothends.eval.report.chart import Point
from bothends.eval.report.source import Group, ReportInput, contenders, groups
from bothends.eval.report.table import MARKS, Basis
from bothends.eval.stats import Interval

__all__ = ["points", "signed"]

COLORS = 8


def points(source: ReportInput) -> list[Point]:
    """Return a point for each configuration whose seconds and cost per valid query are known."""
    found = groups(source)
    several = len(source.scale_factors) > 1
    colors = {label: number for number, label in enumerate(dict.fromkeys(g.label for g in found))}
    best = set(front(contenders(found)))
    sure = figure_intervals(source)
    return [
        Point(
            name=signed(group, group.label if several else group.name),
            seconds=group.summary.e2e_s.mean,
            usd=group.summary.cvq.mean,
            color=1 + colors[group.label] % COLORS,
            scale=f"SF {group.scale_factor:g}" if several and group.scale_factor else "",
            front=group.name in best,
            seconds_ci=_ends(sure[group.name]["e2e_s"]),
            usd_ci=_ends(sure[group.name]["cvq"]),
        )
        for group in found
        if group.summary.e2e_s.mean is not None and group.summary.cvq.mean is not None
    ]


def front(found: Iterable[Group]) -> list[str]:
    """Return the names on the Pareto front of seconds and cost per valid query, scale by scale.

    A configuration is on it where no other of its scale factor is as fast and as cheap, and faster
    or cheaper. Data of another scale is other work.
    """
    known = [
        (group, group.summary.e2e_s.mean, group.summary.cvq.mean)
        for group in found
        if group.summary.e2e_s.mean is not None and group.summary.cvq.mean is not None
    ]
    return [
        group.name
        for group, seconds, usd in known
        if not any(
            other.scale_factor == group.scale_factor
            and its_s <= seconds
            and its_usd <= usd
            and (its_s, its_usd) != (seconds, usd)
            for other, its_s, its_usd in known
        )
    ]


def _ends(interval: Interval) -> tuple[float, float] | None:
    """Return the ends of an interval; the upper one may be infinite."""
    return None if interval.low is None or interval.high is None else (interval.low, interval.high)


def signed(group: Group, name: str | None = None) -> str:
    """Return a name with the signs of what it is and what its dollars rest on."""
    basis = Basis.of(group)
    signs = "".join(MARKS[mark][0] for mark in (*basis.dollars, *basis.name))
    return f"{name or group.name} {signs}".rstrip()
