"""A sweep's job as it is followed from here: what comes is kept, whatever becomes of the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bothends.eval.experiment import Experiment, Regimen
from bothends.eval.job import Ground, Job, JobFailure, JobQuery, JobRecord, name_of
from bothends.eval.record import Executed, Gold, Timing, Trial
from bothends.eval.runner import run_experiment
from bothends.eval.sweep import run_sweep
from bothends.eval.sweep_directory import SweepDirectory, SweepTerms, unscaled
from bothends.eval.sweep_plan import ScalePlan
from bothends.eval.sweep_remote import JobWork
from bothends.eval.watcher import Silent
from bothends.infra.dataset import Dataset
from bothends.infra.errors import EngineError, RecordError, UsageError
from bothends.infra.job_state import JobData, JobState

from .trials import make_verdict

HOME, LARGE = 0.01, 100.0
PERFECT, WIDE = "scripted:perfect", "scripted:extra_column"
ENGINE_S = 2.0


class Run:
    """A job that does one query each time that it is looked at."""

    def __init__(self, site: Site, job: Job, at: str) -> None:
        self.site, self.job, self.at = site, job, at
        self.left = [q for q in job.queries if f"{at}/records/{q.id}.json" not in site.objects]
        self.cancelled = False

    def state(self) -> JobState:
        if self.site.before_state is not None:
            self.site.before_state(self)
        failure = self.site.objects.get(f"{self.at}/failure.json")
        if failure:
            return JobState("failed", "step failed")
        if not self.left:
            return JobState("done")
        self.do(self.left.pop(0))
        return JobState("running")

    def do(self, query: JobQuery) -> None:
        write = self.site.objects
        write[f"{self.at}/ground.json"] = self.site.ground.model_dump_json().encode()
        gold = Gold(
            suite=self.job.suite,
            question_id=query.question_id,
            engine="spark",
            scale_factor=self.job.scale_factor,
            fingerprint=self.site.ground.fingerprint,
            sql=query.gold_sql,
            status="ok",
        )
        golds = f"{self.at}/golds/{name_of('gold', query.question_id)}.json"
        write[golds] = gold.model_dump_json().encode()
        executed = Executed(
            status="ok",
            seconds=ENGINE_S,
            row_count=3,
            columns=("a",),
            verdict=make_verdict(),
            timing=Timing(
                gold_s=(1.0,), generated_s=(1.5,), gold_median_s=1.0, generated_median_s=1.5
            ),
        )
        record = JobRecord(id=query.id, executed=executed if query.sql is not None else None)
        write[f"{self.at}/records/{query.id}.json"] = record.model_dump_json().encode()

    def fail(self, reason: str, *, again: bool = False) -> None:
        failure = JobFailure(reason=reason, again=again)
        self.site.objects[f"{self.at}/failure.json"] = failure.model_dump_json().encode()

    def cancel(self) -> None:
        self.cancelled = True


class Site:
    """Storage in memory, with jobs that do what a test says."""

    title, poll_s, platform = "a cluster", 0.0, None

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.runs: list[Run] = []
        self.before_state: Callable[[Run], None] | None = None
        self.ground = ground("fp")

    def put(self, name: str, content: bytes) -> str:
        self.objects[name] = content
        return self.uri(name)

    def get(self, name: str) -> bytes | None:
        return self.objects.get(name)

    def names(self, prefix: str) -> tuple[str, ...]:
        return tuple(sorted(name for name in self.objects if name.startswith(prefix)))

    def uri(self, name: str) -> str:
        return f"mem://{name}"

    def data(self, suite: str, scale_factor: float) -> JobData:
        return JobData({"lineitem": "mem://lineitem"}, f"{suite} at {scale_factor:g}")

    def start(self, script: str, arguments: Sequence[str], conf: Mapping[str, str]) -> Run:
        given = dict(zip(arguments[::2], arguments[1::2], strict=True))
        assert script.removeprefix("mem://") in self.objects
        assert given["--code"].removeprefix("mem://") in self.objects
        at = given["--out"].removeprefix("mem://")
        job = Job.model_validate_json(self.objects[given["--job"].removeprefix("mem://")])
        self.runs.append(Run(self, job, at))
        return self.runs[-1]

    def describe(self) -> None:
        return None


def ground(fingerprint: str) -> Ground:
    engine: dict[str, Any] = {
        "engine": "spark",
        "version": "3.5.6",
        "catalog_digest": "c",
        "data": f"tpch at {LARGE:g}",
        "scale_factor": LARGE,
        "settings": {"told": fingerprint},
    }
    from bothends.eval.grounds import fingerprint_digest

    return Ground(
        engine=engine,
        fingerprint=fingerprint_digest(engine, {}),
        versions={"spark": "3.5.6"},
        hardware="a driver; 8 executors, 32 cores",
        shuffle_partitions=64,
    )


@pytest.fixture(scope="module")
def translations(
    tpch_dataset: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Trial, ...]:
    """Four trials, as if Spark had run them."""
    experiment = make(tpch_dataset).model_copy(update={"engine": "sqlite", "scale_factor": HOME})
    run = run_experiment(experiment, tmp_path_factory.mktemp("home") / "run")
    return tuple(
        t.model_copy(update={"key": t.key.model_copy(update={"engine": "spark"})})
        for t in run.trials()
    )


@pytest.fixture(autouse=True)
def _no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the job imports is another test's: here nothing runs."""
    monkeypatch.setattr("bothends.eval.bundle._PACKAGES", ("typing-extensions",))


def make(tpch_dataset: Dataset, **changes: object) -> Experiment:
    fields: dict[str, object] = {
        "suite": "tpch",
        "engine": "spark",
        "data": tpch_dataset.directory.parent.parent,
        "scale_factor": LARGE,
        "question_ids": ("1", "6"),
        "models": (f"{PERFECT}?price_as=openai:gpt-4o", f"{WIDE}?price_as=openai:gpt-4o"),
        "machine": "3.6",  # a dollar in a thousand seconds
        "regimen": Regimen(warmups=0, repeats=1),
    }
    return Experiment.model_validate(fields | changes)


class Hearing(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.trials: list[Trial] = []
        self.why = ""

    def phase(self, text: str) -> None:
        self.phases.append(text)

    def trial(self, trial: Trial) -> None:
        self.trials.append(trial)

    def stopped(self, why: str) -> None:
        self.why = why


class Sweep:
    """A sweep of which the translations are there."""

    def __init__(self, path: Path, dataset: Dataset, translations: Sequence[Trial]) -> None:
        self.directory = SweepDirectory(path)
        self.dataset, self.translations = dataset, translations
        self.site = Site()

    def do(self, *, skip: bool = False, **changes: object) -> Hearing:
        terms = SweepTerms(translated_at=HOME, scale_factors=(HOME, LARGE), skip_after_timeout=skip)
        self.directory.start(terms)
        heard = Hearing()
        plan = ScalePlan(make(self.dataset, **changes), self.directory, self.translations)
        JobWork(plan, self.site, heard).do()
        return heard

    def trials(self) -> tuple[Trial, ...]:
        return self.directory.at(LARGE).trials()


@pytest.fixture
def swept(tmp_path: Path, tpch_dataset: Dataset, translations: tuple[Trial, ...]) -> Sweep:
    return Sweep(tmp_path / "s", tpch_dataset, translations)


def test_each_record_becomes_a_trial_with_the_translations_thinking(swept: Sweep) -> None:
    heard = swept.do()
    trials = swept.trials()
    assert tuple(heard.trials) == trials
    (run,) = swept.site.runs
    # One execution for each trial, in their order, under the terms of the experiment.
    assert [(q.question_id, q.sql) for q in run.job.queries] == [
        (t.key.question_id, t.sql) for t in swept.translations
    ]
    assert (run.job.timeout_s, run.job.max_rows, run.job.regimen.repeats) == (300.0, 100_000, 1)
    assert run.job.tables == {"lineitem": "mem://lineitem"}
    for written, there in zip(swept.translations, trials, strict=True):
        assert unscaled(written.key) == unscaled(there.key)
        (before,) = [s for s in written.steps if s.name == "run_query"]
        assert written.e2e_s is not None
        assert there.e2e_s == pytest.approx(written.e2e_s - before.engine_s + ENGINE_S)
        assert there.cost.llm_usd == written.cost.llm_usd
        asked_s = sum(s.engine_s for s in written.steps) - before.engine_s
        assert there.cost.engine_usd == pytest.approx((asked_s + ENGINE_S) / 1000)
        assert (there.translated_at, there.status, there.row_count) == (HOME, "ok", 3)
        assert there.timing is not None
        assert there.timing.generated_median_s == 1.5
        assert there.fingerprint == swept.site.ground.fingerprint
    home = swept.directory.at(LARGE)
    assert [gold.question_id for gold in home.golds()] == ["1", "6"]
    manifest = home.manifest
    assert manifest.engine["version"] == "3.5.6"
    assert manifest.fingerprint == swept.site.ground.fingerprint
    assert manifest.hardware == "a cluster; a driver; 8 executors, 32 cores"
    assert manifest.versions == {"spark": "3.5.6"}
    assert "scale factor 100: 3 of 4 done, running on a cluster" in heard.phases
    # The same again finds all of it.
    assert swept.do().trials == []
    assert len(swept.site.runs) == 1


def test_a_job_that_fails_leaves_what_it_finished_and_the_rest_is_run_again(swept: Sweep) -> None:
    def fail(run: Run) -> None:
        if len(run.left) == 2:
            run.fail("Spark cannot read table 'part'")

    swept.site.before_state = fail
    with pytest.raises(EngineError, match=r"failed: Spark cannot read table 'part'\. What it fini"):
        swept.do()
    first = swept.trials()
    assert len(first) == 2
    swept.site.before_state = None
    heard = swept.do()
    assert swept.trials()[:2] == first
    assert [len(run.job.queries) for run in swept.site.runs] == [4, 2]
    assert [t.key for t in heard.trials] == [t.key for t in swept.trials()[2:]]
    ids = [{query.id for query in run.job.queries} for run in swept.site.runs]
    assert ids[1] < ids[0]


def test_the_log_is_told_where_the_job_could_not_say_why(swept: Sweep) -> None:
    class Dead(Run):
        def state(self) -> JobState:
            return JobState("failed", "Container killed by YARN")

    swept.site.start = (
        lambda s, a, c: Dead(  # type: ignore[method-assign]
            swept.site, Job.model_validate_json(swept.site.objects[a[1][6:]]), a[3][6:]
        )
    )
    with pytest.raises(EngineError, match="failed: Container killed by YARN"):
        swept.do()


def test_what_was_finished_and_not_heard_of_is_fetched_and_nothing_started(swept: Sweep) -> None:
    swept.do()
    (swept.directory.at(LARGE).path / "trials.jsonl").unlink()
    heard = swept.do()
    assert len(heard.trials) == 4
    assert len(swept.site.runs) == 1
    # Another directory's job is another measurement.
    swept.directory = SweepDirectory(swept.directory.path.with_name("other"))
    assert len(swept.do().trials) == 4
    assert len(swept.site.runs) == 2
    assert swept.site.runs[0].at != swept.site.runs[1].at


def test_an_interrupt_cancels_the_job_and_keeps_what_came(swept: Sweep) -> None:
    def interrupt(run: Run) -> None:
        if len(run.left) == 3:
            raise KeyboardInterrupt

    swept.site.before_state = interrupt
    with pytest.raises(KeyboardInterrupt):
        swept.do()
    assert swept.site.runs[0].cancelled
    assert len(swept.trials()) == 1


def test_a_job_that_cannot_be_cancelled_is_told(
    swept: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(run: Run) -> None:
        raise KeyboardInterrupt

    def refuse(run: Run) -> None:
        raise EngineError("nobody answers")

    swept.site.before_state = interrupt
    monkeypatch.setattr(Run, "cancel", refuse)
    with pytest.raises(EngineError, match=r"may go on: nobody answers\. Cancel it") as raised:
        swept.do()
    assert isinstance(raised.value.__cause__, EngineError)


def test_a_budget_that_is_spent_cancels_the_job(swept: Sweep) -> None:
    # A trial costs 2 seconds at a dollar in a thousand, and a little.
    heard = swept.do(budget_usd=0.005)
    assert len(swept.trials()) == 2
    assert swept.site.runs[0].cancelled
    assert "would pass the budget" in heard.why
    assert "a larger budget goes on" in heard.why
    swept.do(budget_usd=0.004)
    assert len(swept.site.runs) == 1


def test_a_query_that_took_its_job_with_it_is_not_in_the_way_of_the_others(swept: Sweep) -> None:
    def stuck(run: Run) -> None:
        if len(swept.site.runs) == 1 and len(run.left) == 2:
            run.fail("a query was told to stop", again=True)

    swept.site.before_state = stuck
    assert len(swept.do().trials) == 4
    assert [len(run.job.queries) for run in swept.site.runs] == [4, 2]


def test_a_query_that_ran_out_of_time_at_a_smaller_scale_is_not_sent(swept: Sweep) -> None:
    smaller = 1.0
    swept.do()
    late = swept.trials()[0].model_copy(update={"status": "timeout"})
    late = late.model_copy(
        update={"key": late.key.model_copy(update={"scale_factor": smaller})}, deep=True
    )
    manifest = swept.directory.at(LARGE).manifest
    other = SweepDirectory(swept.directory.path.with_name("other"))
    scales = (HOME, smaller, LARGE)
    other.start(SweepTerms(translated_at=HOME, scale_factors=scales, skip_after_timeout=True))
    engine = {**manifest.engine, "data": "tpch at 1"}
    other.at(smaller).write(manifest.model_copy(update={"engine": engine}), (), (late,))
    swept.directory = other
    swept.do(skip=True)
    sent = swept.site.runs[1].job.queries
    assert [query.sql is None for query in sent] == [True, False, False, False]
    assert [t.status for t in swept.trials()] == ["skipped", "ok", "ok", "ok"]


def test_a_cluster_that_is_not_the_one_before_is_refused(swept: Sweep) -> None:
    def fail(run: Run) -> None:
        if len(run.left) == 2:
            run.fail("lost")

    swept.site.before_state = fail
    with pytest.raises(EngineError):
        swept.do()
    swept.site = Site()
    swept.site.ground = ground("another")
    with pytest.raises(RecordError, match="the engine, its version or its data are not the same"):
        swept.do()
    assert swept.site.runs[0].cancelled
    assert len(swept.trials()) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "sqlite"}, "written for sqlite: take --engine spark"),
        ({"redact": "module:function"}, "--redact module:function is a function of this machine"),
    ],
)
def test_what_a_job_cannot_do_is_refused_before_it_costs(
    tpch_dataset: Dataset, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    experiment = make(tpch_dataset, **changes).model_copy(update={"scale_factor": HOME})
    with pytest.raises(UsageError, match=said):
        run_sweep(experiment, [LARGE], tmp_path / "s", site=Site())
    assert not list((tmp_path / "s").glob("sf*"))
