"""A report's files: the same bytes for the same runs, the same values in each form."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from bothends.eval.outlook import Crossing
from bothends.eval.report import (
    ReportInput,
    answer,
    scale,
    tables,
    write_csv,
    write_files,
    write_markdown,
    write_parquet,
)
from bothends.eval.report.load import load_reports
from bothends.eval.report.points import points
from bothends.eval.report.source import groups, merged
from bothends.infra.errors import RecordError

from .reports import demo_input, hosted_input, make_input, make_model
from .test_report_page import HOSTILE
from .trials import make_trial


def at_scale(factor: float, **usd: float) -> ReportInput:
    """Return a run at a scale factor, of a trial of each model with its dollars and seconds."""
    trials = [
        make_trial(model=f"openai:{name}", usd=cost, stage_s={"run": 1000 * cost})
        for name, cost in usd.items()
    ]
    keyed = [
        trial.model_copy(update={"key": trial.key.model_copy(update={"scale_factor": factor})})
        for trial in trials
    ]
    models = [make_model(f"openai:{name}") for name in usd]
    return make_input(models, keyed, replicas=1, scale_factor=factor, name=f"sf{factor:g}")


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_files(hosted_input(), tmp_path / name)
    first, second = (
        {
            file.relative_to(tmp_path / name): file.read_bytes()
            for file in (tmp_path / name).rglob("*.*")
        }
        for name in "ab"
    )
    assert first == second
    kinds = {"tables/cost.csv", "tables/cost.parquet", "tables/trials.parquet", "report.md"}
    assert {str(file) for file in first} >= kinds | {"report.html", "figures/cost_and_time.svg"}
    assert first[Path("figures/cost_and_time.png")].startswith(b"\x89PNG")


def test_parquet_holds_what_the_csv_does(tmp_path: Path) -> None:
    source = demo_input()
    write_csv(source, tmp_path)
    for file in write_parquet(source, tmp_path):
        table = pq.read_table(file)
        with file.with_suffix(".csv").open(newline="") as stream:
            head, *rows = csv.reader(stream)
        assert table.column_names == head
        for name, texts in zip(head, zip(*rows, strict=True), strict=True):
            for value, text in zip(table[name].to_pylist(), texts, strict=True):
                if isinstance(value, float):
                    assert value == float(text)
                else:
                    shown = str(value).lower() if isinstance(value, bool) else str(value)
                    assert ("" if value is None else shown) == text


def test_a_figure_stands_alone(tmp_path: Path) -> None:
    write_files(hosted_input(), tmp_path)
    svg = (tmp_path / "figures" / "cost_and_time.svg").read_text()
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" width="720" height="460"')
    assert "var(" not in svg
    assert ".c1 .ring" in svg


def test_markdown_obeys_nothing_of_a_run(tmp_path: Path) -> None:
    hostile = f"{HOSTILE} @all [x](https://example.org) | `a` ![b](c)"
    source = make_input([make_model(label=hostile)], [make_trial()], name=hostile, replicas=1)
    text = write_markdown(source, tmp_path / "report.md").read_text()
    markup = {"<details>", "</details>", "<summary>", "</summary>"}
    assert set(re.findall(r"<[^>]*>", text)) == markup
    for sign in ("@", "://", " | `", "[x]("):
        assert sign not in text
    # Each row of a table has as many cells as its head.
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()]
        assert len(set(cells)) == 1


def test_markdown_is_short_and_folds_the_rest(tmp_path: Path) -> None:
    text = write_markdown(hosted_input(), tmp_path / "report.md").read_text()
    open_, _, folded = text.partition("<details>")
    assert open_.startswith("## demo: gemini-3-flash costs the least per valid query: ")
    assert len(open_) < 3500
    heads = re.findall(r"^### (.*)", open_, re.M)
    assert heads == ["Accuracy and time by model", "Cost", "Which differ in accuracy"]
    assert "| gemini-3-flash | 30 | 30 | 1.00 | 1.00 | 9.17 |" in open_
    # Whole, with each stage's share, below.
    assert (
        "| gemini-3-flash | 30 | 30 | 1.00 | 1.00 | 1.00 | 1.00 | 9.17 | 0.171 | 12.0 |" in folded
    )


def test_of_many_crossings_three_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    crossings = [Crossing("a", f"m{i}", i + 1.0, 0.1, False) for i in range(5)]
    seen = SimpleNamespace(crossings=crossings)
    monkeypatch.setattr(scale, "outlook_of", lambda _: seen)
    said = scale.scale_words(demo_input())
    assert [each.split(" from")[0][-2:] for each in said[:3]] == ["m0", "m1", "m2"]
    assert said[3:] == ["2 more such places are in the chart."]
    seen.crossings = crossings[:3]
    assert len(scale.scale_words(demo_input())) == 3


def test_runs_at_several_scales_are_told_apart() -> None:
    small, large = at_scale(1, a=0.01, b=0.02), at_scale(10, a=0.09, b=0.03)
    source = merged("sweep", [small, large])
    assert [group.name for group in groups(source)] == [
        "a, SF 1",
        "b, SF 1",
        "a, SF 10",
        "b, SF 10",
    ]
    by_model = next(table for table in tables(source) if table.name == "by_model")
    assert [row[0].value for row in by_model.rows] == [group.name for group in groups(source)]
    # Each scale has its own winner, and the larger data is spoken of first.
    assert answer(source)[0] == "At SF 10: b costs the least per valid query: $0.0300."
    assert "At SF 1: a costs the least per valid query: $0.0100." in answer(source)
    # A dearer point of larger data is on its own front.
    assert [(p.name, p.scale, p.front) for p in points(source)] == [
        ("a", "SF 1", True),
        ("b", "SF 1", False),
        ("a", "SF 10", False),
        ("b", "SF 10", True),
    ]


def test_runs_of_one_configuration_are_one_group_and_other_recipes_are_not() -> None:
    one = at_scale(1, a=0.01)
    again = replace(one, name="again", trials=[t.model_copy() for t in one.trials])
    (group,) = groups(merged("both", [one, again]))
    assert (group.name, len(group.trials)) == ("a", 2)
    other = replace(again, recipe="single")
    assert [each.name for each in groups(merged("x", [one, other]))] == ["a, paper", "a, single"]


def test_a_directory_without_runs_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run directory: neither it nor a directory in it"):
        load_reports([tmp_path])


def test_several_scales_are_drawn_and_one_is_not(tmp_path: Path) -> None:
    source = merged("sweep", [at_scale(1, a=0.01), at_scale(10, a=0.09)])
    write_files(source, tmp_path / "several")
    write_files(at_scale(1, a=0.01), tmp_path / "one")
    charts = {"cost_and_time", "ves_and_cvq_by_scale", "ves_star_by_scale", "ex_by_scale"}
    charts.add("stages_by_scale")
    assert {file.stem for file in (tmp_path / "several" / "figures").iterdir()} == charts
    assert {file.stem for file in (tmp_path / "one" / "figures").iterdir()} == {"cost_and_time"}
    svg = (tmp_path / "several" / "figures" / "ves_and_cvq_by_scale.svg").read_text()
    assert [text for text in ("$0.0100", "$0.0900") if text in svg] == ["$0.0100", "$0.0900"]
    assert "As data grows" in (tmp_path / "several" / "report.html").read_text()
    assert "As data grows" not in (tmp_path / "one" / "report.html").read_text()
