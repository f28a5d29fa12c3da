"""What the harness costs: trials through the agent beside the same four tool calls made by hand.

Usage: python benchmarks/harness.py [--trials 100] [--data data]

Both do the same work on SQLite, in turn, in one run; the difference is the graph, the meter, the
callbacks and the scripted model.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median, quantiles

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case
from bothends.agent.models.registry import load_model
from bothends.agent.models.scripts import tables_of
from bothends.agent.stages import top_level_seconds
from bothends.engines import Engine, open_engine
from bothends.eval.suites.registry import load_suite
from bothends.infra.prices import PriceBook


def by_hand(engine: Engine, sql: str, tables: tuple[str, ...]) -> float:
    """Return the seconds of listing, reading the schemas, and running, without an agent."""
    started_s = time.perf_counter()
    engine.list_tables()
    for table in tables:
        engine.ddl(table)
        engine.sample(table, 3)
    engine.execute(sql)
    return time.perf_counter() - started_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--data", type=Path, default=Path("data"))
    arguments = parser.parse_args()
    suite = load_suite("tpch")
    (question,) = suite.select(["6"])
    sql = question.gold_sql("sqlite")
    model = load_model("scripted:perfect", prices=PriceBook.load())
    with open_engine("sqlite", suite.dataset(0.01, arguments.data)) as engine:
        agent = Agent(engine, model)
        case = Case(question.id, question.text, 0, sql, engine.dialect)
        tables = tables_of(sql, engine.dialect)
        agent.run(case)  # imports and caches
        hand_s, agent_s, overhead_s = [], [], []
        for _ in range(arguments.trials):
            hand_s.append(by_hand(engine, sql, tables))
            run = agent.run(case)
            agent_s.append(run.seconds)
            overhead_s.append(run.seconds - top_level_seconds(run.steps))
    print(f"{arguments.trials} trials of question 6 on SQLite, SF 0.01, four turns, four tools")
    print(f"  by hand, median        {median(hand_s) * 1e3:8.2f} ms")
    print(f"  through the agent      {median(agent_s) * 1e3:8.2f} ms")
    print(f"  ratio                  {median(agent_s) / median(hand_s):8.2f}")
    print(f"  overhead, median       {median(overhead_s) * 1e3:8.2f} ms  (e2e minus its steps)")
    print(f"  overhead, 95th centile {quantiles(overhead_s, n=20)[-1] * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
