"""A sweep on EMR from nothing to nothing: the real Terraform, a step that is really carried out.

It mostly waits, as `test_cycle.py` does. Its AWS knows no permissions, no capacity and no prices.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bothends.eval.sweep_directory import SweepDirectory
from bothends.infra.dataset import Dataset

from . import emr_lab

pytestmark = [pytest.mark.slow, pytest.mark.cloud, pytest.mark.xdist_group("emr-lab")]


def test_a_sweep_from_nothing_to_nothing(tmp_path: Path, tpch_dataset: Dataset) -> None:
    lacks = emr_lab.missing()
    if lacks:
        pytest.skip(lacks)
    # <data>/tpch/sf0.01 is where the data set lies.
    found = emr_lab.play(tmp_path, tpch_dataset.directory.parents[1])

    # By hand: 4 nodes at 0.192, EMR's fee of 0.048, and 64 GB at 0.08 a month of 720 hours.
    an_hour = f"${4 * (0.192 + 0.048 + 64 * 0.08 / 720):.4f}"
    assert f"An hour costs {an_hour}: emr:m5.xlarge+3xm5.xlarge?ebs_gb=64" in found["up"]
    assert f"Cluster {found['cluster']} is up." in found["up"]
    assert f"{an_hour} an hour" in found["status"]

    # One step did the larger scale factor, and its records came home.
    ((program, *_, _),) = found["commands"]
    assert program == "spark-submit"
    runs = SweepDirectory(found["swept"]).runs()
    assert set(runs) == {emr_lab.HOME, emr_lab.LARGE}
    for run in runs.values():
        verdicts = {
            (trial.key.question_id, trial.key.model.removeprefix("scripted:")): (
                trial.verdict is not None and trial.verdict.focus
            )
            for trial in run.trials()
        }
        assert verdicts == {
            (question, model): model == "perfect"
            for question in emr_lab.QUESTIONS
            for model in ("perfect", "wrong_rows")
        }
    larger = runs[emr_lab.LARGE].manifest
    assert f"EMR cluster {found['cluster']}" in larger.hardware
    assert larger.machine.startswith("emr:4xm5.xlarge?ebs_gb=64 at $")
    assert (found["swept"] / "report.html").exists()

    # The sweep ended the cluster and took its objects along, `down` did the rest, once.
    assert found["state_after_sweep"].startswith("TERMINAT")
    assert "code" not in found["folders"]
    assert "jobs" not in found["folders"]
    assert "data" in found["folders"]
    assert "Nothing of lab is left." in found["down"]
    assert "Nothing of lab is there" in found["again"]
    assert found["left"] == []
