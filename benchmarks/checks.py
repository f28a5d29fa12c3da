"""What each mode of check_query costs: seconds, tokens and dollars, side by side in one run.

Usage: python benchmarks/checks.py [--questions 1,3,6,14,18,22] [--data data] [--engine spark]

Each model answers the same questions of TPC-H at scale factor 0.01 in each mode, on one engine, in
turn: mode by mode within each question, so that a busy machine bears on all of them alike.

- Scripts play the controller, and the checker too: it writes the query again unchanged. Their
  tokens are counted and priced as a hosted model's, and a script thinks in no time: the seconds are
  the harness's and the engine's, and those of the modes `llm` and `both` lack a model's own.
- The recorded model's seconds are the recorded ones. It was recorded in mode `llm`, on ten of the
  questions; it is replayed in that mode alone, since in another it would have been asked something
  else, and what it would have said then is not known.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple, get_args

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case, Model
from bothends.agent.models.registry import load_model
from bothends.agent.recipe import CheckMode, Recipe
from bothends.agent.record import AgentRun
from bothends.agent.stages import top_level_seconds, total_usage
from bothends.engines import Engine, Limits, Outcome, open_engine
from bothends.eval.cost import price_steps
from bothends.eval.judging import verdict_on
from bothends.eval.suites.base import Question
from bothends.eval.suites.registry import load_suite
from bothends.infra.prices import PriceBook

PRICED = "price_as=openai:gpt-4o"
SCRIPTS = ("perfect", "hesitating", "failing", "wrong_rows")
RECORDED = "replay:qwen2.5-coder-1.5b.tpch"
RECORDED_IN: CheckMode = "llm"
MODES: tuple[CheckMode, ...] = ("off", "explain", "llm", "both")
MACHINE = "m7i.large"


class Took(NamedTuple):
    """What one trial took."""

    valid: bool
    e2e_s: float
    check_s: float
    tokens: int
    usd: float | None


def trial(
    agent: Agent, question: Question, gold_sql: str, gold: Outcome, prices: PriceBook
) -> Took:
    """Have a question answered, judged and priced."""
    engine = agent.engine
    run = agent.run(Case(question.id, question.prompt, 0, gold_sql, engine.dialect))
    stages, cost, _ = price_steps(
        run.steps,
        run.seconds,
        run.seconds - top_level_seconds(run.steps),
        pricing=agent.model.pricing,
        checker_pricing=agent.checker_pricing,
        prices=prices,
        machine=prices.engine(MACHINE),
        billing="busy",
    )
    usage = total_usage(run.steps)
    check = stages.get("check")
    return Took(
        valid=_valid(engine, run, gold_sql, gold),
        e2e_s=run.seconds,
        check_s=check.seconds if check else 0.0,
        tokens=usage.input_tokens + usage.output_tokens if usage else 0,
        usd=cost.usd,
    )


def _valid(engine: Engine, run: AgentRun, gold_sql: str, gold: Outcome) -> bool:
    if run.outcome is None or run.outcome.status != "ok" or run.sql is None:
        return False
    verdict = verdict_on(
        engine, gold, run.outcome, gold_sql=gold_sql, predicted_sql=run.sql, limits=Limits()
    )
    return verdict.focus


def measured(
    engine: Engine,
    model: Model,
    modes: tuple[CheckMode, ...],
    golds: Sequence[tuple[Question, Outcome]],
) -> Iterator[tuple[CheckMode, list[Took]]]:
    """Yield each mode with what its trials took."""
    prices = PriceBook.load()
    agents = {mode: Agent(engine, model, recipe=Recipe(check=mode)) for mode in modes}
    taken: dict[CheckMode, list[Took]] = {mode: [] for mode in modes}
    for question, gold in golds:
        for mode in modes:
            sql = question.gold_sql(engine.name)
            taken[mode].append(trial(agents[mode], question, sql, gold, prices))
    yield from taken.items()


def preflight_s(engine: Engine, golds: Sequence[tuple[Question, Outcome]]) -> list[float]:
    """Return the seconds of an estimate of each gold query, all of them known to the engine."""
    return [engine.estimate(question.gold_sql(engine.name)).seconds for question, _ in golds]


def main() -> None:
    """Measure and print."""
    assert set(MODES) == set(get_args(CheckMode))  # noqa: S101
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", default="1,3,6,14,18,22")
    parser.add_argument("--engine", default="spark")
    parser.add_argument("--data", type=Path, default=Path("data"))
    arguments = parser.parse_args()
    suite = load_suite("tpch")
    questions = suite.select(arguments.questions.split(","))
    prices = PriceBook.load()
    with open_engine(arguments.engine, suite.dataset(0.01, arguments.data)) as engine:
        golds = [(each, engine.execute(each.gold_sql(engine.name))) for each in questions]
        assert {gold.status for _, gold in golds} == {"ok"}  # noqa: S101
        # Whatever is compiled and asked once is no mode's: one trial in each, not measured.
        warm = load_model(f"scripted:perfect?{PRICED}", prices=prices)
        list(measured(engine, warm, MODES, golds))
        print(f"{len(golds)} questions of TPC-H, SF 0.01, on {engine.title}; means of a trial")
        print(f"{'model':24}{'check':9}{'EX':>6}{'e2e s':>9}{'check s':>9}{'tokens':>8}{'mUSD':>9}")
        models = [(f"scripted:{name}?{PRICED}", MODES) for name in SCRIPTS]
        for spec, modes in (*models, (RECORDED, (RECORDED_IN,))):
            model = load_model(spec, prices=prices)
            for mode, took in measured(engine, model, modes, golds):
                usd = [each.usd for each in took]
                cost = mean(each for each in usd if each is not None) if None not in usd else None
                print(
                    f"{spec.partition('?')[0].rpartition(':')[2]:24}{mode:9}"
                    f"{mean(each.valid for each in took):6.2f}"
                    f"{mean(each.e2e_s for each in took):9.3f}"
                    f"{mean(each.check_s for each in took):9.3f}"
                    f"{mean(each.tokens for each in took):8.0f}"
                    + (f"{cost * 1e3:9.3f}" if cost is not None else f"{'-':>9}")
                )
        seconds = preflight_s(engine, golds)
        print(
            f"\nan estimate before run_query: median {median(seconds) * 1e3:.0f} ms, at most "
            f"{max(seconds) * 1e3:.0f} ms; without limits none is made"
        )
        product = "SELECT * FROM orders, lineitem"
        estimate = engine.estimate(product)
        told = "; ".join(estimate.cartesian) or "not told"
        print(f"{product}: {estimate.seconds * 1e3:.0f} ms; {told}")


if __name__ == "__main__":
    main()
