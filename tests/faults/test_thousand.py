"""A thousand trials over a provider of whose answers three in ten are faults: nothing is lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bothends.agent.recipe import Recipe
from bothends.agent.retry import RetryPolicy
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.runner import run_experiment

from .schedule import ATTEMPTS, MAX_TURNS, Schedule
from .server import FaultyServer

# Seconds of one core: beside Spark's tests, not after them.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("thousand")]

QUESTIONS = [
    (f"How many items cost more than {price}?", f"SELECT COUNT(*) FROM item WHERE price > {price}")
    for price in range(100)
]
MODELS = [f"model-{number}" for number in range(10)]


def test_a_thousand_trials_of_which_none_is_lost(
    server: FaultyServer, shop: Path, tmp_path: Path
) -> None:
    schedule = Schedule(MODELS, QUESTIONS, seed=7, fault_rate=0.3)
    server.answer = schedule.answer
    file = tmp_path / "questions.jsonl"
    file.write_text(
        "".join(
            json.dumps({"id": text, "question": text, "gold": sql}) + "\n"
            for text, sql in QUESTIONS
        )
    )
    experiment = Experiment(
        suite=str(file),
        engine=f"sqlite:///{shop}",
        data=shop,
        models=tuple(f"openai:{model}" for model in MODELS),
        base_url=server.url,
        recipe=Recipe(check="off", max_turns=MAX_TURNS),
        concurrency=4,
        regimen=Regimen(warmups=0, repeats=1),
        retry=RetryPolicy(attempts=ATTEMPTS, first_wait_s=0.001, max_wait_s=0.004, total_wait_s=10),
    )
    trials = run_experiment(experiment, tmp_path / "run").trials()

    by_key = {(trial.key.model.partition(":")[2], trial.key.question_id): trial for trial in trials}
    assert len(trials) == len(by_key) == 1000, "none is lost and none doubled"
    assert by_key.keys() == schedule.plans.keys()
    wrong = {
        key: (plan.status, by_key[key].status, by_key[key].error)
        for key, plan in schedule.plans.items()
        if by_key[key].status != plan.status
    }
    assert wrong == {}
    # Else the schedule would prove little.
    assert Counter(trial.status for trial in trials).keys() == {
        "ok",
        "failed",
        "no_query",
        "gave_up",
        "provider_error",
    }
    assert schedule.exhausted()

    for key, plan in schedule.plans.items():
        trial = by_key[key]
        usage = trial.usage
        got = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
        asked = len(plan.replies) > plan.failed
        expected = (plan.input_tokens, plan.output_tokens) if asked else (None, None)
        assert got == expected, key
        assert trial.retries == plan.waits
        calls = [step for step in trial.steps if step.kind == "llm"]
        assert len(calls) == len(plan.replies)
        assert sum(step.error is not None for step in calls) == plan.failed
        assert trial.error or trial.status == "ok"
        # What faults took is a part of the whole, and told apart from it.
        assert (trial.retry_s > 0) == (plan.failed > 0)
        assert trial.e2e_s is not None
        assert trial.retry_s < trial.e2e_s
        failed_s = sum(step.seconds + step.wait_s for step in calls if step.error)
        assert trial.retry_s == pytest.approx(failed_s)

    answered = [
        step.usage for trial in trials for step in trial.steps if step.usage and not step.error
    ]
    assert sum(usage.input_tokens or 0 for usage in answered) == schedule.input_tokens
    assert sum(usage.output_tokens or 0 for usage in answered) == schedule.output_tokens
