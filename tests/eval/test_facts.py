"""A run whose engine is paid by the byte: dollars from the record, and facts beside gold's."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.record import Gold, Trial
from bothends.eval.runner import run_experiment
from bothends.infra.dataset import Dataset


@pytest.mark.slow
def test_a_run_on_spark_is_priced_by_what_it_scanned(
    cluster: Any, tpch_dataset: Dataset, tmp_path: Path
) -> None:
    experiment = Experiment(
        suite="tpch",
        engine=cluster.state.connect,
        data=tpch_dataset.directory.parent.parent,
        models=("scripted:perfect?price_as=openai:gpt-4o",),
        question_ids=("6",),
        machine="scan:5?least_mb=1",
        budget_usd=1.0,
        regimen=Regimen(warmups=0, repeats=1),
    )
    directory = run_experiment(experiment, tmp_path / "run")
    (line,) = (tmp_path / "run" / "trials.jsonl").read_text().splitlines()
    trial = json.loads(line)
    assert trial["status"] == "ok", trial["error"]
    scans = [size for step in trial["steps"] for size in step["scans_bytes"] or ()]
    names = [step["name"] for step in trial["steps"] if step["scans_bytes"]]
    assert names[-2:] == ["get_schema", "run_query"]
    # Dollars for 1024^4 bytes, in begun megabytes.
    expected = sum(5 * max(1, math.ceil(size / 1024**2)) / 1024**2 for size in scans)
    assert trial["cost"]["engine_usd"] == pytest.approx(expected, rel=1e-12)
    ran, (gold,) = trial["steps"][-1]["facts"], directory.golds()
    assert gold.facts is not None
    # The script runs gold's own query: what does not depend on the moment is the same.
    for told in ("read_bytes", "read_rows", "shuffle_write_bytes", "jobs", "plan_digest"):
        assert ran[told] == getattr(gold.facts, told), told
    assert ran["read_rows"] == 60_175

    # What was written before there were facts is read as it was.
    for step in trial["steps"]:
        del step["facts"], step["scans_bytes"]
    older = Trial.model_validate(trial)
    assert {step.facts for step in older.steps} == {None}
    assert Gold.model_validate(gold.model_dump(exclude={"facts"})).facts is None
