"""Synthetic runs to report on: a demo of scripts and a replay, and one of hosted models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bothends.eval.manifest import ModelTerms, QuestionTerms
from bothends.eval.record import ErrorClass, Status, Trial
from bothends.eval.report import ReportInput

from .trials import make_trial

TITLES = (
    "Pricing summary report",
    "Shipping priority",
    "Order priority checking",
    "Local supplier volume",
    "Forecasting revenue change",
    "Returned items",
    "Shipping modes",
    "Promotion effect",
    "Small-quantity orders",
    "Large-volume customers",
)
QUESTIONS = tuple(
    QuestionTerms(
        id=f"q{number}",
        title=title,
        text=f"What does the {title.lower()} say for 1995, by region and by month?",
        gold_sql=f"SELECT l_returnflag, sum(l_quantity) AS q{number}\nFROM lineitem\n"
        "WHERE l_shipdate <= date '1998-09-02'\nGROUP BY l_returnflag\nORDER BY l_returnflag",
    )
    for number, title in zip((1, 3, 4, 5, 6, 10, 12, 14, 17, 18), TITLES, strict=True)
)


def make_input(
    models: Sequence[ModelTerms],
    trials: Sequence[Trial],
    *,
    questions: Sequence[QuestionTerms] = QUESTIONS[:1],
    replicas: int = 10,
    **changes: Any,
) -> ReportInput:
    """Return the content of a run on TPC-H."""
    fields: dict[str, Any] = {
        "name": "demo",
        "suite": "tpch",
        "engine": "SQLite 3.45.1",
        "scale_factor": 0.01,
        "recipe": "paper",
        "billing": "busy",
        "machine": "m7i.large at $0.1008 per hour",
        "prices": "genai-prices 0.2.3, list prices of January 2026",
        "regimen": "1 warm-up, then 3 timed executions of gold and generated in turn, median",
        "hardware": "2 cores, 24 GiB, x86_64",
        "started": "2026-01-02T03:04:05Z",
        "finished": "2026-01-02T03:09:41Z",
        "versions": {"bothends": "0.1.0", "python": "3.11.7", "langgraph": "1.0.2"},
    }
    return ReportInput(
        models=models, trials=trials, questions=questions, replicas=replicas, **(fields | changes)
    )


def make_model(spec: str = "openai:gpt-4o", **changes: Any) -> ModelTerms:
    """Return a model as the manifest describes it."""
    fields: dict[str, Any] = {
        "spec": spec,
        "label": spec.partition(":")[2],
        "kind": "scripted" if spec.startswith("scripted:") else "hosted",
        "description": f"{spec.partition(':')[2]} by {spec.partition(':')[0]}.",
        "priced_by": f"{spec} per token (genai-prices 0.2.3)",
    }
    return ModelTerms(**(fields | changes))


def demo_input() -> ReportInput:
    """Return a demo: three scripts priced as a hosted model, and a small model's replay."""
    scripts = [
        make_model(
            f"scripted:{name}",
            description=f"A script that is told the SQL ({what}); no model.",
            priced_by="openai:gpt-4o per token (genai-prices 0.2.3)",
        )
        for name, what in (
            ("perfect", "gold itself"),
            ("flaky", "gold or a failing query"),
            ("extra_column", "gold with one column more"),
        )
    ]
    replay = make_model(
        "replay:small.jsonl",
        label="qwen2.5-0.5b",
        kind="replay",
        description="A recording of qwen2.5-0.5b-instruct made on 2026-01-01 on 2 CPU cores.",
        priced_by="m7i.large at $0.1008 per hour",
    )
    return make_input(
        [*scripts, replay], list(_demo_trials(replay.spec)), questions=QUESTIONS, replicas=2
    )


def _demo_trials(replay: str) -> list[Trial]:
    wrong: tuple[tuple[Status, ErrorClass | None, str | None], ...] = (
        ("failed", None, "no such column: l_ship_date"),
        ("no_query", None, "the model answered in prose"),
        ("ok", "A", None),
        ("ok", "D", None),
        ("gave_up", None, "12 steps without run_query"),
        ("ok", "B", None),
        ("rejected", None, "DELETE is not a reading statement"),
    )
    trials: list[Trial] = []
    for number, question in enumerate(QUESTIONS):
        for replica in range(2):
            at: dict[str, Any] = {
                "question_id": question.id,
                "replica": replica,
                "sql": question.gold_sql,
                "gold_s": 0.02 + number / 200,
                "generated_s": 0.02 + number / 180 + replica / 1000,
            }
            script: dict[str, Any] = at | {
                "kind": "scripted",
                "estimated": True,
                "stage_s": {"list": 0.004, "schema": 0.009, "check": 0.002, "run": 0.05},
                "engine_usd": 8e-7,
            }
            flaky = (number + replica) % 3 == 0
            trials.append(make_trial(model="scripted:perfect", usd=0.011, **script))
            trials.append(
                make_trial(
                    model="scripted:flaky",
                    usd=0.0108 + number / 1e4,
                    status="failed" if flaky else "ok",
                    error="near 'FORM': syntax error" if flaky else None,
                    **script,
                )
            )
            trials.append(
                make_trial(model="scripted:extra_column", error_class="C", usd=0.0115, **script)
            )
            status, error_class, error = (
                ("ok", None, None)
                if number in (4, 7) and replica == 0
                else wrong[(number + 3 * replica) % len(wrong)]
            )
            trials.append(
                make_trial(
                    model=replay,
                    label="qwen2.5-0.5b",
                    kind="replay",
                    replayed=True,
                    status=status,
                    error_class=error_class,
                    error=error,
                    usd=0.0004 + number / 1e5,
                    engine_usd=4e-7,
                    stage_s={"list": 3.2, "schema": 4.8 + number / 3, "check": 9.1, "run": 2.0},
                    overhead_s=0.02,
                    **at,
                )
            )
    return trials


def hosted_input(replicas: int = 3) -> ReportInput:
    """Return a comparison of five hosted models with unlike costs, seconds and accuracy."""
    terms = (
        ("openai:gpt-4o", 0.0103, 6.5, 1),
        ("openai:gpt-5.2", 0.0085, 8.4, 4),
        ("google_genai:gemini-3-flash", 0.0044, 8.4, 0),
        ("anthropic:claude-opus-4-5", 0.0388, 11.4, 0),
        ("deepseek:deepseek-chat", 0.0019, 15.2, 7),
    )
    trials = []
    for spec, usd, seconds, wrong in terms:
        for number, question in enumerate(QUESTIONS):
            for replica in range(replicas):
                bad = (number + replica) % 10 < wrong
                shares = {"list": 0.12, "schema": 0.16, "check": 0.55, "run": 0.14, "answer": 0.03}
                drift = 1 + (number - replica) / 40
                trials.append(
                    make_trial(
                        model=spec,
                        question_id=question.id,
                        replica=replica,
                        error_class="D" if bad else None,
                        usd=usd * drift,
                        engine_usd=2e-5,
                        gold_s=0.21,
                        generated_s=0.2 + number / 50,
                        sql=question.gold_sql,
                        stage_s={key: share * seconds * drift for key, share in shares.items()},  # type: ignore[misc]
                        overhead_s=0.03,
                    )
                )
    return make_input(
        [make_model(spec) for spec, *_ in terms], trials, questions=QUESTIONS, replicas=replicas
    )
