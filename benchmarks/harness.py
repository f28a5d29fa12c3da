"""What the harness costs: beside calls by hand, beside LangChain's agent, and with many trials.

Usage: python benchmarks/harness.py [--trials 100] [--data data] [--only hand|overlap|toolkit]

- hand: trials through the agent beside the same tool calls made by hand, on SQLite, in turn.
- overlap: 64 trials at a time against a model that answers after a second, beside what so many
  could do at best.
- toolkit: the same question, tables and scripted replies through the agent of langchain-community's
  Spark SQL toolkit, on one Spark server, in turn. It needs `pip install langchain-community`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bothends.agent.agent import Agent
from bothends.agent.models.base import Case
from bothends.agent.models.registry import load_model
from bothends.agent.models.scripts import tables_of
from bothends.agent.recipe import Recipe
from bothends.agent.stages import top_level_seconds
from bothends.engines import Engine, open_engine
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.runner import run_experiment
from bothends.eval.suites.registry import load_suite
from bothends.infra.prices import PriceBook

AT_ONCE = 64
LATENCY_S = 1.0
SQL = "SELECT max(number) FROM item"
# The turns of a trial without check_query.
TURNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("list_tables", {}),
    ("get_schema", {"tables": ["item"]}),
    ("run_query", {"sql": SQL}),
)


def by_hand(engine: Engine, sql: str, tables: tuple[str, ...]) -> float:
    """Return the seconds of listing, reading the schemas, and running, without an agent."""
    started_s = time.perf_counter()
    engine.list_tables()
    for table in tables:
        engine.ddl(table)
        engine.sample(table, 3)
    engine.execute(sql)
    return time.perf_counter() - started_s


def hand(data: Path, trials: int) -> None:
    """Print what the agent adds to its tool calls."""
    suite = load_suite("tpch")
    (question,) = suite.select(["6"])
    sql = question.gold_sql("sqlite")
    model = load_model("scripted:perfect", prices=PriceBook.load())
    with open_engine("sqlite", suite.dataset(0.01, data)) as engine:
        agent = Agent(engine, model)
        case = Case(question.id, question.text, 0, sql, engine.dialect)
        tables = tables_of(sql, engine.dialect)
        agent.run(case)  # imports and caches
        hand_s, agent_s, overhead_s = [], [], []
        for _ in range(trials):
            hand_s.append(by_hand(engine, sql, tables))
            run = agent.run(case)
            agent_s.append(run.seconds)
            overhead_s.append(run.seconds - top_level_seconds(run.steps))
    print(f"{trials} trials of question 6 on SQLite, SF 0.01, four turns, four tools")
    print(f"  by hand, median        {median(hand_s) * 1e3:8.2f} ms")
    print(f"  through the agent      {median(agent_s) * 1e3:8.2f} ms")
    print(f"  ratio                  {median(agent_s) / median(hand_s):8.2f}")
    print(f"  overhead, median       {median(overhead_s) * 1e3:8.2f} ms  (e2e minus its steps)")
    print(f"  overhead, 95th centile {quantiles(overhead_s, n=20)[-1] * 1e3:8.2f} ms")


class _Slow(BaseHTTPRequestHandler):
    """A chat completions API that makes the next call of `TURNS` after `LATENCY_S`."""

    protocol_version = "HTTP/1.1"
    # Headers and body are two writes: the second would wait for the first to be acknowledged.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn = sum(message["role"] == "assistant" for message in asked["messages"])
        name, arguments = TURNS[turn]
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "slow",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
        time.sleep(LATENCY_S)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 2 * AT_ONCE


def _serve(port: Connection) -> None:
    server = _Server(("127.0.0.1", 0), _Slow)
    port.send(server.server_port)
    server.serve_forever()


def overlap(rounds: int) -> None:
    """Print how much of the ideal throughput many trials at once reach."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    server = context.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory(prefix="bothends-benchmark-") as directory:
        home = Path(directory)
        with sqlite3.connect(home / "items.sqlite") as database:
            database.execute("CREATE TABLE item (number INTEGER)")
            database.executemany("INSERT INTO item VALUES (?)", [(n,) for n in range(100)])
        database.close()
        (home / "items.yaml").write_text(f"- id: a\n  question: The largest?\n  gold: {SQL}\n")

        def run(replicas: int, name: str) -> float:
            experiment = Experiment(
                suite=str(home / "items.yaml"),
                engine=f"sqlite:///{home / 'items.sqlite'}",
                models=(f"openai:slow?base_url=http://127.0.0.1:{port}/v1",),
                recipe=Recipe(check="off"),
                replicas=replicas,
                concurrency=AT_ONCE,
                regimen=Regimen(warmups=0, repeats=1),
            )
            started_s = time.perf_counter()
            trials = run_experiment(experiment, home / name).trials()
            assert {trial.status for trial in trials} == {"ok"}  # noqa: S101
            return time.perf_counter() - started_s

        run(1, "imports")
        ideal_s = rounds * len(TURNS) * LATENCY_S
        took_s = run(rounds * AT_ONCE, "run")
    server.terminate()
    print(f"{rounds * AT_ONCE} trials, {AT_ONCE} at a time, three calls each of {LATENCY_S:g} s")
    print(f"  at best                {ideal_s:8.2f} s")
    print(f"  bothends               {took_s:8.2f} s   {ideal_s / took_s:.2f} of the ideal")


def toolkit(trials: int) -> None:
    """Print a trial's seconds beside those of LangChain's agent with the same replies."""
    try:
        from langchain_community.agent_toolkits import SparkSQLToolkit
        from langchain_community.agent_toolkits.spark_sql.base import create_spark_sql_agent
        from langchain_community.utilities.spark_sql import SparkSQL
    except ImportError:
        print("Spark SQL toolkit: not compared; it needs: pip install langchain-community")
        return
    from langchain_core.language_models.fake import FakeListLLM
    from pyspark.sql import SparkSession

    from bothends.engines.java import find_java
    from bothends.engines.spark_server import SparkServer

    conf = {"spark.master": "local[2]", "spark.sql.catalogImplementation": "in-memory"}
    server = SparkServer(find_java(), options=("-Xmx1g",), conf=conf)
    session = SparkSession.builder.remote(server.url).create()
    try:
        session.sql("CREATE TABLE item USING parquet AS SELECT id AS number FROM range(100)")
        replies = [
            "Action: list_tables_sql_db\nAction Input: ",
            "Action: schema_sql_db\nAction Input: item",
            f"Action: query_checker_sql_db\nAction Input: {SQL}",
            SQL,
            f"Action: query_sql_db\nAction Input: {SQL}",
            "Final Answer: 99",
        ]
        llm = FakeListLLM(responses=replies)
        agent = create_spark_sql_agent(llm, SparkSQLToolkit(db=SparkSQL(session), llm=llm))
        model = load_model("scripted:perfect", prices=PriceBook.load())
        with open_engine(server.url) as engine:
            own = Agent(engine, model)
            case = Case("a", "The largest?", 0, SQL, engine.dialect)

            def ours() -> None:
                assert own.run(case).outcome.rows == ((99,),)  # type: ignore[union-attr]  # noqa: S101

            def theirs() -> None:
                assert agent.invoke({"input": "The largest?"})["output"] == "99"  # noqa: S101

            ours_s, theirs_s = _in_turn(ours, theirs, trials)
    finally:
        session.stop()
        server.close()
    print(f"{trials} trials on one Spark server: list, schema with samples, check, run")
    print(f"  Spark SQL toolkit      {median(theirs_s) * 1e3:8.2f} ms, one more turn, listed once")
    print(f"  bothends               {median(ours_s) * 1e3:8.2f} ms, metered")
    print(f"  ratio                  {median(ours_s) / median(theirs_s):8.2f}")


def _in_turn(
    one: Callable[[], None], other: Callable[[], None], times: int
) -> tuple[list[float], list[float]]:
    seconds: tuple[list[float], list[float]] = ([], [])
    for call in (one, other, one, other):  # imports and caches
        call()
    for _ in range(times):
        for call, taken in zip((one, other), seconds, strict=True):
            started_s = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started_s)
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=4, help="of 64 trials, for overlap")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--only", choices=("hand", "overlap", "toolkit"))
    arguments = parser.parse_args()
    if arguments.only in (None, "hand"):
        hand(arguments.data, arguments.trials)
    if arguments.only in (None, "overlap"):
        overlap(arguments.rounds)
    if arguments.only in (None, "toolkit"):
        toolkit(arguments.trials)


if __name__ == "__main__":
    main()
