"""Charts over scale factors: what stands where, and that nothing covers anything else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from bothends.agent.record import STAGES
from bothends.eval.report.heat_chart import HeatRow, heat_chart
from bothends.eval.report.parts_chart import parts_chart
from bothends.eval.report.scale_chart import (
    Crossing,
    ScalePoint,
    crossing_words,
    cvq_chart,
    metric_chart,
    side_by_side,
)
from bothends.eval.report.svg import LINE, apart

ZEROS: dict[str, float | None] = dict.fromkeys((*STAGES, "overhead"), 0.0)


def model(name: str, color: int, p: float, llm_usd: float) -> list[ScalePoint]:
    """CVQ = (llm_usd + 0.001 sf) / p, measured at 1, 10 and 100 and forecast at 1000."""
    return [
        ScalePoint(
            name,
            color,
            sf,
            cvq_usd=(llm_usd + 0.001 * sf) / p if p else None,
            stage_usd=ZEROS | {"list": llm_usd, "run": 0.001 * sf},
            stage_s=ZEROS | {"list": 5, "run": sf},
            ves=p / 2,
            ves_star=p / 4,
            forecast=sf > 100,
            low_usd=(llm_usd + 0.0005 * sf) / p if sf > 100 and p else None,
            high_usd=(llm_usd + 0.002 * sf) / p if sf > 100 and p else None,
        )
        for sf in (1, 10, 100, 1000)
    ]


DEAR, CHEAP, NEVER = model("dear", 1, 1.0, 0.1), model("cheap", 2, 0.5, 0.01), model("no", 3, 0, 1)
SPENT: Any = {"stage_s": dict.fromkeys(ZEROS, 1.0), "stage_usd": dict.fromkeys(ZEROS, 0.02)}
POINTS = [*DEAR, *CHEAP, *NEVER]
CROSSING = Crossing("dear", "cheap", 80, 0.18, False)
ALL = pytest.mark.parametrize("width", [360, 640])


def elements(svg: str, tag: str) -> Iterator[ElementTree.Element]:
    return ElementTree.fromstring(svg).iter(tag)  # noqa: S314


def circles(svg: str) -> list[tuple[float, float]]:
    return [(float(e.attrib["cx"]), float(e.attrib["cy"])) for e in elements(svg, "circle")]


def boxes(svg: str) -> list[tuple[float, float, float, float, str]]:
    """Return about where each text stands, at 7 pixels a character and 11 a line."""
    found = []
    for each in elements(svg, "text"):
        words, x, y = each.text or "", float(each.attrib["x"]), float(each.attrib["y"])
        wide = 7 * len(words)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[each.attrib["text-anchor"]]
        found.append((left, y - 11, left + wide, y, words))
    return found


def overlaps(svg: str) -> list[tuple[str, str]]:
    return [
        (a[4], b[4])
        for a, b in combinations(boxes(svg), 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


def test_points_lie_by_their_logarithms() -> None:
    svg = cvq_chart([*DEAR, *CHEAP], [], 640, 380)
    dear, cheap = circles(svg)[:4], circles(svg)[4:]
    for places in (dear, cheap):
        steps = [b[0] - a[0] for a, b in pairwise(places)]
        assert steps == pytest.approx([steps[0]] * 3, abs=0.2)
        assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    # 0.02 + 0.002 SF passes 0.1 + 0.001 SF at 80: lower on the page is cheaper.
    assert [ours > theirs for (_, ours), (_, theirs) in zip(dear, cheap, strict=True)] == [
        False,
        False,
        True,
        True,
    ]


def test_the_forecast_is_dashed_with_its_interval() -> None:
    svg = cvq_chart(POINTS, [], 640, 380)
    styles = [each.attrib.get("class") for each in elements(svg, "path")]
    assert styles.count("curve") == 4
    assert styles.count("curve forecast") == 2
    assert [each for each in styles if each and each.startswith("band")] == ["band c1", "band c2"]
    # From the last measured point to both ends at 1000, around the forecast there.
    band = next(e.attrib["d"] for e in elements(svg, "path") if e.attrib["class"] == "band c1")
    corners = [tuple(map(float, at.split())) for at in band.strip("MZ").split("L")]
    measured, forecast = circles(svg)[2:4]
    assert corners[0] == corners[3] == measured
    assert corners[1][0] == corners[2][0] == forecast[0]
    assert corners[2][1] < forecast[1] < corners[1][1]
    assert "dear at scale factor 1,000, forecast: $1.10 per valid query ($0.600 to $2.10)" in svg
    # Without an upper end it goes up to the top.
    open_ended = ScalePoint("dear", 1, 1000, cvq_usd=1.1, forecast=True, low_usd=0.6)
    svg = cvq_chart([*DEAR[:3], open_ended], [], 640, 380)
    band = next(e.attrib["d"] for e in elements(svg, "path") if "band" in e.attrib["class"])
    assert " 34.0L" in band
    assert "$0.600 or more" in svg


def test_a_crossing_is_marked_and_named() -> None:
    assert crossing_words(CROSSING) == (
        "dear becomes cheaper per valid answer than cheap from scale factor 80.0 on."
    )
    beyond = Crossing("a", "b", 3.2, 1, True)
    assert crossing_words(beyond).endswith("from scale factor 3.20 on, by the forecast.")
    svg = cvq_chart(POINTS, [CROSSING], 640, 380)
    (left, _), (x, y), (right, _) = circles(svg)[1], circles(svg)[-1], circles(svg)[2]
    assert left < x < right
    # Between those of the cheap one at 10 and at 100.
    assert circles(svg)[6][1] < y < circles(svg)[5][1]
    assert crossing_words(CROSSING) + " Both cost $0.180 there." in svg


@ALL
def test_what_is_undefined_is_a_dash(width: int) -> None:
    svg = cvq_chart(POINTS, [], width, 320)
    assert len(circles(svg)) == 8
    dashes = [each for each in elements(svg, "text") if each.text == "—"]
    assert len(dashes) == 4
    assert "no at scale factor 10: —, the cost of a valid answer is undefined" in svg
    # A line does not go over what is undefined between its ends; dashes of two stand apart.
    gap = [ScalePoint("m", 1, 1, 1.0), ScalePoint("m", 1, 10), ScalePoint("m", 1, 100, 2.0)]
    other = [ScalePoint("n", 2, sf) for sf in (1, 10, 100)]
    svg = cvq_chart([*gap, *other], [], width, 320)
    assert 'class="curve"' not in svg
    assert overlaps(svg) == []
    # And with nothing defined at all.
    assert len(circles(cvq_chart(NEVER, [], width, 320))) == 0
    assert len(circles(metric_chart([ScalePoint("m", 1, 1)], "ves_star", width, 320))) == 0
    unknown = ScalePoint("m", 1, 1, stage_s={"list": 1.0}, stage_usd=ZEROS | {"run": None})
    bars = parts_chart([unknown], width)
    assert [each.text for each in elements(bars, "text")].count("—") == 2
    assert "scale factor 1: run —, together —" in bars


@ALL
def test_no_text_covers_another(width: int) -> None:
    # Many models at the same place, and scale factors that lie close.
    scales = (0.01, 0.03, 0.1, 0.3, 1, 1.1, 1.2, 3, 10, 1000)
    many = [
        ScalePoint(f"a-model-with-a-long-name-{m}", m % 8 + 1, sf, 0.1, ves_star=0.5, **SPENT)
        for m in range(30)
        for sf in scales
    ]
    for points in (POINTS, many, [ScalePoint("m", 1, 1, 1.0, ves_star=0.5, **SPENT)]):
        assert overlaps(cvq_chart(points, [CROSSING], width, 320)) == []
        assert overlaps(metric_chart(points, "ves_star", width, 320)) == []
        assert overlaps(parts_chart(points, width)) == []


def test_labels_move_apart_and_no_further_than_they_must() -> None:
    assert apart([100.0, 10.0], 0, 200) == [100, 10]
    assert apart([50.0, 50.0, 50.0], 0, 200) == [50, 50 + LINE, 50 + 2 * LINE]
    assert apart([199.0, 200.0], 0, 200) == [200 - LINE, 200]
    crowded = apart([5.0] * 20, 0, 100)
    assert crowded == [LINE * i for i in range(20)]


def test_ves_star_lies_by_its_value() -> None:
    svg = metric_chart(POINTS, "ves_star", 640, 380)
    heights = [y for _, y in circles(svg)]
    assert heights == sorted(heights, reverse=False)  # 0.5, 0.25, 0: each the same at every scale
    assert len(set(heights)) == 3
    assert heights[4] - heights[0] == pytest.approx(heights[8] - heights[4], abs=0.2)
    assert "dear at scale factor 10: VES* 0.25" in svg
    # VES by its own.
    assert "dear at scale factor 10: VES 0.50" in metric_chart(POINTS, "ves", 640, 380)


def test_charts_stand_beside_one_another_or_below() -> None:
    left, right = metric_chart(POINTS, "ves", 360, 300), cvq_chart(POINTS, [], 360, 320)
    both = side_by_side([left, right], "Both")
    assert both.startswith('<svg viewBox="0 0 740 320" role="img" class="chart" aria-label="Both">')
    inner = [each.attrib for each in elements(both, "svg")][1:]
    assert [(each["x"], each["y"], each["height"]) for each in inner] == [
        ("0", "0", "300"),
        ("380", "0", "320"),
    ]
    assert both.count("VES 0.50") == left.count("VES 0.50") > 0
    below = side_by_side([left, right], "Both", below=True)
    assert 'viewBox="0 0 360 640"' in below
    assert [each.attrib["y"] for each in elements(below, "svg") if "y" in each.attrib] == [
        "0",
        "320",
    ]


def test_bars_are_as_high_as_their_stages() -> None:
    seconds = {"list": 5, "schema": 10, "check": 5, "run": 70, "answer": 0, "overhead": 10}
    svg = parts_chart([ScalePoint("m", 1, 1, stage_s=seconds)], 640)
    # The legend's six come first; a stage that took nothing has no bar.
    bars = [e.attrib for e in elements(svg, "rect")][6:]
    assert [bar["class"] for bar in bars] == ["list", "schema", "check", "run", "overhead"]
    high = [float(bar["height"]) for bar in bars]
    assert [each / sum(high) for each in high] == pytest.approx(
        [0.05, 0.1, 0.05, 0.7, 0.1], abs=0.01
    )
    # Each stands on the one before.
    for below, above in pairwise(bars):
        foot = float(above["y"]) + float(above["height"])
        assert foot == pytest.approx(float(below["y"]), abs=0.15)
    svg = parts_chart(DEAR, 640)
    assert "dear at scale factor 100: list 5.00 s, run 100 s, together 105 s" in svg
    assert "dear at scale factor 10: list $0.100, run $0.0100, together $0.110" in svg


def test_each_question_has_a_cell_by_its_accuracy() -> None:
    rows = [HeatRow("a", [2, 2, 0], [2, 1, 0]), HeatRow("b", [2, 2, 2], [0, 0, 2])]
    svg = heat_chart(["q1 Sums", "q2 Means", "q3"], rows, 640, 60)
    cells = [each.attrib for each in elements(svg, "rect")]
    assert [cell.get("fill-opacity", "-") for cell in cells] == [
        "1.00",
        "0.53",  # 0.07 + 0.93 / 2
        "-",
        "0.07",
        "0.07",
        "1.00",
    ]
    assert "a, q2 Means: EX 0.50, 1 of 2" in svg
    assert "a, q3: EX —<" in svg
    assert [each.text for each in elements(svg, "text")][:3] == ["q1", "q2", "q3"]
    assert overlaps(svg) == []


def test_many_questions_share_columns_from_the_hardest_on() -> None:
    # The n-th question of 1,500 is right n times of 1,500, and they come the other way round.
    right = list(range(1500, 0, -1))
    svg = heat_chart(["q"] * 1500, [HeatRow("a-long-name" * 9, [1500] * 1500, right)], 360, 24)
    shades = [float(each.attrib["fill-opacity"]) for each in elements(svg, "rect")]
    assert len(shades) == 24
    assert shades == sorted(shades)
    assert "62 questions, column 1 of 24 from the hardest: EX 0.02, 1953 of 93000" in svg
    assert overlaps(svg) == []


def test_names_are_escaped_and_long_ones_cut() -> None:
    name = '<b>&"model"' + "x" * 90
    points = [ScalePoint(name, 1, 1, 1.0, ves_star=0.5, **SPENT)]

    def charts() -> list[str]:
        return [
            cvq_chart(points, [Crossing(name, "<i>", 1, 1.0, False)], 640, 380),
            metric_chart(points, "ves_star", 640, 380),
            parts_chart(points, 640),
            heat_chart([name], [HeatRow(name, [1], [1])], 640, 60),
        ]

    for svg in charts():
        assert "<b>" not in svg
        assert "<i>" not in svg
        texts = [each.text or "" for each in elements(svg, "text")]
        assert any(each.startswith('<b>&"model"x') and each.endswith("…") for each in texts)
        assert name in [each.text for each in elements(svg, "title")]
    assert charts() == charts()
