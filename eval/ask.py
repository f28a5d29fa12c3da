"""One question, answered and metered, without a run directory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bothends.agent.recipe import Recipe
from bothends.agent.record import AgentRun, AgentStatus, Stage, Step, Usage
from bothends.agent.sampling import Sampling
from bothends.agent.stages import top_level_seconds, total_usage
from bothends.engines import Engine, Limits, open_engine
from bothends.engines.registry import without_password
from bothends.eval.cost import price_steps
from bothends.eval.experiment import Billing
from bothends.eval.judging import gold_limits, unfit_gold, verdict_on
from bothends.eval.record import Cost, StageCost, Verdict
from bothends.eval.suites.base import Question
from bothends.eval.suites.registry import SMALLEST_SCALE, load_suite
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UnjudgedError, UsageError
from bothends.infra.parquet import parquet_dataset
from bothends.infra.prices import PriceBook
from bothends.infra.redact import Secrets
from bothends.tools.preflight import Preflight
from bothends.tools.text import Redaction

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.models.base import Model

__all__ = ["Answer", "answer_question"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent answered, and what that took.

    Attributes:
        question: The question's text.
        model: The controller's name.
        model_description: What the controller is, in a plain sentence.
        status: How it ended; only `ok` has rows.
        sql: The SQL that was run, or None.
        error: Why it ended otherwise than `ok`.
        columns: The result's column names.
        rows: The result's rows, up to the cap.
        row_count: The true number of rows, or None.
        verdict: Right or wrong, where the question is a suite's and the query executed.
        unjudged: Why there is no verdict all the same, or None.
        seconds: T_e2e.
        overhead_s: The harness's part of it.
        stages: Seconds, tokens and dollars by stage; with the overhead they add up.
        usage: All tokens, or None where a call did not report its own.
        cost: Dollars.
        steps: Every LLM and tool call.
    """

    question: str
    model: str
    model_description: str
    status: AgentStatus
    sql: str | None
    error: str | None
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    row_count: int | None
    verdict: Verdict | None
    unjudged: str | None
    seconds: float
    overhead_s: float
    stages: dict[Stage, StageCost]
    usage: Usage | None
    cost: Cost
    steps: tuple[Step, ...]

    def without_secrets(self) -> Answer:
        """Return it as it may be shown: with no secret of the environment in it."""
        secrets = Secrets.of_environment()
        shown = ("question", "sql", "error", "columns", "rows", "unjudged")
        return replace(self, **{name: secrets.clean(getattr(self, name)) for name in shown})


def answer_question(
    text: str | None,
    *,
    model: str,
    engine: str,
    suite: str | None,
    question_id: str | None,
    scale_factor: float | None,
    data: Path,
    checker: str | None,
    base_url: str | None,
    sampling: Sampling | None,
    recipe: Recipe,
    limits: Limits,
    preflight: Preflight,
    machine: str,
    billing: Billing,
    prices_file: Path | None,
    callbacks: Sequence[BaseCallbackHandler],
    redaction: Redaction | None = None,
    phase: Callable[[str], None],
) -> Answer:
    """Answer one question; `bothends.ask` is this with defaults.

    Raises:
        UsageError: If neither or both of a text and a suite's question are given.
        BothendsError: If something does not exist, does not fit or cannot be reached.
    """
    from bothends.agent.agent import Agent
    from bothends.agent.models.base import Case
    from bothends.agent.models.registry import load_model
    from bothends.agent.telemetry import tracing

    recipe.refuse_idle()
    question = _question(text, suite, question_id, data, engine)
    prices = PriceBook.load(prices_file)
    priced_machine = prices.engine(machine)

    def load(spec: str) -> Model:
        return load_model(spec, prices=prices, base_url=base_url, sampling=sampling)

    controller = load(model)
    checking = load(checker) if checker else None
    if controller.kind == "scripted" and not question.gold:
        raise UsageError(
            f"{model} is a script and must be told the SQL: name a suite's question with "
            "--suite and --question"
        )
    phase("data")
    dataset = _dataset(engine, suite, scale_factor, data, question.database)
    phase(f"starting {without_password(engine)}")
    with open_engine(engine, dataset) as opened:
        gold_sql = question.gold_sql(opened.name) if question.gold else None
        agent = Agent(
            opened,
            controller,
            checker=checking,
            recipe=recipe,
            limits=limits,
            redaction=redaction,
            preflight=preflight,
        )
        phase(f"asking {controller.label}")
        case = Case(question.id, question.prompt, 0, gold_sql, opened.dialect)
        with tracing() as tracers_for:
            run = agent.run(case, callbacks=(*tracers_for(case), *callbacks))
        verdict = unjudged = None
        try:
            verdict = _verdict(opened, run, gold_sql, limits)
        except UnjudgedError as error:
            unjudged = str(error)
    overhead_s = run.seconds - top_level_seconds(run.steps)
    stages, cost, _ = price_steps(
        run.steps,
        run.seconds,
        overhead_s,
        pricing=agent.model.pricing,
        checker_pricing=agent.checker_pricing,
        prices=prices,
        machine=priced_machine,
        billing=billing,
    )
    outcome = run.outcome
    return Answer(
        question=question.text,
        model=controller.label,
        model_description=controller.description,
        status=run.status,
        sql=run.sql,
        error=run.error,
        columns=outcome.columns if outcome else (),
        rows=outcome.rows if outcome else (),
        row_count=outcome.row_count if outcome else None,
        verdict=verdict,
        unjudged=unjudged,
        seconds=run.seconds,
        overhead_s=overhead_s,
        stages=stages,
        usage=total_usage(run.steps),
        cost=cost,
        steps=run.steps,
    )


def _question(
    text: str | None, suite: str | None, question_id: str | None, data: Path, engine: str
) -> Question:
    if (text is None) == (question_id is None):
        raise UsageError("give a question in words, or a suite's with --suite and --question")
    if text is not None:
        # A text that is a suite's own question is that question.
        known = load_suite(suite, data, engine).questions if suite else ()
        own = [question for question in known if question.text == text]
        return own[0] if own else Question(id="", text=text, gold={})
    if suite is None:
        raise UsageError("--question names a question of a suite: give --suite as well")
    return load_suite(suite, data, engine).select([str(question_id)])[0]


def _dataset(
    engine: str, suite: str | None, scale_factor: float | None, data: Path, database: str
) -> Dataset | None:
    if suite is None:
        return None if "://" in engine else parquet_dataset(data)
    loaded = load_suite(suite, data, engine)
    if loaded.scaled and scale_factor is None:
        scale_factor = SMALLEST_SCALE
    return loaded.dataset_on(engine, scale_factor, data, database)


def _verdict(engine: Engine, run: AgentRun, gold_sql: str | None, limits: Limits) -> Verdict | None:
    if gold_sql is None or run.sql is None or run.outcome is None or run.outcome.status != "ok":
        return None
    engine.prepare()
    gold = engine.execute(gold_sql, gold_limits(engine, limits))
    if gold.status != "ok":
        raise UnjudgedError(f"gold {gold.status}: {gold.error}")
    unfit = unfit_gold(engine, gold, limits)
    if unfit is not None:
        raise UnjudgedError(unfit)
    return verdict_on(
        engine, gold, run.outcome, gold_sql=gold_sql, predicted_sql=run.sql, limits=limits
    )
