"""A synthetic run of 20,000 trials whose figures and queries all differ."""

from __future__ import annotations

import random
from typing import Any

from bothends.eval.manifest import QuestionTerms
from bothends.eval.record import ErrorClass, Status, Trial, TrialKey
from bothends.eval.report import ReportInput

from .reports import make_input, make_model
from .trials import make_trial

MODELS, ASKED, REPLICAS, COURSES = 4, 100, 50, 3000
ENDS: tuple[tuple[Status, ErrorClass | None], ...] = (
    ("ok", None),
    ("ok", None),
    ("ok", "C"),
    ("ok", "D"),
    ("failed", None),
)


def many_trials() -> ReportInput:
    """Return a run of 4 models, 100 questions and 50 replicas."""
    dice = random.Random(7)  # noqa: S311
    models = [make_model(f"openai:model-{number}") for number in range(MODELS)]
    questions = [
        QuestionTerms(
            id=f"q{number}",
            title=f"Question number {number}",
            text=f"How many orders of kind {number} were there in each month?",
            gold_sql=f"SELECT month, count(*) FROM orders WHERE kind = {number} GROUP BY month",
        )
        for number in range(ASKED)
    ]
    # Validated once each; the 20,000 are copies with figures of their own.
    kinds = [
        make_trial(status=status, error_class=error_class, error=None if status == "ok" else "no")
        for status, error_class in ENDS
    ]
    # What takes long to copy is drawn from a few thousand: in one chunk of the page all differ.
    courses = [_course(kinds[0], dice) for _ in range(COURSES)]
    trials = [
        _varied(kinds[dice.randrange(len(kinds))], courses[dice.randrange(COURSES)], key, dice)
        for model in models
        for question in questions
        for replica in range(REPLICAS)
        for key in (
            kinds[0].key.model_copy(
                update={"model": model.spec, "question_id": question.id, "replica": replica}
            ),
        )
    ]
    return make_input(models, trials, questions=questions, replicas=REPLICAS)


def _course(like: Trial, dice: random.Random) -> dict[str, Any]:
    """Return the stages and steps of a trial, with seconds of their own."""
    stages = {
        name: cost.model_copy(update={"seconds": cost.seconds * dice.uniform(0.5, 3)})
        for name, cost in like.stages.items()
    }
    steps = tuple(
        step.model_copy(
            update={"seconds": dice.uniform(0.1, 3), "start_s": step.start_s + dice.random()}
        )
        for step in like.steps
    )
    return {
        "stages": stages,
        "steps": steps,
        "step_usd": tuple(dice.uniform(0.0001, 0.01) for _ in steps),
        "e2e_s": sum(stage.seconds for stage in stages.values()),
    }


def _varied(like: Trial, course: dict[str, Any], key: TrialKey, dice: random.Random) -> Trial:
    usd = dice.uniform(0.001, 0.05)
    places = ", ".join(f"c{dice.randrange(10_000)}" for _ in range(12))
    return like.model_copy(
        update={
            **course,
            "key": key,
            "model_label": key.model.partition(":")[2],
            "sql": f"SELECT {places} FROM orders WHERE kind = {dice.random()}",
            "cost": like.cost.model_copy(update={"llm_usd": usd, "usd": usd}),
        }
    )
