"""Reports: the same figures everywhere, the answer in words, and nothing that can be injected."""

from __future__ import annotations

import base64
import csv
import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bothends.eval.manifest import QuestionTerms
from bothends.eval.record import Timing, Trial
from bothends.eval.report import (
    ReportInput,
    answer,
    print_report,
    tables,
    write_csv,
    write_html,
)
from bothends.eval.report.chart import Point, scatter
from bothends.eval.report.format import dollars, number, with_spread
from bothends.infra.errors import RecordError

from .reports import QUESTIONS, demo_input, hosted_input, make_input, make_model
from .trials import make_trial, make_verdict

HOSTILE = "</script><img src=x onerror=alert(1)><!--\x1b[31m\ud800{{7*7}}"


class TableReader(HTMLParser):
    """Reads the cells of the report's tables: the raw value of a figure, or the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.resources: list[str] = []
        self.tags: list[str] = []
        self._rows: list[list[str]] = []
        self._in_cell = self._skip = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self.resources += [v or "" for k, v in attrs if k in ("src", "href", "action", "data")]
        if tag == "table":
            self._rows = self.tables.setdefault(str(values["data-name"]), [])
        elif tag == "tr":
            self._rows.append([])
        elif tag == "td":
            self._in_cell = True
            self._rows[-1].append("")
        elif tag == "data":
            self._rows[-1][-1] = str(values["value"])
            self._skip = True
        elif tag == "span" and self._in_cell:
            self._skip = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("data", "span"):
            self._skip = False
        elif tag == "td":
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell and not self._skip:
            self._rows[-1][-1] += data.strip()


def read_html(source: ReportInput, directory: Path) -> tuple[str, TableReader]:
    text = write_html(source, directory / "report.html").read_text(encoding="utf-8")
    reader = TableReader()
    reader.feed(text)
    return text, reader


def unpacked(packed: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(packed), -15))


def embedded(text: str) -> tuple[Any, dict[str, list[Any]]]:
    """Return the page's index of trials, and its layers: each trial's content, or None."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found
    data = json.loads(found[1])
    index = unpacked(data["index"])
    layers: dict[str, list[Any]] = {}
    for name, layer in data["layers"].items():
        chunks = [unpacked(chunk) for chunk in layer["chunks"]]
        flat = [each for c in chunks for each in (c["talks"] if name == "talk" else c)]
        assert len(flat) == layer["count"]
        layers[name] = [None] * len(index["order"])
        for trial, content in zip(index["order"], flat, strict=False):
            layers[name][trial] = content
        if name == "talk":
            texts = [text for chunk in chunks for text in chunk["texts"]]
            layers["texts"] = texts
    return index, layers


def attempts(spec: str, usd: float | None, valid: int, of: int = 10) -> list[Trial]:
    """Return trials of one model on q1, of which the first ones are valid."""
    return [
        make_trial(model=spec, replica=i, usd=usd, error_class=None if i < valid else "D")
        for i in range(of)
    ]


def source_of(*trials: Iterable[Trial], replicas: int = 10) -> ReportInput:
    flat = [trial for some in trials for trial in some]
    specs = dict.fromkeys(trial.key.model for trial in flat)
    return make_input([make_model(spec) for spec in specs], flat, replicas=replicas)


# The figures.


@pytest.mark.parametrize("make", [demo_input, hosted_input])
def test_html_holds_the_figures_of_the_csv(make: type[ReportInput], tmp_path: Path) -> None:
    source = make()
    _, reader = read_html(source, tmp_path)
    files = {file.stem: file for file in write_csv(source, tmp_path)}
    assert set(reader.tables) == set(files) - {"trials"}
    for name, rows in reader.tables.items():
        with files[name].open(newline="") as stream:
            head, *expected = csv.reader(stream)
        shown = [i for i, key in enumerate(head) if not key.endswith("_sd") and key != "basis"]
        if name == "by_model":  # where the deviation is a column of its own
            shown = [i for i, key in enumerate(head) if key != "basis"]
        assert [[cell.replace("—", "") for cell in row] for row in rows if row] == [
            [row[i] for i in shown] for row in expected
        ]


def test_csv_keeps_every_digit_and_leaves_undefined_empty(tmp_path: Path) -> None:
    trials = [
        make_trial(replica=0, usd=0.1, engine_usd=0.2),
        make_trial(replica=1, status="failed", error="no such column: x", usd=0.1, engine_usd=0.2),
        make_trial(model="openai:none", replica=0, error_class="A"),
    ]
    files = {file.stem: file for file in write_csv(source_of(trials), tmp_path)}
    with files["cost"].open(newline="") as stream:
        cost = list(csv.DictReader(stream))
    assert float(cost[0]["attempt_usd"]) == pytest.approx(0.1 + 0.2, rel=1e-15)
    assert float(cost[0]["cvq_usd"]) == pytest.approx(0.6, rel=1e-15)
    assert cost[1]["cvq_usd"] == ""
    with files["trials"].open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["usd"] == "0.30000000000000004"
    assert rows[0]["valid"] == "true"
    assert (rows[1]["valid"], rows[1]["error"]) == ("", "no such column: x")
    assert rows[2]["error_class"] == "A"


def test_stage_shares_add_up_and_follow_from_the_seconds() -> None:
    source = source_of([make_trial(overhead_s=1.0)])  # stages 0.5, 1, 2, 0.5 of 5 s
    table = tables(source)[0]
    row = dict(zip((column.key for column in table.columns), table.rows[0], strict=True))
    shares = [row[f"{x}_pct"].value for x in ("list", "schema", "check", "run", "answer")]
    assert shares == pytest.approx([10, 20, 40, 10, 0])
    assert row["overhead_pct"].value == pytest.approx(20)


def test_best_model_is_one_and_the_others_are_its_parts() -> None:
    source = source_of(attempts("openai:a", 0.01, 10), attempts("openai:b", 0.04, 5), replicas=10)
    by_name = {table.name: table for table in tables(source)}
    efficiency, cost = by_name["efficiency"], by_name["cost"]
    keys = [column.key for column in efficiency.columns]
    assert [row[keys.index("ves_normalised")].value for row in efficiency.rows] == [1, 0.5]
    keys = [column.key for column in cost.columns]
    values = [row[keys.index("vces_normalised")].value for row in cost.rows]
    assert values == pytest.approx([1, 0.5 / 4])


def test_the_cost_table_says_what_was_burned() -> None:
    trials = [
        make_trial(replica=0, usd=0.01),
        make_trial(replica=1, usd=0.03, error_class="D"),
        make_trial(replica=2, usd=0.04, status="failed"),
        make_trial(replica=3, usd=5.0, status="provider_error"),
    ]
    (table,) = (table for table in tables(source_of(trials)) if table.name == "cost")
    row = {c.key: cell.value for c, cell in zip(table.columns, table.rows[0], strict=True)}
    assert row["burned_usd"] == pytest.approx(0.07)
    assert row["burned_share"] == pytest.approx(0.07 / 0.08)


def test_outcomes_count_what_is_scored_and_what_is_not() -> None:
    trials = [
        make_trial(replica=0),
        make_trial(replica=1, error_class="C"),
        make_trial(replica=2, status="provider_error", error="429"),
        make_trial(replica=3, status="gold_failed"),
        make_trial(replica=4, status="timeout"),
        make_trial(replica=5, status="unjudged"),
    ]
    by_name = {table.name: table for table in tables(source_of(trials))}
    table = by_name["outcomes"]
    row = {c.key: cell.value for c, cell in zip(table.columns, table.rows[0], strict=True)}
    expected = {"trials": 6, "exact": 1, "class_C": 1, "timeout": 1, "failed": 0}
    assert row | expected | {"provider_error": 1, "gold_failed": 1, "unjudged": 1} == row
    assert by_name["by_model"].rows[0][1].value == 3


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "figure", "—"),
        (0.0, "figure", "0"),
        (0.0012345, "figure", "0.00123"),
        (115.95, "figure", "116"),
        (12345.6, "figure", "12,346"),
        (4e-7, "figure", "4.00e-07"),
        (1.0, "rate", "1.00"),
        (399 / 400, "rate", "0.998"),
        (1 / 1000, "rate", "0.001"),
        (62.08, "percent", "62.1"),
        (1234, "count", "1,234"),
    ],
)
def test_numbers_have_honest_digits(value: float | None, kind: str, text: str) -> None:
    assert number(value, kind) == text  # type: ignore[arg-type]


def test_a_deviation_has_the_decimals_of_its_mean() -> None:
    assert with_spread(0.0111, 0.0040) == "0.0111 ± 0.0040"
    assert with_spread(0.0004, 0.0690) == "0.0004 ± 0.0690"
    assert with_spread(0.6, 0.49, "rate") == "0.60 ± 0.49"
    assert with_spread(None, None) == "—"
    assert dollars(0.0012) == "$0.00120"


# The marks.


def test_a_row_says_what_it_is_and_dollars_say_what_they_rest_on() -> None:
    trials = [
        make_trial(model="scripted:perfect", kind="scripted", estimated=True),
        make_trial(model="replay:r", kind="replay", replayed=True),
        make_trial(model="openai:gpt-4o", estimated=True),
    ]
    source = make_input(
        [
            make_model("scripted:perfect"),
            make_model("replay:r", kind="replay"),
            make_model("openai:gpt-4o"),
        ],
        trials,
    )
    marks = {
        (table.name, row[0].value, column.key): set(cell.marks)
        for table in tables(source)
        if table.name in ("by_model", "efficiency", "cost")
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
    }
    for table in ("by_model", "efficiency", "cost"):
        assert marks[table, "perfect", "model"] == {"scripted"}
        assert marks[table, "r", "model"] == {"replayed"}
        assert marks[table, "gpt-4o", "model"] == set()
    for key in ("cvq_usd", "attempt_usd", "vces_per_usd", "check_cost_factor"):
        assert marks["cost", "perfect", key] == {"estimated"}
        assert marks["cost", "r", key] == set()
        assert marks["cost", "gpt-4o", key] == {"estimated"}


def test_every_form_shows_the_marks_and_says_what_they_mean(tmp_path: Path) -> None:
    source = demo_input()
    text, _ = read_html(source, tmp_path)
    output = StringIO()
    print_report(source, Console(file=output, width=120))
    for sign, meaning in (("~", "tokenizer"), ("(r)", "recording"), ("(s)", "script")):
        assert sign in output.getvalue()
        assert re.search(rf'class="label"[^>]*>[^<]*{re.escape(sign)}', text)
        assert re.search(rf'class="mark"[^>]*{meaning}[^>]*>{re.escape(sign)}<', text)
    (file,) = [file for file in write_csv(source, tmp_path) if file.stem == "cost"]
    with file.open(newline="") as stream:
        assert [row["basis"] for row in csv.DictReader(stream)] == [
            *["estimated scripted"] * 3,
            "replayed",
        ]


# The answer.


def test_answer_names_the_cheapest_per_valid_query_though_its_attempts_cost_more() -> None:
    source = source_of(attempts("openai:dear", 0.012, 10), attempts("openai:cheap", 0.008, 2))
    first, second, third, *_ = answer(source)
    assert first == "dear costs the least per valid query: $0.0120."
    assert second == (
        "cheap is next at $0.0400, 3.3 times as much, although each of its attempts costs less "
        "($0.00800 against $0.0120): fewer of them are valid."
    )
    assert third == "dear is also the most accurate: EX 1.00, 10 of 10 trials valid."


def test_answer_weighs_the_most_accurate_against_the_cheapest() -> None:
    source = source_of(attempts("openai:a", 0.01, 8), attempts("openai:b", 0.05, 10))
    assert answer(source)[2] == (
        "b is the most accurate: EX 1.00, 10 of 10 trials valid, against 0.80 for a, at $0.0500 "
        "per valid query (4.0 times as much)."
    )


def test_answer_warns_of_cheap_attempts_that_are_never_valid() -> None:
    source = source_of(
        attempts("openai:a", 0.01, 10),
        attempts("openai:b", 0.02, 10),
        attempts("openai:c", 0.001, 0),
    )
    said = answer(source)
    assert "c has the cheapest attempts ($0.00100), but none of its 10 is valid." in said
    assert "a and b are the most accurate: EX 1.00." in said


def test_answer_without_a_trial() -> None:
    source = make_input([make_model()], [])
    assert answer(source)[0] == "No trial has finished yet, so there is nothing to compare."


def test_answer_without_a_scored_trial() -> None:
    said = answer(source_of([make_trial(status="provider_error", error="429")], replicas=1))
    assert said[0] == "None of the 1 trial could be scored."
    assert "1 trial left out of every figure: the model's provider failed." in said


def test_answer_without_a_valid_trial() -> None:
    said = answer(source_of(attempts("openai:a", 0.01, 0), attempts("openai:b", 0.01, 0)))
    assert said == ["a and b gave no valid answer in 20 trials: there is no cost per valid query."]


def test_answer_where_no_price_is_known() -> None:
    trials = [*attempts("openai:a", None, 9), *attempts("openai:b", None, 5)]
    models = [
        make_model(f"openai:{name}", priced_by="not priced: no price is known") for name in "ab"
    ]
    said = answer(make_input(models, trials))
    assert said[:3] == [
        "No cost per valid query is known.",
        "What a and b cost is not known (not priced: no price is known).",
        "a is the most accurate: EX 0.90, 9 of 10 trials valid.",
    ]


def test_answer_where_tokens_are_not_known() -> None:
    trials = [make_trial(), make_trial(usd=None, tokens=None, replica=1)]
    said = answer(make_input([make_model()], trials))
    assert said[2] == (
        "What gpt-4o costs is not known (tokens were not reported in 1 of 2 trials)."
    )


def test_answer_where_the_engines_price_is_not_known() -> None:
    trial = make_trial(engine_usd=None)
    by = {"engine_priced_by": "lake at $4 per TB scanned; not priced"}
    trials = [trial.model_copy(update={"cost": trial.cost.model_copy(update=by)})] * 2
    said = answer(make_input([make_model()], trials))
    assert said[2] == "What gpt-4o costs is not known (lake at $4 per TB scanned; not priced)."


def test_answer_for_one_model() -> None:
    said = answer(source_of(attempts("openai:a", 0.01, 8)))
    assert said == [
        "a costs $0.0125 per valid query.",
        "Its EX is 0.80: 8 of its 10 trials gave a valid answer, and an attempt costs $0.0100.",
    ]


def test_answer_for_ties() -> None:
    said = answer(source_of(attempts("openai:a", 0.01, 10), attempts("openai:b", 0.01, 10)))
    assert said == [
        "a and b cost the least per valid query: $0.0100 each.",
        "All are equally accurate: EX 1.00.",
    ]


def test_scripts_step_aside_where_models_are_compared() -> None:
    script = [make_trial(model="scripted:perfect", kind="scripted", usd=0.0001)]
    models = (attempts("openai:a", 0.01, 10), attempts("openai:b", 0.02, 10))
    assert answer(source_of(script, *models))[0].startswith("a costs the least")
    assert any("leaves them out" in said for said in answer(source_of(script, *models)))
    assert answer(source_of(script, models[0]))[0].startswith("perfect (script) costs the least")


def test_caveats_name_what_the_figures_rest_on() -> None:
    said = " ".join(answer(demo_input()))
    assert "perfect, flaky and extra_column are scripts that are told the SQL" in said
    assert "qwen2.5-0.5b: replayed from a recording" in said
    assert "tokens were counted here" in said
    assert "With 2 replicas of each question" in said
    several = make_verdict(gold_nondeterministic=True)
    trials = [
        make_trial(status="gold_failed"),
        make_trial(replica=1, verdict=make_verdict(empty_gold=True)),
        make_trial(replica=2, verdict=several),
        make_trial(replica=3, status="unjudged"),
    ]
    said = " ".join(answer(source_of(trials)))
    assert "The run is not finished: 4 of 10 trials are in." in said
    assert "one of several right ones on 1 question (q1)" in said
    assert "whether the result is right cannot be told on question q1." in said
    assert "1 trial left out of every figure: gold failed on question q1." in said
    assert "Gold has no rows, or nothing but NULL, on question q1" in said


def test_caveats_tell_of_times_that_do_not_repeat_and_of_waiting() -> None:
    def timed(replica: int, *gold_s: float) -> Trial:
        made = make_trial(replica=replica)
        timing = Timing(
            gold_s=gold_s,
            generated_s=(0.4,) * len(gold_s),
            gold_median_s=gold_s[0],
            generated_median_s=0.4,
        )
        return made.model_copy(update={"timing": timing})

    # 0.2 to 0.29 is less than half of a median of 0.2 apart, 0.2 to 0.31 is more.
    steady, wide = timed(0, 0.2, 0.2, 0.29), timed(1, 0.2, 0.2, 0.31)
    assert "lie apart" not in " ".join(answer(source_of([steady])))
    said = " ".join(answer(source_of([steady, wide])))
    assert "1 of 2 timings lie apart by more than half of their median" in said
    waited = steady.model_copy(update={"retries": 2, "retry_s": 61.0})
    assert "1 trial waited for the model's provider, 61 s in all" in " ".join(
        answer(source_of([waited]))
    )


def test_models_of_one_label_are_told_apart() -> None:
    models = [make_model(f"{provider}:llama", label="llama") for provider in ("ollama", "groq")]
    trials = [t for model in models for t in attempts(model.spec, 0.01, 10)]
    assert "llama [ollama:llama] and llama [groq:llama]" in answer(make_input(models, trials))[0]


# The forms.


def hostile_input() -> ReportInput:
    trial = make_trial(
        sql=HOSTILE,
        status="failed",
        error=HOSTILE,
        first_rows=((HOSTILE, None),),
        columns=(HOSTILE, "b"),
    )
    step = trial.steps[0].model_copy(update={"text": HOSTILE, "error": HOSTILE, "name": HOSTILE})
    question = QuestionTerms(id="q1", title=HOSTILE, text=HOSTILE, gold_sql=HOSTILE)
    return make_input(
        [make_model(label=HOSTILE, description=HOSTILE, priced_by=HOSTILE)],
        [trial.model_copy(update={"steps": (step,)}), make_trial(replica=1)],
        questions=[question],
        name=HOSTILE,
        versions={HOSTILE: HOSTILE},
    )


def test_hostile_content_stays_text(tmp_path: Path) -> None:
    text, reader = read_html(hostile_input(), tmp_path)
    assert "img" not in reader.tags
    assert reader.tags.count("script") == text.count("</script>") == 3
    assert "{{7*7}}" in text
    _, layers = embedded(text)
    written = HOSTILE.replace("\ud800", "?")
    assert layers["query"][0]["sql"] == layers["query"][0]["error"] == written
    write_csv(hostile_input(), tmp_path)
    output = StringIO()
    print_report(hostile_input(), Console(file=output, width=80))
    assert "\x1b" not in output.getvalue()


def test_html_asks_the_network_for_nothing(tmp_path: Path) -> None:
    text, reader = read_html(demo_input(), tmp_path)
    assert all(resource.startswith(("#", "data:")) for resource in reader.resources)
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text


def test_html_has_the_same_bytes_for_the_same_run(tmp_path: Path) -> None:
    one = write_html(demo_input(), tmp_path / "a" / "one.html").read_bytes()
    assert one == write_html(demo_input(), tmp_path / "two.html").read_bytes()


def test_html_shows_undefined_as_a_dash_and_beside_the_chart(tmp_path: Path) -> None:
    source = source_of(attempts("openai:a", 0.01, 10), attempts("openai:b", 0.01, 0))
    text, _ = read_html(source, tmp_path)
    assert '<span class="undefined">b —</span>' in text
    assert text.count('class="point"') == 2  # model a, in the wide and in the narrow chart
    for cell in re.findall(r"<td[^>]*>(.*?)</td>", text, re.S):
        assert cell.strip() not in ("", "None", "nan")


def test_html_without_a_point_has_no_chart(tmp_path: Path) -> None:
    text, _ = read_html(source_of(attempts("openai:b", 0.01, 0)), tmp_path)
    assert "<svg" not in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("make", [demo_input, hosted_input])
def test_terminal_report_fits_and_drops_no_figure(make: type[ReportInput], width: int) -> None:
    source = make()
    output = StringIO()
    print_report(source, Console(file=output, width=width))
    lines = output.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for table in tables(source):
        for column, cells in zip(table.columns, zip(*table.rows, strict=True), strict=True):
            if column.align == "right" and not column.secondary:
                for cell in cells:
                    assert column.text(cell) in output.getvalue()
    assert lines[1].startswith(answer(source)[0].split()[0])


def test_terminal_leaves_a_very_long_table_to_the_files() -> None:
    questions = [
        QuestionTerms(id=f"q{i}", title="", text="?", gold_sql="SELECT 1") for i in range(61)
    ]
    trials = [make_trial(question_id=question.id) for question in questions]
    output = StringIO()
    source = make_input([make_model()], trials, questions=questions, replicas=1)
    print_report(source, Console(file=output, width=80))
    assert "61 rows: see by_question.csv" in output.getvalue()


def test_chart_axes_are_logarithmic_where_the_range_is_wide() -> None:
    near = scatter([Point("a", 5, 0.01, 1), Point("b", 9, 0.02, 2)], 640, 380)
    far = scatter([Point("a", 5, 0.0001, 1), Point("b", 900, 0.02, 2)], 640, 380)
    assert "log" not in near
    assert far.count("(log)") == 2
    heights = [float(y) for y in re.findall(r'class="point" cx="[^"]*" cy="([^"]*)"', near)]
    assert heights[0] > heights[1]  # the cheaper lies lower


def test_chart_labels_do_not_cover_one_another() -> None:
    points = [Point(f"model-{i}", 5 + i / 100, 0.01, 1) for i in range(4)]
    spots = re.findall(r'<text class="label" x="([^"]*)" y="([^"]*)"', scatter(points, 640, 380))
    assert len(set(spots)) == 4


def test_a_place_that_cannot_be_written_is_said_plainly(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for write in (write_csv, write_html):
        with pytest.raises(RecordError, match="cannot be written"):
            write(replace(demo_input(), trials=()), blocked / "x")


def test_questions_keep_the_suite_order() -> None:
    table = next(table for table in tables(demo_input()) if table.name == "by_question")
    assert list(dict.fromkeys(row[0].value for row in table.rows)) == [q.id for q in QUESTIONS]
