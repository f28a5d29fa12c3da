"""What an engine costs beyond its driver, and what large results and large catalogs cost.

Usage: python benchmarks/engines.py [--engine sqlite --engine spark] [--rows 1000000]

Each pair of timings is taken in turn, in one run. All data is made in a temporary directory.
"""

from __future__ import annotations

import argparse
import datetime as dt
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bothends.engines import Engine, Limits, open_engine
from bothends.infra.dataset import Dataset

ENGINES = ("sqlite", "postgres", "spark")
LARGE_ROWS = 6_001_215
TABLES = 2_000
ALL = "SELECT * FROM line"


def large_data(root: Path, rows: int) -> Dataset:
    """Write a table of five columns of the usual types, in batches."""
    path = root / "line.parquet"
    first = dt.date(1992, 1, 1)
    days = [first + dt.timedelta(days=day) for day in range(2_500)]
    schema = pa.schema(
        [
            ("key", pa.int64()),
            ("price", pa.float64()),
            ("flag", pa.string()),
            ("comment", pa.string()),
            ("shipped", pa.date32()),
        ]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 100_000):
            numbers = range(start, min(rows, start + 100_000))
            columns: list[list[Any]] = [
                list(numbers),
                [number / 7 for number in numbers],
                ["ANR"[number % 3] for number in numbers],
                [f"comment number {number}" for number in numbers],
                [days[number % len(days)] for number in numbers],
            ]
            writer.write_table(pa.table(columns, schema=schema))
    return Dataset("benchmark", None, root, {"line": path}, digest=str(rows))


def many_tables(root: Path) -> Dataset:
    """Write one small file and name it as thousands of tables."""
    path = root / "small.parquet"
    pq.write_table(pa.table({f"column_{n}": [n, n + 1] for n in range(12)}), path)
    return Dataset("tables", None, root, {f"table_{n:04}": path for n in range(TABLES)}, digest="t")


@contextmanager
def bare_driver(
    name: str, engine: Engine, data: Dataset
) -> Iterator[dict[str, Callable[[str], object]]]:
    """What a person would write without us: the driver's own calls, by what they return.

    The SQLite file and the PostgreSQL server are those that the engine reads; Spark is asked
    through the engine's own session, since a second server would compete with it.
    """
    if name == "sqlite":
        import sqlite3

        (file,) = data.directory.rglob("*.sqlite")
        connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
        yield {"fetchall": lambda sql: connection.execute(sql).fetchall()}
        connection.close()
    elif name == "postgres":
        import psycopg

        info = engine._connection.info  # type: ignore[attr-defined]
        with psycopg.connect(
            host=info.host, port=info.port, user=info.user, dbname=info.dbname, autocommit=True
        ) as link:
            yield {"fetchall": lambda sql: link.execute(sql).fetchall()}
    else:
        session = engine._link.session  # type: ignore[attr-defined]
        yield {
            "collect": lambda sql: session.sql(sql).collect(),
            "toArrow": lambda sql: session.sql(sql).toArrow(),
        }


def in_turn(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each call, each called once per round."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            started_s = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started_s)
    return {name: median(each) for name, each in seconds.items()}


def overhead(name: str, data: Dataset, rows: int) -> None:
    """Print what `execute` takes beside the bare driver."""
    with open_engine(name, data) as engine, bare_driver(name, engine, data) as bare:
        all_rows = Limits(max_rows=rows)
        for what, sql, repeats, limits in (
            ("SELECT 1", "SELECT 1", 50, Limits()),
            (f"{rows:,} rows, all kept", ALL, 3, all_rows),
            (f"{rows:,} rows, 100,000 kept", ALL, 3, Limits()),
        ):
            calls: dict[str, Callable[[], object]] = {
                f"bare {call}": lambda call=act, sql=sql: call(sql)  # type: ignore[misc]
                for call, act in bare.items()
            }
            calls["execute"] = lambda sql=sql, limits=limits: engine.execute(sql, limits)  # type: ignore[misc]
            taken = in_turn(calls, repeats)
            ours_s = taken.pop("execute")
            for call, bare_s in taken.items():
                print(
                    f"  {name:9} {what:28} {call:13} {bare_s * 1e3:9.2f} ms   execute "
                    f"{ours_s * 1e3:9.2f} ms   ratio {ours_s / bare_s:5.2f}   "
                    f"difference {(ours_s - bare_s) * 1e3:+8.2f} ms"
                )


def _peak_mb() -> float:
    """Return the peak resident memory of this process.

    Where there is /proc, from there: getrusage counts what the parent had before the exec, too.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def _open(name: str, data: Dataset) -> None:
    open_engine(name, data).close()


def _memory(name: str, data: Dataset) -> None:
    with open_engine(name, data) as engine:
        engine.execute("SELECT * FROM line LIMIT 1000")
        before_mb = _peak_mb()
        outcome = engine.execute(ALL, Limits(timeout_s=1_200))
        print(
            f"  {name:9} {outcome.row_count:,} rows, {len(outcome.rows):,} kept: "
            f"{outcome.seconds:6.1f} s, peak memory of this process "
            f"{_peak_mb() - before_mb:+7.1f} MB (from {before_mb:.0f} MB)",
            flush=True,
        )


def memory(name: str, data: Dataset) -> None:
    """Print the growth of a process that runs one query of millions of rows."""
    context = multiprocessing.get_context("spawn")
    # The first to open it loads the data, which has a peak of its own.
    for target in (_open, _memory):
        process = context.Process(target=target, args=(name, data))
        process.start()
        process.join()


def catalog(name: str, data: Dataset) -> None:
    """Print what listing thousands of tables and reading ten takes, first and later times."""
    wanted = [f"table_{n * 190:04}" for n in range(10)]

    def look(engine: Engine) -> float:
        started_s = time.perf_counter()
        engine.list_tables()
        for table in wanted:
            engine.ddl(table)
        return time.perf_counter() - started_s

    with open_engine(name, data) as engine:
        first_s = look(engine)
        later_s = median(look(engine) for _ in range(5))
        print(
            f"  {name:9} list of {TABLES:,} and schema of {len(wanted)}: first {first_s:6.3f} s, "
            f"then {later_s:6.3f} s"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", choices=ENGINES)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    engines = arguments.engine or ENGINES
    with tempfile.TemporaryDirectory(prefix="bothends-benchmark-") as directory:
        rooms = [Path(directory) / name for name in ("rows", "large", "tables")]
        for room in rooms:
            room.mkdir()
        print("Overhead of execute over the bare driver, medians, in turn")
        data = large_data(rooms[0], arguments.rows)
        for name in engines:
            overhead(name, data, arguments.rows)
        print("Memory of the driver for a large result")
        data = large_data(rooms[1], LARGE_ROWS)
        for name in engines:
            memory(name, data)
        print("A large catalog")
        data = many_tables(rooms[2])
        for name in engines:
            catalog(name, data)


if __name__ == "__main__":
    main()
