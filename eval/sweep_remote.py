"""A sweep's work at one scale factor, done by a job elsewhere: submitted, followed, kept."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.engines import Fingerprint
from bothends.engines.registry import engine_name
from bothends.engines.slots import EngineSlots
from bothends.engines.spark_driver import JOB_CONF
from bothends.eval import job_script
from bothends.eval.budget import Budget, kind_of
from bothends.eval.bundle import Bundle
from bothends.eval.experiment import Experiment
from bothends.eval.job import Ground, Job, JobFailure, JobQuery, JobRecord, name_of
from bothends.eval.job_site import JobRun, JobSite
from bothends.eval.manifest import Manifest
from bothends.eval.record import Gold
from bothends.eval.sweep_directory import unscaled
from bothends.eval.sweep_plan import Planned, ScalePlan
from bothends.eval.watcher import Watcher
from bothends.infra.appending import write_whole
from bothends.infra.errors import BothendsError, EngineError, RecordError, UsageError
from bothends.infra.job_state import JobData, JobState

if TYPE_CHECKING:
    from bothends.eval.assessment import Terms

__all__ = ["JobWork", "check_remote"]

_T = TypeVar("_T")
_NAME: Final = "job.json"
_GOES_ON: Final = "What it finished is kept, and the same command goes on"


class _Submitted(BaseModel):
    """The job that a run directory's trials come from: `job.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job: str = Field(
        pattern=r"^[0-9a-f]{32}$",
        description="The job's name where it runs, by which what it has finished is found again.",
    )


def check_remote(experiment: Experiment, site: JobSite) -> None:
    """Refuse what a job cannot do, before anything is paid for.

    Raises:
        UsageError: If it is asked for.
    """
    if engine_name(experiment.engine) != "spark":
        raise UsageError(
            f"{site.title} runs Spark, and the queries would be written for {experiment.engine}: "
            "take --engine spark"
        )
    if experiment.redact is not None:
        raise UsageError(
            f"--redact {experiment.redact} is a function of this machine, and the first rows of "
            f"results would be kept without it on {site.title}: sweep without a cluster, or leave "
            "--redact out"
        )


class JobWork:
    """The work at one scale factor other than that of the translations, done by a job.

    Args:
        plan: What is to be done.
        site: Where.
        watcher: Who is told how it goes.
    """

    def __init__(self, plan: ScalePlan, site: JobSite, watcher: Watcher) -> None:
        self._plan, self._site, self._watcher = plan, site, watcher
        self._late = plan.late()
        self._at = ""
        self._todo: dict[str, Planned] = {}
        self._manifest: Manifest | None = None

    def do(self) -> None:
        """Run what is missing there, and keep each record as soon as it comes.

        Raises:
            EngineError: If the job fails. What it finished is kept.
        """
        plan, watcher, data = self._plan, self._watcher, self._data()
        if plan.held(watcher, lambda manifest: manifest.engine["data"] != data.described):
            return
        with plan.directory.alone():
            done = plan.directory.trials()
            had = {trial.key for trial in done}
            self._todo = {self._id(each): each for each in plan.planned if each.key not in had}
            watcher.begin(self._expected(data), done, len(done) + len(self._todo))
            budget = plan.budget()
            kinds = [kind_of(planned.key, carried=True) for planned in self._todo.values()]
            if not self._todo or not watcher.go_on(budget.forecast(kinds)):
                return
            self._at = f"jobs/{self._name()}"
            self._collect(budget)  # what a job finished that was not waited for
            while self._todo and self._may_go_on(budget) and self._run(data, budget):
                pass
            if budget.exhausted:
                watcher.stopped(f"{budget.why()}; the same command with a larger budget goes on")

    def _run(self, data: JobData, budget: Budget) -> bool:
        """Submit the job and follow it to its end; tell whether another is to go on."""
        site, watcher = self._site, self._watcher
        scale = f"scale factor {self._plan.scale_factor:g}"
        watcher.phase(f"{scale}: sending the job to {site.title}")
        arguments = self._send(data)
        run = site.start(self._script(), arguments, JOB_CONF)
        total = len(self._todo)
        try:
            while True:
                state = run.state()  # looked at first: what came before it ended is collected
                self._collect(budget)
                if state.ended or not self._todo:
                    break
                if not self._may_go_on(budget):
                    self._cancel(run)
                    return False
                doing = state.reason or f"{state.status} on {site.title}"
                watcher.phase(f"{scale}: {total - len(self._todo)} of {total} done, {doing}")
                time.sleep(site.poll_s)
        except BaseException:
            self._cancel(run)
            with contextlib.suppress(BothendsError):
                self._collect(budget)
            raise
        return bool(self._todo) and self._again(state)

    def _cancel(self, run: JobRun) -> None:
        """Cancel a job, or say that it goes on, and on being paid."""
        try:
            run.cancel()
        except BothendsError as error:
            raise EngineError(
                f"the job on {self._site.title} could not be cancelled and may go on: {error}. "
                "Cancel it there"
            ) from error

    def _again(self, state: JobState) -> bool:
        """Tell whether another job goes on after one that left something; raise where not."""
        content = self._site.get(f"{self._at}/failure.json")
        failure = JobFailure.model_validate_json(content) if content else None
        if failure is not None and failure.again:
            return True
        reason = failure.reason if failure else state.reason or "it ended before its work did"
        raise EngineError(f"the job on {self._site.title} failed: {reason}. {_GOES_ON}")

    def _send(self, data: JobData) -> tuple[str, ...]:
        """Store what the job needs, and return the script's arguments."""
        site, experiment = self._site, self._plan.experiment
        bundle = Bundle(site.platform)
        if bundle.name not in site.names(bundle.name):
            site.put(bundle.name, bundle.content())
        job = Job(
            suite=experiment.suite,
            scale_factor=self._plan.scale_factor,
            data=data.described,
            tables=dict(data.tables),
            timeout_s=experiment.timeout_s,
            max_rows=experiment.max_rows,
            regimen=experiment.regimen,
            preflight=experiment.preflight,
            keeps_gold=experiment.transcripts,
            queries=tuple(
                JobQuery(
                    id=name,
                    question_id=planned.question.id,
                    gold_sql=planned.question.gold_sql("spark"),
                    sql=None if self._smaller(planned) else planned.translated.sql,
                )
                for name, planned in self._todo.items()
            ),
        )
        site.put(f"{self._at}/failure.json", b"")
        uri = site.put(f"{self._at}/job.json", job.model_dump_json(indent=2).encode())
        out, code = site.uri(self._at), site.uri(bundle.name)
        return ("--job", uri, "--out", out, "--code", code)

    def _script(self) -> str:
        content = Path(job_script.__file__).read_bytes()
        return self._site.put(f"code/{name_of(content.decode())}.py", content)

    def _collect(self, budget: Budget) -> None:
        """Keep what the job has finished and was not kept before."""
        there = self._site.names(f"{self._at}/")
        if f"{self._at}/ground.json" not in there:
            return
        if self._manifest is None:
            self._begin()
        kept = {gold.question_id for gold in self._plan.directory.golds()}
        questions = {each.question.id for each in self._plan.planned} - kept
        for question in sorted(questions):
            name = f"{self._at}/golds/{name_of('gold', question)}.json"
            if name in there:
                self._plan.directory.append(self._read(name, Gold.model_validate_json))
        for name in [name for name in self._todo if f"{self._at}/records/{name}.json" in there]:
            record = self._read(f"{self._at}/records/{name}.json", JobRecord.model_validate_json)
            self._keep(self._todo.pop(name), record, budget)

    def _keep(self, planned: Planned, record: JobRecord, budget: Budget) -> None:
        assert self._manifest is not None  # noqa: S101 - _collect made it
        expected = budget.admit(kind_of(planned.key, carried=True))
        trial = self._plan.keep(
            planned,
            record.executed,
            self._terms,
            gold_failed=record.gold_failed,
            smaller=self._late.get(unscaled(planned.key)),
        )
        if expected is not None:  # otherwise it was past the budget when it was run, and is paid
            budget.settle(expected, trial)
        self._watcher.trial(trial)

    def _may_go_on(self, budget: Budget) -> bool:
        """Whether the next trial fits into the budget."""
        planned = next(iter(self._todo.values()))
        expected = budget.admit(kind_of(planned.key, carried=True))
        if expected is not None:
            budget.settle(expected, None)
        return expected is not None

    def _begin(self) -> None:
        """Write the manifest of the run, once it is known what the job runs on."""
        ground = self._read(f"{self._at}/ground.json", Ground.model_validate_json)
        manifest = self._plan.manifest(Fingerprint(**ground.engine), {}).model_copy(
            update={
                "versions": ground.versions,
                "hardware": f"{self._site.title}; {ground.hardware}",
            }
        )
        self._plan.directory.start(manifest, grow=True)
        self._manifest = manifest
        self._terms: Terms = self._plan.terms(EngineSlots(()), manifest)

    def _expected(self, data: JobData) -> Manifest:
        """Return the manifest as far as it is known before anything ran."""
        unknown = Fingerprint("spark", "", "", data.described, self._plan.scale_factor)
        return self._plan.manifest(unknown, {})

    def _read(self, name: str, parse: Callable[[bytes], _T]) -> _T:
        content = self._site.get(name)
        try:
            return parse(content or b"")
        except ValidationError as error:
            raise RecordError(
                f"{self._site.uri(name)} cannot be read: it is no record of this version of "
                f"bothends ({error.errors()[0]['msg']})"
            ) from error

    def _data(self) -> JobData:
        self._watcher.phase(f"data: {self._plan.suite.name} on {self._site.title}")
        return self._site.data(self._plan.suite.name, self._plan.scale_factor)

    def _smaller(self, planned: Planned) -> bool:
        return unscaled(planned.key) in self._late

    def _id(self, planned: Planned) -> str:
        """Return the name of a trial's record: that of the trial, and of what is run for it."""
        sql = None if self._smaller(planned) else planned.translated.sql
        key = planned.key.model_dump(mode="json")
        return name_of(key, planned.question.gold_sql("spark"), sql)

    def _name(self) -> str:
        """Return the name of this directory's job, the same each time it goes on."""
        file = self._plan.directory.path / _NAME
        try:
            if file.exists():
                return _Submitted.model_validate_json(file.read_text()).job
            made = _Submitted(job=secrets.token_hex(16))
            write_whole(file, made.model_dump_json() + "\n")
        except (OSError, ValidationError) as error:
            first = str(error).splitlines()[0]
            raise RecordError(f"{file} cannot be read or written: {first}") from None
        return made.job
