"""How sure the figures are: intervals, which differences can be told, what repetitions show."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import lru_cache
from itertools import combinations

from bothends.eval.report.format import Kind
from bothends.eval.report.helps import HELP
from bothends.eval.report.source import Group, ReportInput, contenders, groups
from bothends.eval.report.table import MODEL, Basis, Cell, Column, Table, marked, name_cell
from bothends.eval.stats import (
    MEASURES,
    Comparison,
    Interval,
    Repetition,
    compare_family,
    intervals,
    over_replicas,
)

__all__ = ["certainty_tables", "compared", "figure_intervals", "verdict_on_difference"]

_MEASURES = ("ex", "ves", "ves_star", "vces", "cvq", "e2e_s", "cost_usd")
_PAIRS = 66
"""Pairs that are compared at most: twelve configurations, each with each."""


@lru_cache(maxsize=1)
def figure_intervals(source: ReportInput) -> dict[str, dict[str, Interval]]:
    """Return the 95% intervals of each configuration's figures, by its name and the measure's."""
    databases = {question.id: question.database for question in source.questions}
    return {
        group.name: intervals(group.trials, _MEASURES, databases)
        for group in groups(source)
        if group.summary.counted
    }


@lru_cache(maxsize=1)
def compared(source: ReportInput) -> tuple[Comparison, ...]:
    """Return all pairs of contenders at the same scale factor; the pairs of one are a family.

    The same queries run at each: to test them once more is no other hypothesis. Empty where there
    are more pairs than a reader would look at.
    """
    of_scale: dict[float | None, list[Group]] = defaultdict(list)
    for group in contenders(groups(source)):
        of_scale[group.scale_factor].append(group)
    families = [list(combinations(found, 2)) for found in of_scale.values()]
    if sum(map(len, families)) > _PAIRS:
        return ()
    databases = {question.id: question.database for question in source.questions}
    return tuple(
        comparison
        for pairs in families
        if pairs
        for comparison in compare_family(pairs, databases, measures=("ex",))
    )


def verdict_on_difference(source: ReportInput) -> str | None:
    """Return what the sample shows of the two configurations that the answer is about.

    These are the cheapest per valid query and the most accurate other one, on the largest data.
    """
    largest = max(source.scale_factors, default=None)
    found = [
        group
        for group in contenders(groups(source))
        if len(source.scale_factors) < 2 or group.scale_factor == largest
    ]
    priced = [group for group in found if group.summary.cvq.mean is not None]
    if not priced:
        return None
    cheapest = min(priced, key=lambda group: group.summary.cvq.mean or 0.0)
    rivals = [group for group in found if group is not cheapest]
    if not rivals:
        return None
    best = max(rivals, key=lambda group: group.summary.ex.mean or 0.0)
    names = {cheapest.name, best.name}
    pair = next((each for each in compared(source) if {each.first, each.second} == names), None)
    return None if pair is None else f"On accuracy, {pair.sentence}"


def certainty_tables(source: ReportInput) -> tuple[Table, ...]:
    """Return the tables of intervals, of comparisons and of repetitions that say something."""
    made = (_intervals(source), _comparisons(source), _repetitions(source))
    return tuple(table for table in made if table is not None)


def _intervals(source: ReportInput) -> Table | None:
    found = figure_intervals(source)
    if not found:
        return None
    rows = []
    for group in groups(source):
        its = found.get(group.name)
        if its is None:
            continue
        cells = []
        for name in _MEASURES:
            dollars = Basis.of(group).dollars if name in ("vces", "cvq", "cost_usd") else ()
            cells += [marked(its[name].estimate, dollars), *_ends(its[name])]
        rows.append((name_cell(group), Cell(its["ex"].count), *cells))
    units = next(iter(found.values()))["ex"].units
    columns = [MODEL, Column("units", units.capitalize(), help="What is resampled.", kind="count")]
    for name in _MEASURES:
        measure = MEASURES[name]
        kind: Kind = "rate" if measure.rate else "figure"
        unit = "_usd" if measure.unit == "$" and not name.endswith("_usd") else ""
        unit = "_per_usd" if name == "vces" else unit
        columns += [
            Column(f"{name}{unit}", measure.heading, unit=measure.unit, help=HELP[name], kind=kind),
            Column(f"{name}{unit}_low", "from", help=f"Lower end of {measure.heading}.", kind=kind),
            Column(f"{name}{unit}_high", "to", help=f"Upper end of {measure.heading}.", kind=kind),
        ]
    methods = dict.fromkeys(
        each.method.partition(",")[0] for its in found.values() for each in its.values()
    )
    notes = (
        f"95% intervals over {units}, with all of their replicas: "
        f"{'; '.join(method for method in methods if method)}. A dash is no bound: resamples "
        "without a valid answer are not rare.",
    )
    return Table("intervals", "Intervals", tuple(columns), tuple(rows), notes)


def _ends(interval: Interval) -> tuple[Cell, Cell]:
    low, high = (
        Cell(None if end is None or math.isinf(end) else end)
        for end in (interval.low, interval.high)
    )
    return low, high


def _comparisons(source: ReportInput) -> Table | None:
    pairs = compared(source)
    if not pairs:
        return None
    rows = tuple(
        (
            Cell(pair.first),
            Cell(pair.second),
            Cell(pair.questions),
            Cell(pair.difference.estimate),
            *_ends(pair.difference),
            Cell(pair.p),
            Cell(pair.p_holm),
            Cell("yes" if pair.told_apart else "no"),
            Cell(pair.sentence),
        )
        for pair in pairs
    )
    columns = (
        Column("first", "First", kind="text", identifies=True),
        Column("second", "Second", kind="text", identifies=True),
        Column("questions", "Questions", help="Questions that both were asked.", kind="count"),
        Column(
            "ex_difference", "EX", unit="difference", help="EX of the first minus the second's."
        ),
        Column("ex_difference_low", "from", help="Lower end of its 95% interval."),
        Column("ex_difference_high", "to", help="Upper end of its 95% interval."),
        Column(
            "p",
            "p",
            help="Two-sided: exact McNemar, or sign flips of questions where there are replicas.",
        ),
        Column("p_holm", "p Holm", help="After Holm's correction over all pairs."),
        Column(
            "told_apart",
            "Told apart",
            help="p after Holm is at most 0.05, and the interval excludes 0.",
            kind="text",
        ),
        Column("sentence", "In words", kind="text"),
    )
    return Table("comparisons", "Which differ in accuracy", columns, rows)


def _repetitions(source: ReportInput) -> Table | None:
    if source.replicas < 2:
        return None
    found: list[tuple[Group, Repetition]] = [
        (group, over_replicas(group.trials)) for group in groups(source) if group.summary.counted
    ]
    most = max((k for _, each in found for k in each.pass_at), default=0)
    if most < 2:
        return None
    shown = sorted({k for k in (1, 2, 3, 5, 10, 20, 50, most) if k <= most})
    rows = tuple(
        (
            name_cell(group),
            Cell(each.consistency),
            *(Cell(each.pass_at.get(k)) for k in shown),
            *(Cell(each.pass_hat.get(k)) for k in shown[1:]),
        )
        for group, each in found
    )
    columns = (
        MODEL,
        Column(
            "consistency",
            "Consistency",
            help="Share of questions whose replicas are all valid or all invalid.",
            kind="rate",
        ),
        *(
            Column(
                f"pass_at_{k}",
                f"pass@{k}",
                help=f"Chance that at least one of {k} attempts is valid: "
                "mean(1 - C(n - c, k) / C(n, k)).",
                kind="rate",
            )
            for k in shown
        ),
        *(
            Column(
                f"pass_hat_{k}",
                f"pass^{k}",
                help=f"Chance that all of {k} attempts are valid: mean(C(c, k) / C(n, k)).",
                kind="rate",
            )
            for k in shown[1:]
        ),
    )
    return Table("repetitions", "What repetitions show", columns, rows)
