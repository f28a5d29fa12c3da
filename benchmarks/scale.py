"""What the harness itself takes as data grows, and what judging a large result inside Spark takes.

Usage: python benchmarks/scale.py [--scale-factors 0.01,0.1,1] [--data data] [--only trials]

The first part asks a few questions of a script at each scale factor and takes from each trial's
end-to-end seconds those of LLM calls and of the engine: what is left is the harness, and should not
depend on the data. The second part runs a query of 6,001,215 rows at scale factor 1, judges it
against another one inside Spark, and collects it to pandas, each in a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bothends.engines import Engine, Limits, open_engine
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.judging import gold_limits, verdict_on
from bothends.eval.runner import run_experiment
from bothends.infra.tpch import tpch_dataset

QUESTIONS = ("1", "6", "12", "14")
REPLICAS = 5
LARGE = "SELECT l_orderkey, l_linenumber, l_quantity, l_extendedprice, l_shipdate FROM lineitem"
# The same rows by another text, and the same with the columns in another order.
SAME = f"{LARGE} WHERE l_orderkey > 0"
TURNED = "SELECT l_shipdate, l_orderkey, l_quantity, l_extendedprice, l_linenumber FROM lineitem"
LIMITS = Limits(timeout_s=1_800)


def harness(scale_factor: float, data: Path) -> list[float]:
    """Return the harness's own seconds of each trial at a scale factor."""
    experiment = Experiment(
        suite="tpch",
        engine="spark",
        scale_factor=scale_factor,
        data=data,
        question_ids=QUESTIONS,
        models=("scripted:perfect",),
        replicas=REPLICAS,
        regimen=Regimen(warmups=0, repeats=1),
    )
    with tempfile.TemporaryDirectory(prefix="bothends-benchmark-") as directory:
        trials = run_experiment(experiment, Path(directory) / "run").trials()
    taken = []
    for trial in trials:
        llm_s = sum(stage.llm_s for stage in trial.stages.values())
        engine_s = sum(stage.engine_s for stage in trial.stages.values())
        taken.append((trial.e2e_s or 0.0) - llm_s - engine_s)
    return taken


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024


def execute(engine: Engine) -> str:
    """Run the large query, of whose rows a few are kept."""
    outcome = engine.execute(LARGE, gold_limits(engine, LIMITS))
    return f"{outcome.row_count:,} rows; {outcome.seconds:.1f} s without its digest"


def judge(engine: Engine, sql: str = SAME) -> str:
    """Judge one large result against another."""
    gold = engine.execute(LARGE, gold_limits(engine, LIMITS))
    predicted = engine.execute(sql, LIMITS)
    start_s = time.perf_counter()
    verdict = verdict_on(engine, gold, predicted, gold_sql=LARGE, predicted_sql=sql, limits=LIMITS)
    seconds = time.perf_counter() - start_s
    return (
        f"{seconds:.1f} s for the verdict alone, {predicted.seconds:.1f} s for the query; focus "
        f"{verdict.focus}, exact {verdict.exact}"
    )


def judge_turned(engine: Engine) -> str:
    """The same, where each column must be found first."""
    return judge(engine, TURNED)


def collect(engine: Engine) -> str:
    """Collect the large result to pandas, as a script without us would."""
    session = engine._link.session  # type: ignore[attr-defined]
    start_s = time.perf_counter()
    rows = len(session.sql(LARGE).toPandas())
    return f"{time.perf_counter() - start_s:.1f} s for {rows:,} rows of pandas"


def _measure(name: str, data: Path, act: Callable[[Engine], str]) -> None:
    with open_engine("spark", tpch_dataset(1.0, data)) as engine:
        engine.execute("SELECT * FROM lineitem LIMIT 1000")
        before_mb, start_s = _peak_mb(), time.perf_counter()
        said = act(engine)
        print(
            f"  {name:28} {time.perf_counter() - start_s:6.1f} s in all, peak memory of the driver "
            f"{_peak_mb() - before_mb:+7.1f} MB; {said}",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale-factors", default="0.01,0.1,1")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--only", choices=("trials", "large"))
    arguments = parser.parse_args()
    if arguments.only != "large":
        print(f"Harness, {REPLICAS} replicas of {len(QUESTIONS)} questions of a script on Spark")
        first = None
        for scale_factor in map(float, arguments.scale_factors.split(",")):
            taken = sorted(harness(scale_factor, arguments.data))
            middle = median(taken)
            first = first or middle
            print(
                f"  SF {scale_factor:<6g} median {middle * 1e3:7.2f} ms a trial, middle half "
                f"{taken[len(taken) // 4] * 1e3:.2f} to {taken[-len(taken) // 4] * 1e3:.2f} ms, "
                f"ratio {middle / first:.2f}",
                flush=True,
            )
    if arguments.only != "trials":
        print("A large result at scale factor 1, each in a process of its own")
        context = multiprocessing.get_context("spawn")
        for name, act in (
            ("run it", execute),
            ("run two and judge in Spark", judge),
            ("the columns turned round", judge_turned),
            ("collect it to pandas", collect),
        ):
            process = context.Process(target=_measure, args=(name, arguments.data, act))
            process.start()
            process.join()


if __name__ == "__main__":
    main()
