"""The five metrics recomputed from `trials.jsonl` by a few lines that share nothing with ours."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from bothends import load_run
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.runner import run_experiment
from bothends.infra.dataset import Dataset

MODELS = (
    "scripted:perfect?label=perfect&price_as=openai:gpt-4o",
    "scripted:flaky?label=flaky&p=0.5&seed=2&price_as=openai:gpt-4o-mini",
    "scripted:extra_column?label=wide&price_as=openai:gpt-4o",
    "scripted:failing?label=failing&price_as=openai:gpt-4o",
)


def recompute(file: Path, label: str) -> dict[str, float | None]:
    """EX, VES (exact), VES* (eq. 1), VCES (eq. 3) and CVQ, straight from the lines."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines = [line for line in lines if line["model_label"] == label]
    n = len(lines)
    ex = ves = ves_star = vces = cost = 0.0
    for line in lines:
        cost += line["cost"]["usd"]
        verdict, timing = line["verdict"], line["timing"]
        if not verdict:
            continue
        gold_s = sorted(timing["gold_s"])[len(timing["gold_s"]) // 2]
        generated_s = sorted(timing["generated_s"])[len(timing["generated_s"]) // 2]
        if verdict["exact"]:
            ves += gold_s / generated_s
        if verdict["focus"]:
            ex += 1
            precision = verdict["gold_columns"] / verdict["predicted_columns"]
            ves_star += precision * gold_s / line["e2e_s"]
            vces += precision * gold_s / line["e2e_s"] / line["cost"]["usd"]
    return {
        "ex": ex / n,
        "ves": ves / n,
        "ves_star": ves_star / n,
        "vces": vces / n,
        "cvq": (cost / n) / (ex / n) if ex else None,
    }


def test_the_printed_metrics_follow_from_the_records(tpch_dataset: Dataset, tmp_path: Path) -> None:
    experiment = Experiment(
        suite="tpch",
        engine="sqlite",
        data=tpch_dataset.directory.parent.parent,
        models=MODELS,
        question_ids=("1", "6", "12", "14"),
        replicas=3,
        regimen=Regimen(warmups=0, repeats=3),
    )
    out = tmp_path / "run"
    run_experiment(experiment, out)
    run = load_run(out)
    for label, summary in run.summaries.items():
        for name, value in recompute(out / "trials.jsonl", label).items():
            mean = getattr(summary, name).mean
            if value is None:
                assert mean is None, (label, name)
            else:
                assert mean == pytest.approx(value, rel=1e-9), (label, name)
    assert run.summaries["failing"].cvq.mean is None
    printed = {
        row["model"]: row
        for row in csv.DictReader((out / "tables" / "cost.csv").open(encoding="utf-8"))
    }
    for label in ("perfect", "flaky", "wide"):
        expected = recompute(out / "trials.jsonl", label)
        assert float(printed[label]["cvq_usd"]) == pytest.approx(expected["cvq"], rel=1e-9)
        assert float(printed[label]["vces_per_usd"]) == pytest.approx(expected["vces"], rel=1e-9)
