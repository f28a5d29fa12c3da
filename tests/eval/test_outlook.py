"""What a sweep says of larger data, on trials whose seconds follow laws that are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bothends.eval.forecast import Point, Query, forecast
from bothends.eval.outlook import Outlook
from bothends.eval.record import Trial
from bothends.eval.report.answer import headline
from bothends.eval.report.caveats import caveats
from bothends.eval.report.scale import forecast_table, outlook_of
from bothends.eval.report.source import merged
from bothends.infra.prices import Machine

from .reports import make_input, make_model
from .trials import make_trial

# A cent a second.
MACHINE = Machine("cluster", 36.0, "by hand")
SCALES = (0.01, 0.1, 1.0)
CHEAP, DEAR = "openai:cheap", "openai:dear"


def trial_at(
    scale: float, seconds: float, llm_usd: float, *, model: str, question: str, valid: bool
) -> Trial:
    """Return a trial whose query, and nothing else, took the engine these seconds."""
    made = make_trial(
        model=model,
        question_id=question,
        error_class=None if valid else "D",
        generated_s=seconds,
        usd=llm_usd,
        engine_usd=seconds * 0.01,
    )
    steps = tuple(
        step.model_copy(update={"engine_s": seconds if step.name == "run_query" else 0.0})
        for step in made.steps
    )
    key = made.key.model_copy(update={"scale_factor": scale})
    return made.model_copy(update={"steps": steps, "key": key})


def trials_of(seconds_at: Callable[[float], float]) -> dict[str, dict[float, list[Trial]]]:
    """Return four questions of a model that is right on two, and of one that is right on all."""
    return {
        model.partition(":")[2]: {
            scale: [
                trial_at(
                    scale,
                    seconds_at(scale),
                    llm_usd,
                    model=model,
                    question=f"q{number}",
                    valid=number < right,
                )
                for number in range(4)
            ]
            for scale in SCALES
        }
        for model, llm_usd, right in ((CHEAP, 0.001, 2), (DEAR, 0.01, 4))
    }


def outlook(seconds_at: Callable[[float], float], **changes: object) -> Outlook:
    made = Outlook(trials_of(seconds_at), MACHINE, 300.0, ("cheap", "dear"))
    return replace(made, **changes)  # type: ignore[arg-type]


def test_where_the_dearer_model_becomes_the_cheaper_one() -> None:
    # 0.001 + 0.01 t for half a valid answer is 0.002 + 0.02 t for one; the other's is 0.01 +
    # 0.01 t. They meet at t = 0.8, which with t = s is at 0.8, and there both cost 0.018.
    (crossing,) = outlook(lambda scale: scale).crossings
    assert (crossing.cheaper, crossing.dearer, crossing.forecast) == ("dear", "cheap", False)
    assert crossing.scale_factor == pytest.approx(0.8)
    assert crossing.usd == pytest.approx(0.018)


def test_where_it_will_by_the_forecast() -> None:
    # With t = s / 10 they meet at 8, beyond what was measured.
    (crossing,) = outlook(lambda scale: scale / 10).crossings
    assert (crossing.cheaper, crossing.dearer, crossing.forecast) == ("dear", "cheap", True)
    assert crossing.scale_factor == pytest.approx(8, rel=0.01)
    assert crossing.usd == pytest.approx(0.018, rel=0.01)


def test_what_a_valid_answer_will_cost() -> None:
    # t = 0.2 + 0.5 s: at 10, 5.2 s cost 5.2 cents.
    found = outlook(lambda scale: 0.2 + scale / 2)
    assert found.ahead == (10.0, 100.0, 1000.0)
    cheap, dear = (found.forecasts[name][10.0] for name in ("cheap", "dear"))
    assert (cheap.p, dear.p) == (0.5, 1.0)
    assert cheap.llm_usd == pytest.approx(0.001)
    assert cheap.engine_usd == pytest.approx(0.052)
    assert cheap.cvq_usd == pytest.approx((0.001 + 0.052) / 0.5)
    assert dear.cvq_usd == pytest.approx(0.062)
    assert found.held_out is not None
    assert found.held_out.relative_error == pytest.approx(0, abs=1e-6)


def test_a_query_that_would_run_out_of_time_is_no_answer() -> None:
    found = outlook(lambda scale: 0.2 + scale / 2, timeout_s=5.0)
    dear = found.forecasts["dear"][10.0]
    assert dear.p == 0
    assert dear.cvq_usd is None
    assert dear.engine_usd == pytest.approx(0.05)
    assert len(dear.timeouts) == 4
    assert dear.reason == "no answer would be valid and in time"


def test_what_timed_out_was_not_measured() -> None:
    trials = trials_of(lambda scale: scale)
    late = [
        trial.model_copy(update={"status": "timeout", "verdict": None, "timing": None})
        for trial in trials["dear"][1.0]
    ]
    skipped = [
        trial.model_copy(update={"status": "skipped", "verdict": None, "timing": None})
        for trial in trials["cheap"][1.0]
    ]
    trials["dear"][1.0], trials["cheap"][1.0] = late, skipped
    found = Outlook(trials, MACHINE, 1.0, ("cheap", "dear"))
    points = {query.id: query.points for query in found.queries}
    assert [(p.scale_factor, p.timed_out) for p in points["q0, dear, 0"]] == [
        (0.01, False),
        (0.1, False),
        (1.0, True),
    ]
    assert [p.scale_factor for p in points["q0, cheap, 0"]] == [0.01, 0.1]
    assert found.crossings == ()


def test_a_report_says_it_in_words_and_in_a_table() -> None:
    models = [make_model(CHEAP, label="cheap"), make_model(DEAR, label="dear")]
    trials = trials_of(lambda scale: scale)
    runs = [
        make_input(
            models,
            [*trials["cheap"][scale], *trials["dear"][scale]],
            scale_factor=scale,
            replicas=1,
            price=MACHINE,
        )
        for scale in SCALES
    ]
    source = merged("sweep", runs)
    assert headline(source)[-1] == (
        "dear becomes cheaper per valid answer than cheap from scale factor 0.800 on."
    )
    table = forecast_table(source, (10.0,))
    assert table is not None
    assert [[cell.value for cell in row[:2]] for row in table.rows] == [["cheap", 10], ["dear", 10]]
    assert [row[5].value for row in table.rows] == [
        pytest.approx((0.001 + 0.1) / 0.5),
        pytest.approx(0.11),
    ]
    assert "Held out: SF 1 predicted from the smaller ones for 8 queries" in table.notes[1]
    # Without one price, and at one scale factor, nothing can be said.
    assert outlook_of(merged("two prices", [runs[0], replace(runs[1], price=None)])) is None
    assert outlook_of(runs[0]) is None
    assert forecast_table(runs[0]) is None


def test_with_two_scale_factors_nothing_is_held_out() -> None:
    trials = trials_of(lambda scale: scale)
    for scales in trials.values():
        del scales[1.0]
    found = Outlook(trials, MACHINE, 300.0, ("cheap", "dear"))
    assert found.held_out is None
    assert found.forecasts["dear"][1.0].cvq_usd == pytest.approx(0.02)


def test_a_question_whose_gold_fails_somewhere_is_compared_nowhere() -> None:
    trials = trials_of(lambda scale: scale)
    lost = [
        trial.model_copy(update={"status": "gold_failed", "verdict": None, "timing": None})
        if trial.key.question_id == "q3"
        else trial
        for trial in trials["dear"][1.0]
    ]
    runs = [
        make_input(
            [make_model(DEAR, label="dear")],
            lost if scale == 1.0 else trials["dear"][scale],
            scale_factor=scale,
            replicas=1,
            price=MACHINE,
        )
        for scale in SCALES
    ]
    source = merged("sweep", runs)
    found = outlook_of(source)
    assert found is not None
    asked = {trial.key.question_id for each in found.trials["dear"].values() for trial in each}
    assert asked == {"q0", "q1", "q2"}
    said = "Gold failed at some scale factors on 1 question (q3)"
    assert any(each.startswith(said) for each in caveats(source))
    assert not any(each.startswith("Gold failed") for each in caveats(runs[0]))


def test_no_lower_end_is_below_what_was_measured() -> None:
    # One query grows a hundredfold and the others not at all: the interval is wide.
    queries = tuple(
        Query(f"q{number}", tuple(Point(s, s if number == 0 else 1.0) for s in SCALES))
        for number in range(6)
    )
    for scale in (10.0, 1000.0):
        for each in forecast(queries, scale, coverage=0.8)[1:]:
            assert each.low_s is not None
            assert each.low_s >= 1.0 - 1e-9
