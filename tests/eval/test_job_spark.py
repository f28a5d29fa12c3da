"""The job script for real: spark-submit to a standalone cluster, killed half-way, resubmitted."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ByteSize

from bothends.eval import bundle
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.local_site import LocalRun, LocalSite
from bothends.eval.record import Trial
from bothends.eval.store import RunDirectory
from bothends.eval.sweep import run_sweep
from bothends.eval.sweep_directory import SweepDirectory
from bothends.eval.watcher import Silent
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError
from bothends.tools.preflight import Preflight

pytestmark = [pytest.mark.slow, pytest.mark.cloud]

HOME, LARGE = 0.01, 0.02
MODELS = tuple(f"scripted:{name}" for name in ("perfect", "extra_column", "wrong_rows", "failing"))
# It would take hours, and its tasks end when they are told to.
ENDLESS = "SELECT sum(a.id * b.id) FROM range(10000000) AS a CROSS JOIN range(10000000) AS b"
QUICK = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Site(LocalSite):
    """Keeps the job that it started last, and how often it did."""

    runs: list[LocalRun]

    def start(self, script: str, arguments: Sequence[str], conf: Mapping[str, str]) -> LocalRun:
        run = super().start(script, arguments, conf)
        self.runs = [*getattr(self, "runs", []), run]
        return run


class Killing(Silent):
    """Kills the driver and all that belongs to it when the first trial is heard of."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.heard: list[Trial] = []

    def trial(self, trial: Trial) -> None:
        if trial.key.scale_factor == LARGE and not self.heard:
            os.killpg(self.site.runs[-1].process.pid, signal.SIGKILL)
        if trial.key.scale_factor == LARGE:
            self.heard.append(trial)


def with_sql(run: RunDirectory, model: str, sql: str) -> None:
    """Make a model's query another one, as if it had written that."""
    lines = []
    for trial in run.trials():
        if trial.key.model == model:
            steps = tuple(
                step.model_copy(update={"arguments": {"sql": sql}})
                if step.name == "run_query"
                else step
                for step in trial.steps
            )
            trial = trial.model_copy(update={"sql": sql, "steps": steps})
        lines.append(trial.model_dump_json() + "\n")
    (run.path / "trials.jsonl").write_text("".join(lines))


def told(trial: Trial) -> dict[str, object]:
    """Return what a trial says that is no timing, nor of the place where it ran."""
    found = trial.model_dump(
        include={
            *("key", "status", "error", "sql", "row_count", "columns", "first_rows"),
            *("verdict", "exact_match", "soft_f1", "translated_at"),
        }
    )
    (run,) = [step for step in trial.steps if step.name == "run_query"]
    read = run.facts and (run.facts.read_rows, run.facts.spill_disk_bytes)
    # How far a query came until it was stopped is chance.
    return {**found, "read": None if trial.status == "timeout" else read}


def test_a_job_on_a_cluster_finds_what_a_run_here_finds_and_loses_nothing(
    cluster: Any, tpch_dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two thirds of the bundle's bytes, and this interpreter has it; `test_bundle` is about all.
    light = tuple(each for each in bundle._PACKAGES if each != "pyarrow")
    monkeypatch.setattr(bundle, "_PACKAGES", light)
    experiment = Experiment(
        suite="tpch",
        engine=cluster.state.connect,
        data=tpch_dataset.directory.parent.parent,
        scale_factor=HOME,
        question_ids=("6",),
        models=MODELS,
        timeout_s=6.0,
        preflight=Preflight(max_scan_bytes=ByteSize(10**9)),
        regimen=Regimen(warmups=0, repeats=1),
    )
    here = run_sweep(experiment, [HOME], tmp_path / "here")
    with_sql(here.at(HOME), "scripted:extra_column", ENDLESS)
    away = SweepDirectory(tmp_path / "away")
    shutil.copytree(here.path, away.path)
    run_sweep(experiment, [LARGE], here.path)
    local = {trial.key: trial for trial in here.at(LARGE).trials()}

    site = Site(tmp_path / "site", cluster.state.master, experiment.data, java=QUICK)
    killing = Killing(site)
    with pytest.raises(
        EngineError, match=r"the job on Spark at .* failed: its driver ended by signal 9"
    ):
        run_sweep(experiment, [LARGE], away.path, watcher=killing, site=site)
    before = away.at(LARGE).trials()
    assert 0 < len(before) < len(local)
    assert [trial.key for trial in before] == [trial.key for trial in killing.heard]
    golds = away.at(LARGE).golds()

    run_sweep(experiment, [LARGE], away.path, site=site)
    assert len(site.runs) == 2
    trials = away.at(LARGE).trials()
    assert trials[: len(before)] == before
    assert {trial.key: told(trial) for trial in trials} == {
        key: told(trial) for key, trial in local.items()
    }
    assert {trial.status for trial in trials} == {"ok", "failed", "timeout"}
    assert {t.key.model: t.verdict and t.verdict.exact for t in trials} == {
        "scripted:perfect": True,
        "scripted:wrong_rows": False,
        "scripted:extra_column": None,
        "scripted:failing": None,
    }
    # Gold was executed again to judge by, and told once.
    assert away.at(LARGE).golds() == golds
    (ours,), (theirs,) = golds, here.at(LARGE).golds()
    same = {"suite", "question_id", "sql", "status", "columns", "row_count", "digest"}
    same |= {"deterministic", "determinism", "first_rows", "engine", "scale_factor"}
    assert ours.model_dump(include=same) == theirs.model_dump(include=same)
    manifest = away.at(LARGE).manifest
    assert manifest.engine["data"] == here.at(LARGE).manifest.engine["data"]
    # How many workers there are by now is other tests' doing: one of them kills one.
    assert re.search(r"\b[12] executors?, [12] cores?$", manifest.hardware)
    assert manifest.fingerprint == ours.fingerprint == trials[0].fingerprint
    # All of it is there, so nothing is started.
    run_sweep(experiment, [LARGE], away.path, site=site)
    assert len(site.runs) == 2
