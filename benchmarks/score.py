"""What scoring takes: `bothends score` beside a plain loop that follows the official procedure.

Usage: python benchmarks/score.py --bird DIR [--predictions FILE ...] [--tpch DATA] [--cores N]

The loop is BIRD's: a pool of processes; for each prediction of each file a fresh connection, the
prediction, gold again, and the two sets of rows compared, within one time limit. It says right or
wrong and no more. Ours computes all four verdicts, classes, Soft-F1 and exact match, and writes
the run directory and its reports. Both are started as processes of their own, in turn, on the same
cores, and their verdicts by sets must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path

MARK = "\t----- bird -----\t"
# One answer to this question runs for minutes; it would measure the time limit.
ENDLESS = "232"
Work = tuple[str, str, str, float]


def official(work: Work) -> bool:
    """Return whether a prediction is right: fresh connection, both queries, sets of rows."""
    database, predicted, gold, timeout_s = work
    right: list[bool] = []

    def execute() -> None:
        try:
            connection = sqlite3.connect(database)
            cursor = connection.cursor()
            cursor.execute(predicted)
            ours = cursor.fetchall()
            cursor.execute(gold)
            right.append(set(ours) == set(cursor.fetchall()))
            connection.close()
        except Exception:
            right.append(False)

    # The official timeout gives up waiting in the same way: by a thread.
    thread = threading.Thread(target=execute, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return bool(right and right[0])


def plain_loop(plan: Path, cores: int) -> None:
    """Score what a plan names, one file of predictions after the other; print the verdicts."""
    loaded = json.loads(plan.read_text())
    found = {}
    for name in loaded["files"]:
        predictions = json.loads(Path(name).read_text())
        work = [
            (q["database"], predictions.get(q["id"], "").split(MARK)[0], q["gold"], 300.0)
            for q in loaded["questions"]
        ]
        with Pool(cores) as pool:
            verdicts = pool.map(official, work, chunksize=1)
        found[name] = dict(zip((q["id"] for q in loaded["questions"]), verdicts, strict=True))
    print(json.dumps(found))


def timed(command: Sequence[str], cores: int) -> tuple[float, str]:
    """Run a command on so many cores; return its seconds and what it printed."""
    started_s = time.perf_counter()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores]),
    )
    seconds = time.perf_counter() - started_s
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return seconds, done.stdout


def compare(
    title: str,
    files: Sequence[Path],
    plan: dict[str, object],
    arguments: Sequence[str],
    cores: int,
    rounds: int,
) -> None:
    """Time both in turn, check that they agree, and print the best of each."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "plan.json"
        written.write_text(json.dumps(plan | {"files": [str(file) for file in files]}))
        theirs_s, ours_s = [], []
        for number in range(rounds):
            seconds, printed = timed(
                [sys.executable, __file__, "--plan", str(written), "--cores", str(cores)], cores
            )
            theirs_s.append(seconds)
            out = Path(folder) / f"run{number}"
            options = [part for file in files for part in ("--predictions", str(file))]
            command = [sys.executable, "-m", "bothends", "score", *arguments, *options]
            seconds, _ = timed([*command, "--out", str(out), "--gold-timeout", "300"], cores)
            ours_s.append(seconds)
        expected = json.loads(printed)
        pairs = differing = 0
        for line in (out / "trials.jsonl").open():
            trial = json.loads(line)
            name = trial["key"]["model"].partition(":")[2]
            right = bool(trial["verdict"] and trial["verdict"]["bird_set"])
            pairs += 1
            differing += right != expected[name][trial["key"]["question_id"]]
    print(f"{title}: {pairs} predictions")
    print(f"  official procedure {min(theirs_s):8.2f} s   of {rounds} rounds, the best")
    ratio = min(theirs_s) / min(ours_s)
    print(f"  bothends score     {min(ours_s):8.2f} s   {ratio:.1f} times as fast")
    print(f"  verdicts by sets that differ: {differing}", flush=True)


def bird(directory: Path, files: Sequence[Path], cores: int, rounds: int) -> None:
    """One file, and all files in one call."""
    entries = json.loads((directory / "dev.json").read_text())
    entries = [entry for entry in entries if str(entry["question_id"]) != ENDLESS]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        (data / "dev.json").write_text(json.dumps(entries))
        (data / "dev_databases").symlink_to(directory.absolute() / "dev_databases")
        plan = {
            "questions": [
                {
                    "id": str(entry["question_id"]),
                    "gold": entry["SQL"],
                    "database": str(data / "dev_databases/{0}/{0}.sqlite".format(entry["db_id"])),
                }
                for entry in entries
            ]
        }
        arguments = ["--suite", "bird", "--data", str(data)]
        compare("One file", files[-1:], plan, arguments, cores, rounds)
        compare(f"{len(files)} files in one call", files, plan, arguments, cores, rounds)


def tpch(data: Path, scale_factor: float, sets: int, cores: int) -> None:
    """Sets of predictions over TPC-H in SQLite, made by small variations of gold."""
    from bothends.engines.sqlite_load import load_sqlite
    from bothends.eval.suites.registry import load_suite

    suite = load_suite("tpch")
    path = load_sqlite(suite.dataset(scale_factor, data))
    questions = [
        {"id": question.id, "gold": question.gold_sql("sqlite"), "database": str(path)}
        for question in suite.questions
    ]
    draw = random.Random(7)  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number in range(sets):
            answers = {q["id"]: draw.choice(VARIATIONS)(q["gold"]) for q in questions}
            files.append(Path(folder) / f"set{number:02}.json")
            files[-1].write_text(json.dumps(answers))
        arguments = ["--suite", "tpch", "--data", str(data), "--scale-factor", str(scale_factor)]
        compare(
            f"{sets} sets over TPC-H at SF {scale_factor:g}",
            files,
            {"questions": questions},
            [*arguments, "--timeout", "300"],
            cores,
            1,
        )


def laid_out_anew(sql: str) -> str:
    """Return a query in one line."""
    return re.sub(r"\s+", " ", sql)


# Half the answers are gold's text, in its layout or another; the others are two queries more.
VARIATIONS = (
    lambda sql: sql,
    laid_out_anew,
    lambda sql: f"SELECT * FROM ({sql.rstrip().rstrip(';')})",
    lambda sql: f"SELECT * FROM ({sql.rstrip().rstrip(';')}) LIMIT 1",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bird", type=Path)
    parser.add_argument("--predictions", type=Path, nargs="*", help="default: predictions/*.json")
    parser.add_argument("--tpch", type=Path, help="where TPC-H's data is kept or generated")
    parser.add_argument("--scale-factor", type=float, default=0.1)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--plan", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.plan:
        plain_loop(arguments.plan, arguments.cores)
        return
    if arguments.bird:
        folder = arguments.bird / "predictions"
        files = arguments.predictions or sorted(
            file for file in folder.glob("*.json") if "official" not in file.name
        )
        bird(arguments.bird, files, arguments.cores, arguments.rounds)
    if arguments.tpch:
        tpch(arguments.tpch, arguments.scale_factor, arguments.sets, arguments.cores)


if __name__ == "__main__":
    main()
