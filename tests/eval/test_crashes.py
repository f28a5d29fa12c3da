"""Runs that are killed, run out of disk or meet another: nothing measured is lost or doubled."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import resource
import subprocess
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from bothends.eval.experiment import Experiment
from bothends.eval.runner import run_experiment
from bothends.eval.store import RunDirectory

from .tiny import QUESTIONS, tiny_experiment

MOMENTS = 30
# What a run imports as it goes.
IMPORTED = [
    *("bothends.eval.runner", "bothends.eval.trial", "bothends.eval.suites.own"),
    *("bothends.agent.agent", "bothends.agent.models.scripted", "bothends.engines.sqlite"),
    *("sqlglot.dialects.sqlite", "sqlglot.optimizer.qualify"),
]
MODELS = ("scripted:perfect", "scripted:failing")


def lines(file: Path) -> list[bytes]:
    return file.read_bytes().split(b"\n")[:-1] if file.exists() else []


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_completed(tmp_path: Path) -> None:
    """The process is killed with SIGKILL, as by the kernel; half of the runs are concurrent."""
    context = multiprocessing.get_context("forkserver")
    # A process of its own, from which each run is forked with everything imported.
    context.set_forkserver_preload(IMPORTED)
    draws = random.Random(5)  # noqa: S311

    def start(out: Path, concurrency: int = 1) -> tuple[Experiment, BaseProcess]:
        made = tiny_experiment(tmp_path, models=MODELS, replicas=2, concurrency=concurrency)
        process = context.Process(target=run_experiment, args=(made, out))
        process.start()
        return made, process

    def recorded(out: Path, trials: int) -> None:
        while len(lines(out / "trials.jsonl")) < trials:
            time.sleep(0.0005)

    for name in ("imports", "whole"):
        start_s = time.monotonic()
        start(tmp_path / name)[1].join()
        run_s = time.monotonic() - start_s
    assert len(RunDirectory(tmp_path / "whole").trials()) == 8
    cut = 0
    for moment in range(MOMENTS):
        out = tmp_path / str(moment)
        made, process = start(out, concurrency=1 + 3 * (moment % 2))
        # At any moment of a start, or of a trial: the first, the second, ...
        recorded(out, moment % 8)
        time.sleep(draws.uniform(0, run_s / 4))
        process.kill()
        process.join()
        before = lines(out / "trials.jsonl")
        cut += 0 < len(before) < 8
        trials = run_experiment(made, out).trials()
        # What had been written is there still, as it was, and before all else.
        assert lines(out / "trials.jsonl")[: len(before)] == before
        keys = [(t.key.model, t.key.question_id, t.key.replica) for t in trials]
        assert sorted(keys) == sorted(itertools.product(MODELS, QUESTIONS, range(2)))
        assert sorted(gold.question_id for gold in RunDirectory(out).golds()) == sorted(QUESTIONS)
        for line in (*lines(out / "trials.jsonl"), *lines(out / "gold.jsonl")):
            json.loads(line)
    # The moments did fall into the midst of runs.
    assert cut >= MOMENTS // 5


def command(home: Path, out: Path) -> list[str]:
    made = tiny_experiment(home)
    return [
        *(sys.executable, "-m", "bothends", "run", "--suite", made.suite, "--engine", made.engine),
        *("--out", str(out), "--replicas", "5"),
        *("--model", "scripted:perfect", "--model", "scripted:failing", "--repeats", "1"),
    ]


def test_a_full_disk_is_a_clear_error_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = command(tmp_path, out)
    # No file may grow beyond this: a write fails in the middle of a line, as on a full disk.
    full = subprocess.run(
        arguments,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert full.returncode == 1
    assert "trials.jsonl cannot be written" in full.stderr
    assert "what was measured before is kept" in full.stderr
    assert "Traceback" not in full.stderr
    kept = (out / "trials.jsonl").read_bytes()
    assert 1 <= len(lines(out / "trials.jsonl")) < 20
    assert kept.endswith(b"\n")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (out / "trials.jsonl").read_bytes().startswith(kept)
    assert len(RunDirectory(out).trials()) == 20


def test_a_run_directory_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    # Root may write anywhere but where there is no place to.
    for out in (Path("/proc/run"), tmp_path / "file" / "run"):
        (tmp_path / "file").touch()
        failed = subprocess.run(command(tmp_path, out), capture_output=True, text=True, check=False)
        assert failed.returncode == 1
        assert f"bothends: {out} cannot be written" in failed.stderr
        assert "Traceback" not in failed.stderr


def test_two_processes_on_one_directory_spoil_nothing(tmp_path: Path) -> None:
    arguments = command(tmp_path, tmp_path / "run")
    both = [
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    # Either the second came while the first ran, or the first had finished and all was there.
    assert codes[0] == 0
    if codes[1]:
        assert any("another process is running in" in each for each in said)
    trials = RunDirectory(tmp_path / "run").trials()
    assert len({trial.key for trial in trials}) == len(trials) == 20
