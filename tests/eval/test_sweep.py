"""Sweeps: one translation, executed at every scale factor, and nothing run twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.manifest import Manifest
from bothends.eval.record import Trial
from bothends.eval.report import write_files
from bothends.eval.report.answer import headline
from bothends.eval.report.load import load_report, load_reports
from bothends.eval.report.scale import by_scale, outlook_of
from bothends.eval.runner import run_experiment
from bothends.eval.store import RunDirectory
from bothends.eval.sweep import at_scale, run_sweep
from bothends.eval.sweep_directory import SweepDirectory, unscaled
from bothends.eval.watcher import Silent
from bothends.infra.dataset import Dataset
from bothends.infra.errors import BothendsError, RecordError, UsageError

SMALL, LARGE = 0.01, 0.02
PERFECT = "scripted:perfect?price_as=openai:gpt-4o"
WIDE = "scripted:extra_column?price_as=openai:gpt-4o"
# It never ends by itself.
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"


class Watching(Silent):
    """Keeps what is run, and where the run begins."""

    def __init__(self) -> None:
        self.ran: list[tuple[float | None, str, str]] = []
        self.began: list[tuple[int, int]] = []
        self.why = ""

    def begin(self, manifest: Manifest, done: Sequence[Trial], total: int) -> None:
        self.began.append((len(done), total))

    def trial(self, trial: Trial) -> None:
        self.ran.append((trial.key.scale_factor, trial.key.question_id, trial.key.model))

    def stopped(self, why: str) -> None:
        self.why = why


def make(tpch_dataset: Dataset, **changes: object) -> Experiment:
    fields: dict[str, object] = {
        "suite": "tpch",
        "engine": "sqlite",
        "data": tpch_dataset.directory.parent.parent,
        "scale_factor": SMALL,
        "question_ids": ("1", "6"),
        "models": (PERFECT,),
        "regimen": Regimen(warmups=0, repeats=1),
    }
    return Experiment.model_validate(fields | changes)


def sweep(
    experiment: Experiment, out: Path, *scales: float, skip: bool = False
) -> tuple[SweepDirectory, Watching]:
    watching = Watching()
    swept = run_sweep(experiment, scales, out, skip_after_timeout=skip, watcher=watching)
    return swept, watching


@pytest.fixture(scope="module")
def swept(tpch_dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SweepDirectory:
    out = tmp_path_factory.mktemp("sweep") / "s"
    return sweep(make(tpch_dataset, models=(PERFECT, WIDE)), out, SMALL, LARGE)[0]


def test_the_translation_is_the_same_at_every_scale_and_the_engine_is_not(
    swept: SweepDirectory, tpch_dataset: Dataset
) -> None:
    at = {scale: {unscaled(t.key): t for t in run.trials()} for scale, run in swept.runs().items()}
    assert set(at) == {SMALL, LARGE}
    assert len(at[SMALL]) == 4
    assert at[SMALL].keys() == at[LARGE].keys()
    for key, small in at[SMALL].items():
        large = at[LARGE][key]
        assert (small.translated_at, large.translated_at) == (None, SMALL)
        assert large.key.scale_factor == LARGE
        assert large.sql == small.sql
        assert large.usage == small.usage
        assert large.cost.llm_usd == small.cost.llm_usd
        # All but the run's seconds in the engine is the translation's.
        ran = [next(s for s in t.steps if s.name == "run_query") for t in (small, large)]
        assert large.e2e_s is not None
        assert small.e2e_s is not None
        assert large.e2e_s - ran[1].engine_s == pytest.approx(small.e2e_s - ran[0].engine_s)
        assert large.overhead_s == small.overhead_s
        assert [s.seconds for s in large.steps if s.kind == "llm"] == [
            s.seconds for s in small.steps if s.kind == "llm"
        ]
        # Dollars by hand: m7i.large costs 0.1008 an hour, for the seconds of tools that asked.
        engine_s = sum(step.engine_s for step in large.steps)
        assert large.cost.engine_usd == pytest.approx(engine_s * 0.1008 / 3600)
        assert large.cost.usd == pytest.approx(large.cost.llm_usd + large.cost.engine_usd)
        for each in (small, large):
            assert each.cost.usd == pytest.approx(sum(usd or 0 for usd in each.step_usd))
        verdict = large.verdict
        assert verdict is not None
        assert verdict.focus
        assert verdict.exact == (key.model == PERFECT)
        assert large.timing is not None
        assert math.isfinite(large.timing.gold_median_s)
        assert not any(step.text or step.arguments for step in large.steps)
    # The answers are those of the larger data: counted in its files by DuckDB.
    shown = next(t for k, t in at[LARGE].items() if (k.question_id, k.model) == ("1", PERFECT))
    lines = tpch_dataset.directory.parent / f"sf{LARGE:g}" / "lineitem"
    files = f"{lines}/*.parquet" if lines.is_dir() else f"{lines}.parquet"
    counts = duckdb.sql(
        "SELECT count(*) FROM '" + files + "' WHERE l_shipdate <= DATE '1998-12-01' - 90 "
        "GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"
    ).fetchall()
    assert [row[-1] for row in shown.first_rows] == [str(count) for (count,) in counts]


def test_what_is_there_is_not_run_again(swept: SweepDirectory, tpch_dataset: Dataset) -> None:
    before = swept.trials()
    _, watching = sweep(make(tpch_dataset, models=(PERFECT, WIDE)), swept.path, SMALL, LARGE)
    assert watching.ran == []
    assert watching.began == [(4, 4), (4, 4)]
    assert swept.trials() == before


def test_a_model_and_a_scale_that_are_added_run_alone(
    tpch_dataset: Dataset, tmp_path: Path
) -> None:
    out = tmp_path / "s"
    _, first = sweep(make(tpch_dataset, question_ids=("6",)), out, SMALL)
    assert first.ran == [(SMALL, "6", PERFECT)]
    _, scale = sweep(make(tpch_dataset, question_ids=("6",)), out, LARGE)
    assert scale.ran == [(LARGE, "6", PERFECT)]
    # Of the added model alone is said that it is to be run, and what is there stays.
    swept, model = sweep(make(tpch_dataset, question_ids=("6",), models=(WIDE,)), out, SMALL, LARGE)
    assert model.ran == [(SMALL, "6", WIDE), (LARGE, "6", WIDE)]
    for run in swept.runs().values():
        manifest = run.manifest
        assert manifest.experiment.models == (PERFECT, WIDE)
        assert [each.spec for each in manifest.models] == [PERFECT, WIDE]
        assert len(run.trials()) == 2
    _, question = sweep(make(tpch_dataset, replicas=2), out, SMALL, LARGE)
    assert [ran[1] for ran in question.ran] == ["1", "1", "6"] * 2
    assert swept.at(LARGE).manifest.experiment.question_ids == ("6", "1")
    assert swept.at(LARGE).manifest.experiment.replicas == 2
    table = by_scale(load_reports([swept.path]))
    assert table is not None
    assert [[cell.value for cell in row[:3]] for row in table.rows] == [
        ["scripted:perfect", SMALL, 4],
        ["scripted:perfect", LARGE, 4],
        ["scripted:extra_column", SMALL, 1],
        ["scripted:extra_column", LARGE, 1],
    ]


def test_a_query_that_runs_out_of_time_is_charged_and_then_skipped(
    tpch_dataset: Dataset, tmp_path: Path
) -> None:
    changes = {"question_ids": ("6",), "timeout_s": 1.0, "billing": "busy"}
    experiment = make(tpch_dataset, **changes)
    swept, _ = sweep(experiment, tmp_path / "s", SMALL, skip=True)
    # As if the model had written another query, which is quick to refuse but slow to run.
    home = swept.at(SMALL)
    (trial,) = home.trials()
    steps = tuple(
        step.model_copy(update={"arguments": {"sql": ENDLESS}})
        if step.name == "run_query"
        else step
        for step in trial.steps
    )
    (home.path / "trials.jsonl").write_text(
        trial.model_copy(update={"sql": ENDLESS, "steps": steps}).model_dump_json() + "\n"
    )
    _, watching = sweep(experiment, swept.path, SMALL, LARGE, 0.03, skip=True)
    assert [scale for scale, _, _ in watching.ran] == [LARGE, 0.03]
    late, skipped = (swept.at(scale).trials()[0] for scale in (LARGE, 0.03))
    assert (late.status, skipped.status) == ("timeout", "skipped")
    burned_s = [next(s for s in t.steps if s.name == "run_query").engine_s for t in (late, skipped)]
    assert burned_s[0] >= 1.0
    assert burned_s[1] == burned_s[0]
    assert skipped.cost == late.cost
    assert late.cost.engine_usd is not None
    assert late.cost.engine_usd >= 0.1008 / 3600
    assert "scale factor 0.02" in (skipped.error or "")
    assert skipped.verdict is None
    summary = load_report(swept.at(0.03).path).groups[0].summary
    assert (summary.counted, summary.ex.mean, summary.cvq.mean) == (1, 0.0, None)
    assert summary.statuses == {"skipped": 1}
    # Nothing was paid for it: a budget that fits the others admits it.
    spent = sum(t.cost.usd or 0 for t in home.trials()) + late.cost.engine_usd
    (swept.at(0.03).path / "trials.jsonl").unlink()
    again = experiment.model_copy(update={"budget_usd": spent * 1.0001})
    _, watching = sweep(again, swept.path, SMALL, LARGE, 0.03, skip=True)
    assert [scale for scale, _, _ in watching.ran] == [0.03]
    assert watching.why == ""


def test_the_budget_is_the_sweeps(tpch_dataset: Dataset, tmp_path: Path) -> None:
    experiment = make(tpch_dataset, question_ids=("6",), machine="3600000")
    swept, _ = sweep(experiment, tmp_path / "s", SMALL)
    (home,) = swept.trials()
    assert home.cost.usd is not None
    # A dollar a millisecond: nothing is left for the larger scale.
    bounded = experiment.model_copy(update={"budget_usd": home.cost.usd})
    _, watching = sweep(bounded, swept.path, LARGE, 0.03)
    assert watching.ran == []
    assert watching.began == [(1, 1), (0, 1)]
    assert "budget" in watching.why


def test_another_translation_is_not_mixed_in(tpch_dataset: Dataset, tmp_path: Path) -> None:
    experiment = make(tpch_dataset, question_ids=("6",))
    swept, _ = sweep(experiment, tmp_path / "s", SMALL, LARGE)
    file = swept.at(SMALL).path / "trials.jsonl"
    (trial,) = swept.at(SMALL).trials()
    file.write_text(trial.model_copy(update={"sql": "SELECT 1"}).model_dump_json() + "\n")
    with pytest.raises(RecordError, match=r"sf0\.02 ran another query for question 6"):
        sweep(experiment, swept.path, SMALL, LARGE)


def test_a_run_does_not_take_a_sweeps_directory(
    swept: SweepDirectory, tpch_dataset: Dataset
) -> None:
    before = sorted(each.name for each in swept.path.iterdir())
    with pytest.raises(RecordError, match="holds a sweep"):
        run_experiment(make(tpch_dataset, question_ids=("6",)), swept.path)
    assert {each.name for each in swept.path.iterdir()} - {"lock"} == set(before)
    with pytest.raises(RecordError, match=r"name one of its runs, sf0\.01, sf0\.02"):
        _ = RunDirectory(swept.path).manifest


def test_what_does_not_fit_leaves_nothing(tpch_dataset: Dataset, tmp_path: Path) -> None:
    for changes in ({"question_ids": ("999",)}, {"models": ("scripted:none",)}):
        with pytest.raises(BothendsError):
            sweep(make(tpch_dataset, **changes), tmp_path / "s", LARGE)
        assert not (tmp_path / "s").exists()


def test_a_sweep_in_which_nothing_executes_is_reported(
    tpch_dataset: Dataset, tmp_path: Path
) -> None:
    experiment = make(tpch_dataset, question_ids=("6",), models=("scripted:failing",))
    swept, _ = sweep(experiment, tmp_path / "s", SMALL, LARGE, 0.03)
    source = load_reports([swept.path])
    outlook = outlook_of(source)
    assert outlook is not None
    assert outlook.held_out is None
    assert headline(source)[0].startswith("At SF 0.03: scripted:failing (script) gave no valid")
    write_files(source, tmp_path / "report")
    # A scale factor whose manifest is gone is not passed over.
    (swept.at(LARGE).path / "manifest.json").unlink()
    with pytest.raises(RecordError, match=r"sf0\.02 holds trials of a run whose manifest"):
        load_reports([swept.path])


def test_gold_that_fails_there_sets_the_trial_aside(tpch_dataset: Dataset, tmp_path: Path) -> None:
    experiment = make(tpch_dataset, question_ids=("1",), max_rows=3)
    # Its four rows are past the cap, and SQLite cannot judge such.
    swept, _ = sweep(experiment, tmp_path / "s", SMALL, LARGE)
    for trial in swept.trials():
        assert trial.status == "gold_failed"
        assert trial.cost.usd == 0
        assert trial.steps == ()


@pytest.mark.parametrize(
    ("changes", "scales", "said"),
    [
        ({}, (0.0,), "must be positive"),
        ({}, (math.nan,), "must be positive"),
        ({"engine": "sqlite:///shop.db"}, (LARGE,), "write {sf} into its address"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_it_costs(
    tpch_dataset: Dataset,
    tmp_path: Path,
    changes: dict[str, object],
    scales: tuple[float, ...],
    said: str,
) -> None:
    with pytest.raises(UsageError, match=said):
        sweep(make(tpch_dataset, **changes), tmp_path / "s", *scales)
    assert not (tmp_path / "s").exists()


def test_a_suite_without_scales_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.yaml").write_text("- {id: a, question: 'Which?', gold: SELECT 1}\n")
    experiment = Experiment(
        suite=str(tmp_path / "q.yaml"), engine="sqlite:///shop.db", models=(PERFECT,)
    )
    with pytest.raises(UsageError, match="no scale factors to sweep over"):
        sweep(experiment, tmp_path / "s", 1.0)


def test_another_sweep_in_the_directory_is_refused(
    swept: SweepDirectory, tpch_dataset: Dataset, tmp_path: Path
) -> None:
    before = swept.trials()

    def refused(said: str, **changes: object) -> None:
        skip = bool(changes.pop("skip", False))
        with pytest.raises(BothendsError, match=said):
            sweep(make(tpch_dataset, **changes), swept.path, LARGE, skip=skip)

    refused("skip_after_timeout was False and is True", skip=True)
    refused("translated_at was 0.01 and is 0.02", scale_factor=LARGE)
    refused("regimen.repeats was 1 and is 2", regimen=Regimen(warmups=0, repeats=2))
    assert swept.trials() == before
    assert swept.terms.scale_factors == (SMALL, LARGE)
    with pytest.raises(RecordError, match="holds a run, and no sweep"):
        sweep(make(tpch_dataset), swept.at(SMALL).path, LARGE)
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(RecordError, match="cannot be read"):
        sweep(make(tpch_dataset), tmp_path, LARGE)
    with pytest.raises(RecordError, match="not the directory of a sweep"):
        SweepDirectory(tmp_path / "none").runs()


def test_the_same_data_at_two_scales_is_refused(
    swept: SweepDirectory,
    tpch_dataset: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = SweepDirectory(tmp_path / "s")
    run_sweep(make(tpch_dataset, question_ids=("6",)), [SMALL], place.path)
    home = RunDirectory(place.at(SMALL).path)
    # As a server's own tables would be, whichever scale factor is asked for: of these nothing is
    # told before an engine is opened.
    monkeypatch.setattr("bothends.eval.runner.data_changed", lambda *_: False)
    manifest = home.manifest
    larger = swept.at(LARGE).manifest.engine["data"]
    changed = manifest.model_copy(update={"engine": {**manifest.engine, "data": larger}})
    (home.path / "manifest.json").write_text(changed.model_dump_json())
    with pytest.raises(UsageError, match=r"the same data at scale factors 0\.01 and 0\.02"):
        sweep(make(tpch_dataset, question_ids=("6",)), place.path, LARGE)


def test_an_address_may_hold_the_scale_factor(tpch_dataset: Dataset) -> None:
    experiment = make(tpch_dataset, engine="sc://host:1/;schema=tpch_sf{sf}")
    assert at_scale(experiment, 1000.0).engine == "sc://host:1/;schema=tpch_sf1000"
    assert at_scale(experiment, 1000.0).scale_factor == 1000
