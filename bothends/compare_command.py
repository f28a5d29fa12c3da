"""`bothends compare`: two runs, or the models of one, on the same questions."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from bothends.eval.report.table import Table
    from bothends.eval.stats import Comparison, Interval
    from bothends.eval.versus import Comparisons

__all__ = ["compare"]

_NAMED = 20


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run directory.")],
    second: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN_B]", help="Another. Default: the models of the first."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Only this model, by name or label; repeatable.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all of it as JSON, too.")
    ] = None,
) -> None:
    """Compare two runs on the same questions: who is better, by how much, and is it chance?"""
    from rich.console import Console

    from bothends.eval.versus import compare as compared

    found = compared(first, second, models=model or ())
    _print(found, Console())
    if json_file is not None:
        _write(found, json_file)


def _print(found: Comparisons, console: Console) -> None:
    from rich.text import Text

    from bothends.eval.report.terminal import plain, print_table

    def say(text: str, style: str = "") -> None:
        console.print(Text(plain(text), style=style), soft_wrap=not style)

    console.print()
    for each in found.comparisons:
        say(each.sentence, "bold")
    console.print()
    for note in _notes(found):
        say(f"! {note}.", "yellow")
    intervals = [each.difference for each in found.comparisons]
    caveats = [each.caveat for each in intervals if each.caveat]
    for caveat in dict.fromkeys(caveats):
        say(f"! {caveat}.", "yellow")
    for table in (_tests(found), *map(_measures, found.comparisons)):
        print_table(table, console)
    for each in found.comparisons:
        console.print()
        say(f"Better on: {each.first}: {_ids(each.first_only)}")
        say(f"           {each.second}: {_ids(each.second_only)}")


def _notes(found: Comparisons) -> list[str]:
    from bothends.eval.report.words import plural

    notes = list(found.notes)
    if found.left_out:
        reasons = Counter(found.left_out.values()).most_common()
        told = ", ".join(f"{count} {reason}" for reason, count in reasons)
        notes.insert(
            0,
            f"{plural(len(found.questions), 'question')} "
            f"{'is' if len(found.questions) == 1 else 'are'} the same in both; "
            f"{len(found.left_out)} {'is' if len(found.left_out) == 1 else 'are'} left out: {told}",
        )
    return notes


def _tests(found: Comparisons) -> Table:
    from bothends.eval.report.table import Cell, Column, Table
    from bothends.eval.stats.words import p_in_words, points

    rows = tuple(
        (
            Cell(each.first),
            Cell(each.second),
            Cell(each.questions),
            Cell(each.table.both),
            Cell(each.table.only_first),
            Cell(each.table.only_second),
            Cell(each.table.neither),
            Cell(None if each.p is None else p_in_words(each.p).removeprefix("p ").lstrip("= ")),
            Cell(
                None
                if each.p_holm is None
                else p_in_words(each.p_holm).removeprefix("p ").lstrip("= ")
            ),
            Cell(None if each.detectable is None else points(each.detectable)),
        )
        for each in found.comparisons
    )
    columns = (
        Column("first", "A", kind="text", identifies=True),
        Column("second", "B", kind="text", identifies=True),
        Column("questions", "Questions", kind="count"),
        Column("both", "Both", "right", kind="count"),
        Column("only_first", "Only A", "right", kind="count"),
        Column("only_second", "Only B", "right", kind="count"),
        Column("neither", "Neither", "right", kind="count"),
        Column("p", "p", kind="figure"),
        Column("p_holm", "p", "Holm", kind="figure"),
        Column("detectable", "Detectable", "points", kind="figure"),
    )
    tests = " and ".join(dict.fromkeys(each.test for each in found.comparisons))
    notes = [
        f"Test of EX: {tests}, two-sided. Family: {found.family}, {len(rows)} in all.",
        "Detectable: the smallest difference of EX that would be shown with 80% power at 0.05 over "
        "the family.",
    ]
    if any(each.replicas > 1 for each in found.comparisons):
        notes.append("Right: more than half of a question's replicas are valid.")
    return Table("tests", "Who was right", columns, rows, tuple(notes))


def _measures(comparison: Comparison) -> Table:
    from bothends.eval.report.table import Cell, Column, Table
    from bothends.eval.stats import MEASURES

    rows = []
    for name, difference in comparison.differences.items():
        one, other = comparison.values[name]
        if one is None and other is None:
            continue
        heading, unit = MEASURES[name].heading, MEASURES[name].unit
        rows.append(
            (
                Cell(f"{heading} ({unit})" if unit else heading),
                Cell(one),
                Cell(other),
                Cell(difference.estimate),
                Cell(_ends(difference)),
            )
        )
    columns = (
        Column("metric", "Metric", kind="text", identifies=True),
        Column("first", "A"),
        Column("second", "B"),
        Column("difference", "A - B"),
        Column("interval", "95% interval"),
    )
    method = comparison.difference.method
    notes = (f"Paired differences: {method}.",) if method else ()
    title = f"A: {comparison.first}, B: {comparison.second}"
    return Table("measures", title, columns, tuple(rows), notes)


def _ends(interval: Interval) -> str | None:
    from bothends.eval.report.format import number

    if interval.low is None or interval.high is None:
        return None
    low = "no bound" if math.isinf(interval.low) else number(interval.low)
    return f"{low} to {'no bound' if math.isinf(interval.high) else number(interval.high)}"


def _ids(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)}: {', '.join(names[:_NAMED])}{more}"


def _write(found: Comparisons, file: Path) -> None:
    from bothends.infra.errors import RecordError

    content = asdict(found)
    for made, each in zip(content["comparisons"], found.comparisons, strict=True):
        made["sentence"] = each.sentence
    try:
        file.write_text(json.dumps(_finite(content), indent=2) + "\n", "utf-8")
    except OSError as error:
        raise RecordError(f"{file} cannot be written: {error.strerror}") from None


def _finite(value: Any) -> Any:
    """Return JSON's form of a value: it has no infinity, so that no bound is null."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
