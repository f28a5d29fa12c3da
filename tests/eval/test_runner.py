"""The main job on real engines: scripts whose verdicts are known before they run."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import NoReturn

import pytest

from bothends.engines.postgres_load import READER, load_postgres
from bothends.engines.postgres_server import PostgresServer
from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.metrics import ex
from bothends.eval.record import Trial
from bothends.eval.runner import run_experiment
from bothends.eval.store import RunDirectory
from bothends.eval.suites.registry import load_suite
from bothends.eval.watcher import Silent
from bothends.infra.dataset import Dataset
from bothends.infra.errors import (
    ProviderError,
    RecordError,
    ReplayError,
    UnjudgedError,
    UsageError,
)

FAULTY = (
    "scripted:extra_column",
    "scripted:missing_column",
    "scripted:wrong_rows",
    "scripted:failing",
    "scripted:no_query",
    "scripted:gives_up",
    "scripted:hesitating",
)
ENGINES = ("sqlite", "postgres", pytest.param("spark", marks=pytest.mark.slow))
# An outer join and a subquery, one row and many: Spark compiles each at length, and the suite's
# own tests have all of its gold on a cluster.
FOR_SPARK = ("13", "15")
# TPC-H queries whose answer has one column, by the specification: 6, 14, 17 and 19.
ONE_COLUMN = {"6", "14", "17", "19"}


def make_experiment(tpch_dataset: Dataset, **changes: object) -> Experiment:
    fields = {
        "suite": "tpch",
        "engine": "sqlite",
        "data": tpch_dataset.directory.parent.parent,
        "models": ("scripted:perfect",),
        "regimen": Regimen(warmups=0, repeats=1),
    }
    return Experiment.model_validate(fields | changes)


@pytest.mark.parametrize("engine", ENGINES)
def test_perfect_is_always_right(tpch_dataset: Dataset, tmp_path: Path, engine: str) -> None:
    questions = FOR_SPARK if engine == "spark" else tuple(str(n) for n in range(1, 23))
    changes: dict[str, object] = {"machine": "scan:5?least_mb=1"}
    if engine == "spark":
        # Spark judges what is past the cap where it is, and tells what it read, so that dollars can
        # be bounded.
        models = ("scripted:perfect?price_as=openai:gpt-4o",)
        changes |= {"max_rows": 5, "budget_usd": 1.0, "models": models}
    experiment = make_experiment(tpch_dataset, engine=engine, question_ids=questions, **changes)
    run = run_experiment(experiment, tmp_path / "run")
    trials = run.trials()
    assert tuple(trial.key.question_id for trial in trials) == questions
    for trial in trials:
        verdict = trial.verdict
        assert trial.status == "ok", trial.error
        assert verdict is not None
        assert (verdict.focus, verdict.exact, verdict.ordered, verdict.bird_set) == (True,) * 4
        assert (verdict.error_class, verdict.precision, verdict.reason) == (None, 1.0, "")
        assert trial.timing is not None
        assert min(*trial.timing.gold_s, *trial.timing.generated_s) > 0
    for gold in run.golds():
        large = engine == "spark" and (gold.row_count or 0) > 5
        told = f"spark:{gold.row_count}:" if large else ""
        assert (gold.digest or "").startswith(told)
        assert (len(gold.digest or "") == 64) == (not large)
    check_facts(run, tmp_path / "run" / "trials.jsonl", told=engine == "spark")


def check_facts(run: RunDirectory, file: Path, *, told: bool) -> None:
    """What queries took stands beside gold's, and is what the engine was paid for."""
    golds = {gold.question_id: gold.facts for gold in run.golds()}
    for line in file.read_text().splitlines():
        trial = json.loads(line)
        ran, gold = trial["steps"][-1]["facts"], golds[trial["key"]["question_id"]]
        scans = [size for step in trial["steps"] for size in step["scans_bytes"] or ()]
        if told:
            assert gold is not None
            # The script runs gold's own query.
            assert ran["plan_digest"] == gold.plan_digest is not None
            assert ran["read_rows"] == gold.read_rows
            if trial["key"]["question_id"] == "13":  # customers and orders, once each
                assert gold.read_rows == 1_500 + 15_000
            # Dollars for 1024^4 bytes, in begun megabytes, of each sample and of the query.
            assert len(scans) > 1
            usd = sum(5 * max(1, math.ceil(size / 1024**2)) / 1024**2 for size in scans)
            assert trial["cost"]["engine_usd"] == pytest.approx(usd, rel=1e-12)
        else:
            assert (ran, gold, set(scans), trial["cost"]["engine_usd"]) == (
                None,
                None,
                {None},
                None,
            )
        # What was written before there were facts is read as it was.
        for step in trial["steps"]:
            del step["facts"], step["scans_bytes"]
        assert {step.facts for step in Trial.model_validate(trial).steps} == {None}


@pytest.mark.parametrize("engine", ENGINES)
def test_each_faulty_script_gets_what_it_was_built_to_get(
    request: pytest.FixtureRequest, tpch_dataset: Dataset, tmp_path: Path, engine: str
) -> None:
    # One column and several, ordered and not, one row and many, with and without WITH.
    questions = ("1", "6", "13", "15", "18")
    if engine == "postgres":
        questions = ("1", "6", "15")
    elif engine == "spark":
        # A server that runs already.
        engine, questions = request.getfixturevalue("cluster").state.connect, ("15",)
    experiment = make_experiment(tpch_dataset, engine=engine, models=FAULTY, question_ids=questions)
    trials = run_experiment(experiment, tmp_path / "run").trials()
    assert len(trials) == len(questions) * len(FAULTY)
    for trial in trials:
        verdict = trial.verdict
        got = (
            trial.status,
            verdict and verdict.focus,
            verdict and verdict.exact,
            verdict and verdict.ordered,
            verdict and verdict.bird_set,
            verdict and verdict.error_class,
        )
        assert got == expected(trial), (trial.key, trial.error)


def expected(trial: Trial) -> tuple[object, ...]:
    """What a script must get, by its design and not by what the comparison says."""
    right, wrong = (True,) * 4, (False,) * 4
    name = trial.key.model.partition(":")[2]
    if name == "missing_column":
        # A query of one column cannot lose it: the script replaces its values.
        return "ok", *wrong, "D" if trial.key.question_id in ONE_COLUMN else "B"
    nothing = (None,) * 5
    return {
        "extra_column": ("ok", True, False, False, False, "C"),
        "wrong_rows": ("ok", *wrong, "A"),
        "failing": ("failed", *nothing),
        "no_query": ("no_query", *nothing),
        "gives_up": ("gave_up", *nothing),
        "hesitating": ("ok", *right, None),
    }[name]


def test_the_parts_of_each_trial_are_its_whole(tpch_dataset: Dataset, tmp_path: Path) -> None:
    models = ("scripted:hesitating?price_as=openai:gpt-4o", "scripted:gives_up", *FAULTY[:4])
    experiment = make_experiment(tpch_dataset, models=models, question_ids=("1", "6"))
    for trial in run_experiment(experiment, tmp_path / "run").trials():
        stages_s = sum(stage.seconds for stage in trial.stages.values())
        assert stages_s + trial.overhead_s == pytest.approx(trial.e2e_s, abs=1e-3)
        # Derived from the timeline alone: what lies between top-level steps is the harness's.
        clock_s = gaps_s = 0.0
        for step in trial.steps:
            if step.parent is None:
                gaps_s += step.start_s - clock_s
                clock_s = step.start_s + step.seconds
        gaps_s += trial.e2e_s - clock_s
        assert gaps_s == pytest.approx(trial.overhead_s, abs=1e-3)
        assert trial.overhead_s >= 0
        if trial.cost.usd is not None:
            usd = math.fsum(stage.usd or 0.0 for stage in trial.stages.values())
            assert usd == pytest.approx(trial.cost.usd, rel=1e-12)


def test_scripts_without_a_price_have_no_tokens_and_no_cost(
    tpch_dataset: Dataset, tmp_path: Path
) -> None:
    models = ("scripted:perfect?label=free", "scripted:perfect?price_as=openai:gpt-4o")
    experiment = make_experiment(tpch_dataset, models=models, question_ids=("6",))
    plain, priced = run_experiment(experiment, tmp_path / "run").trials()
    assert (plain.usage, plain.cost.usd, plain.cost.llm_usd) == (None, None, None)
    assert priced.usage is not None
    assert priced.usage.estimated
    assert priced.cost.estimated
    # gpt-4o's list price: 2.50 dollars a million tokens in, 10 out.
    tokens_in, tokens_out = priced.usage.input_tokens or 0, priced.usage.output_tokens or 0
    assert priced.cost.llm_usd == pytest.approx((2.5 * tokens_in + 10 * tokens_out) / 1e6)
    engine_s = sum(step.engine_s for step in priced.steps)
    assert priced.cost.engine_usd == pytest.approx(engine_s * 0.1008 / 3600)


def test_a_killed_run_goes_on_and_repeats_nothing(tpch_dataset: Dataset, tmp_path: Path) -> None:
    experiment = make_experiment(tpch_dataset, question_ids=("1", "6", "14"), replicas=2)
    out = tmp_path / "run"

    class KilledError(Exception):
        pass

    class Killer(Silent):
        seen = 0

        def trial(self, trial: Trial) -> None:
            self.seen += 1
            if self.seen == 4:
                raise KilledError

    with pytest.raises(KilledError):
        run_experiment(experiment, out, watcher=Killer())
    before = (out / "trials.jsonl").read_bytes()
    assert before.count(b"\n") == 4
    # The kill came in the middle of the next line.
    (out / "trials.jsonl").write_bytes(before + b'{"record_version":1,"key":{"su')
    trials = run_experiment(experiment, out).trials()
    assert (out / "trials.jsonl").read_bytes().startswith(before)
    keys = [(trial.key.question_id, trial.key.replica) for trial in trials]
    assert sorted(keys) == [(q, r) for q in ("1", "14", "6") for r in (0, 1)]
    golds = [json.loads(line) for line in (out / "gold.jsonl").read_text().splitlines()]
    assert sorted(gold["question_id"] for gold in golds) == ["1", "14", "6"]
    with pytest.raises(RecordError, match="holds another run"):
        run_experiment(experiment.model_copy(update={"replicas": 3}), out)


def test_gold_that_cannot_judge_is_no_wrong_answer(tpch_dataset: Dataset, tmp_path: Path) -> None:
    experiment = make_experiment(tpch_dataset, question_ids=("1", "6"), max_rows=2)
    first, second = run_experiment(experiment, tmp_path / "run").trials()
    # Question 1 has four rows, above the cap of two; question 6 has one.
    assert (first.status, first.verdict, first.steps) == ("gold_failed", None, ())
    assert "raise --max-rows" in (first.error or "")
    assert second.status == "ok"


def test_a_result_that_cannot_be_judged_is_no_wrong_answer(
    tpch_dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot_tell(*_: object, **__: object) -> NoReturn:
        raise UnjudgedError("9 rows are too alike: raise --max-rows")

    monkeypatch.setattr("bothends.eval.assessment.verdict_on", cannot_tell)
    experiment = make_experiment(tpch_dataset, question_ids=("6",))
    (trial,) = run_experiment(experiment, tmp_path / "run").trials()
    assert (trial.status, trial.verdict, trial.timing) == ("unjudged", None, None)
    assert trial.error == "cannot be judged: 9 rows are too alike: raise --max-rows"
    assert (trial.row_count, ex([trial])) == (1, None)


def test_flaky_is_right_as_often_as_it_draws(tpch_dataset: Dataset, tmp_path: Path) -> None:
    spec = "scripted:flaky?p=0.5&seed=3"
    experiment = make_experiment(tpch_dataset, models=(spec,), question_ids=("6",), replicas=8)
    one = run_experiment(experiment, tmp_path / "one").trials()
    two = run_experiment(experiment, tmp_path / "two").trials()
    outcomes = [(trial.key, trial.status, trial.sql) for trial in one]
    assert outcomes == [(trial.key, trial.status, trial.sql) for trial in two]
    right = sum(trial.verdict is not None and trial.verdict.focus for trial in one)
    assert 2 <= right <= 6


def test_record_and_replay_give_the_same_run(tpch_dataset: Dataset, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    spec = "scripted:flaky?p=0.4&seed=5&price_as=openai:gpt-4o"
    experiment = make_experiment(tpch_dataset, models=(spec,), question_ids=("1", "6", "12"))
    recorded = run_experiment(
        experiment, tmp_path / "a", record=recording, served_by="this test"
    ).trials()
    replay = experiment.model_copy(update={"models": (f"replay:{recording}",)})
    replayed = run_experiment(replay, tmp_path / "b").trials()
    for old, new in zip(recorded, replayed, strict=True):
        assert (new.sql, new.status, new.verdict) == (old.sql, old.status, old.verdict)
        assert (new.usage and new.usage.input_tokens) == (old.usage and old.usage.input_tokens)
        assert new.replayed
        assert not old.replayed
        # Recorded seconds and recorded prices; the tools and the engine are timed afresh.
        llm = [step for step in new.steps if step.kind == "llm"]
        lines = [json.loads(line) for line in recording.read_text().splitlines()[1:]]
        mine = [line for line in lines if line["question_id"] == new.key.question_id]
        assert [step.seconds for step in llm] == pytest.approx([line["seconds"] for line in mine])
        assert new.e2e_s >= sum(line["seconds"] for line in mine)
        assert new.cost.llm_usd == pytest.approx(old.cost.llm_usd)


def test_a_recording_of_other_questions_is_refused_before_anything_runs(
    tpch_dataset: Dataset, tmp_path: Path
) -> None:
    recording = tmp_path / "recording.jsonl"
    experiment = make_experiment(tpch_dataset, question_ids=("6",))
    run_experiment(experiment, tmp_path / "a", record=recording)
    other = experiment.model_copy(
        update={"models": (f"replay:{recording}",), "question_ids": ("6", "1")}
    )
    with pytest.raises(ReplayError, match="'1'"):
        run_experiment(other, tmp_path / "b")
    assert not (tmp_path / "b" / "trials.jsonl").exists()


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"suite": "tpcx"}, UsageError, "tpch"),
        ({"engine": "sparky"}, UsageError, "spark"),
        ({"models": ("scripted:perfekt",)}, UsageError, "perfect"),
        ({"models": ("nonsense",)}, UsageError, "nonsense"),
        ({"question_ids": ("23",)}, UsageError, "no question '23'"),
        ({"models": ("openai:gpt-4o",)}, ProviderError, "OPENAI_API_KEY"),
        ({"models": ("scripted:perfect", "scripted:perfect")}, UsageError, "label"),
        ({"machine": "m7i.tiny"}, UsageError, "m7i"),
    ],
)
def test_bad_input_is_one_sentence(
    tpch_dataset: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    error: type[Exception],
    said: str,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(error, match=said) as caught:
        run_experiment(make_experiment(tpch_dataset, **changes), tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run" / "trials.jsonl").exists()


def test_a_password_reaches_no_file(tpch_dataset: Dataset, tmp_path: Path) -> None:
    server = PostgresServer(tpch_dataset.directory / "postgres")
    try:
        with server.alone():
            database = load_postgres(server.socket_directory, tpch_dataset)
        host = str(server.socket_directory).replace("/", "%2F")
        spec = f"postgres://{READER}:hush-hush@{host}/{database}"
        experiment = make_experiment(tpch_dataset, engine=spec, question_ids=("6",))
        run = run_experiment(experiment, tmp_path / "run")
    finally:
        server.close()
    assert [trial.status for trial in run.trials()] == ["ok"]
    assert run.manifest.experiment.engine == spec.replace(":hush-hush", "")
    for file in (tmp_path / "run").iterdir():
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        assert b"hush-hush" not in content


def test_every_question_is_in_the_manifest(tpch_dataset: Dataset, tmp_path: Path) -> None:
    experiment = make_experiment(tpch_dataset, question_ids=("6",))
    manifest = run_experiment(experiment, tmp_path / "run").manifest
    (question,) = load_suite("tpch").select(["6"])
    assert manifest.questions[0].text == question.text
    assert manifest.engine["scale_factor"] == 0.01
    assert RunDirectory(tmp_path / "run").manifest == manifest


def test_a_query_over_a_preflight_limit_is_rejected_and_gold_is_not(
    tpch_dataset: Dataset, tmp_path: Path
) -> None:
    """Question 6 reads lineitem alone, of nine megabytes in PostgreSQL; 16 does not read it."""
    experiment = make_experiment(
        tpch_dataset,
        engine="postgres",
        question_ids=("6", "16"),
        preflight={"max_scan_bytes": "5MB"},
    )
    run = run_experiment(experiment, tmp_path / "run")
    assert [gold.status for gold in run.golds()] == ["ok", "ok"]
    large, small = run.trials()
    assert (large.status, small.status) == ("rejected", "ok")
    assert "it would read 9.04" in (large.error or "")
    assert (large.row_count, large.first_rows, large.timing) == (None, (), None)
    asked = [step for step in large.steps if step.name == "run_query"]
    assert len(asked) == 1
    assert asked[0].engine_s > 0
    assert large.stages["run"].seconds >= asked[0].engine_s
