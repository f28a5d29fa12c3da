"""Trials that overlap: the same records, timings apart; and budgets kept by whole runs."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from bothends.agent.models.scripted import ScriptedChatModel
from bothends.engines.sqlite import SqliteEngine
from bothends.eval.budget import Forecast
from bothends.eval.record import Trial
from bothends.eval.runner import run_experiment
from bothends.eval.watcher import Silent
from bothends.infra.errors import UsageError

from .tiny import PRICED, tiny_experiment

MODELS = (
    PRICED,
    "scripted:flaky?p=0.5&seed=3&label=flaky",
    "scripted:wrong_rows",
    "scripted:failing",
    "scripted:no_query",
    "scripted:gives_up",
)


def timeless(value: Any) -> Any:
    """Return a record without what time it was, how long things took and what that cost."""
    if isinstance(value, dict):
        return {
            key: timeless(each)
            for key, each in value.items()
            if not key.endswith(("_s", "usd")) and key not in {"seconds", "started_at", "timing"}
        }
    return [timeless(each) for each in value] if isinstance(value, list) else value


def records(out: Path) -> list[Any]:
    lines = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    return [timeless(line) for line in sorted(lines, key=lambda line: json.dumps(line["key"]))]


def test_the_records_are_the_same_whatever_the_concurrency(tmp_path: Path) -> None:
    one = tiny_experiment(tmp_path, models=MODELS, replicas=4)
    many = one.model_copy(update={"concurrency": 16, "engine_slots": 2})
    run_experiment(one, tmp_path / "one")
    run_experiment(many, tmp_path / "many")
    assert len(records(tmp_path / "one")) == len(MODELS) * 2 * 4
    assert records(tmp_path / "one") == records(tmp_path / "many")
    golds = (tmp_path / "many" / "gold.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["question_id"] for line in golds) == ["most", "names"]


def test_llm_work_overlaps_and_the_engine_serves_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone_thinks = threading.Barrier(8, timeout=20)
    met: set[int] = set()
    busy = threading.Lock()
    generate, execute = ScriptedChatModel._generate, SqliteEngine._execute

    def think(
        self: ScriptedChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if threading.get_ident() not in met:
            met.add(threading.get_ident())
            # Passes only where all eight trials ask their model at the same time.
            everyone_thinks.wait()
        return generate(self, messages, stop, run_manager, **kwargs)

    def run(self: SqliteEngine, *arguments: Any) -> Any:
        assert busy.acquire(blocking=False), "two queries at a time"
        try:
            time.sleep(0.02)
            return execute(self, *arguments)
        finally:
            busy.release()

    monkeypatch.setattr(ScriptedChatModel, "_generate", think)
    monkeypatch.setattr(SqliteEngine, "_execute", run)
    trials = run_experiment(
        tiny_experiment(tmp_path, question_ids=("most",), replicas=8, concurrency=8),
        tmp_path / "run",
    ).trials()
    assert {trial.status for trial in trials} == {"ok"}
    assert len(trials) == 8
    # Each ran a query of 20 ms behind others: waiting is recorded, and no part of T_e2e.
    assert max(trial.queue_s for trial in trials) > 0.05
    for trial in trials:
        stages_s = sum(stage.seconds for stage in trial.stages.values())
        assert trial.e2e_s == pytest.approx(stages_s + trial.overhead_s, abs=1e-6)
        tools_s = sum(step.seconds - step.engine_s for step in trial.steps if step.kind == "tool")
        assert tools_s < 0.5 * trial.queue_s + 0.2


class Counting(Silent):
    """Counts what it hears."""

    def __init__(self) -> None:
        self.why: list[str] = []
        self.forecasts: list[Forecast] = []

    def go_on(self, forecast: Forecast) -> bool:
        self.forecasts.append(forecast)
        return True

    def stopped(self, why: str) -> None:
        self.why.append(why)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_budget_stops_a_run_and_a_larger_one_goes_on(tmp_path: Path, concurrency: int) -> None:
    whole = tiny_experiment(tmp_path, question_ids=("most",), replicas=12, concurrency=concurrency)
    (one,) = run_experiment(whole.model_copy(update={"replicas": 1}), tmp_path / "probe").trials()
    assert one.usage is not None
    tokens = (one.usage.input_tokens or 0) + (one.usage.output_tokens or 0)
    # Every replica of a script takes the same tokens: five fit, and half of a sixth.
    bounded = whole.model_copy(update={"budget_tokens": 5 * tokens + tokens // 2})
    watcher = Counting()
    trials = run_experiment(bounded, tmp_path / "run", watcher=watcher).trials()
    assert len(trials) == 5
    assert watcher.why == [
        f"stopped: the next trial would pass the budget: {5 * tokens:,} of "
        f"{bounded.budget_tokens:,} tokens; the same command with a larger budget goes on"
    ]
    watcher = Counting()
    more = whole.model_copy(update={"budget_usd": 1000.0})
    assert len(run_experiment(more, tmp_path / "run", watcher=watcher).trials()) == 12
    assert watcher.why == []
    (forecast,) = watcher.forecasts
    assert forecast.trials == 7
    assert forecast.ahead is not None
    assert forecast.ahead.tokens == pytest.approx(7 * tokens)


def test_dollars_are_bounded_only_where_they_are_known(tmp_path: Path) -> None:
    unpriced = tiny_experiment(tmp_path, models=("scripted:perfect",), budget_usd=1.0)
    with pytest.raises(
        UsageError, match="--budget-usd cannot be kept: scripted:perfect has no price"
    ):
        run_experiment(unpriced, tmp_path / "run")
    assert not (tmp_path / "run" / "trials.jsonl").exists()
    scanned = tiny_experiment(
        tmp_path,
        models=("scripted:perfect?price_as=openai:gpt-4o",),
        budget_usd=1.0,
        machine="athena",
    )
    with pytest.raises(UsageError, match=r"--budget-usd cannot be kept.*--machine athena"):
        run_experiment(scanned, tmp_path / "scanned")
    assert not (tmp_path / "scanned" / "trials.jsonl").exists()


def test_who_does_not_want_to_go_on_has_lost_nothing(tmp_path: Path) -> None:
    class No(Silent):
        def go_on(self, forecast: Forecast) -> bool:
            return False

    whole = tiny_experiment(tmp_path)
    assert run_experiment(whole, tmp_path / "run", watcher=No()).trials() == ()
    assert len(run_experiment(whole, tmp_path / "run").trials()) == 2


def test_an_interrupt_records_nothing_half_done(tmp_path: Path) -> None:
    class Interrupted(Silent):
        def trial(self, trial: Trial) -> None:
            raise KeyboardInterrupt

    whole = tiny_experiment(tmp_path, replicas=8, concurrency=4)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(whole, tmp_path / "run", watcher=Interrupted())
    trials = run_experiment(whole, tmp_path / "run").trials()
    assert [trial.status for trial in trials] == ["ok"] * 16
    assert len({trial.key for trial in trials}) == 16
