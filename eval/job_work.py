"""What a job's step does on the cluster: each query executed, judged, timed and written down."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from bothends.agent.models.base import Case
from bothends.engines import Limits
from bothends.engines.hadoop_files import HadoopFiles
from bothends.engines.slots import EngineSlots
from bothends.engines.spark import SparkEngine
from bothends.engines.spark_driver import DriverLink, StuckError
from bothends.eval.assessment import Bench
from bothends.eval.execution import execute
from bothends.eval.gold_book import GoldBook
from bothends.eval.grounds import fingerprint_digest
from bothends.eval.job import Ground, Job, JobFailure, JobQuery, JobRecord, name_of
from bothends.eval.record import Executed, Gold
from bothends.eval.suites.base import Question
from bothends.infra.errors import BothendsError, DataError, EngineError
from bothends.infra.system import describe_hardware, package_versions

__all__ = ["attempt", "work"]


def attempt(session: Any, job_uri: str, out_uri: str) -> str | None:
    """Do what of a job has not been done; write down and return what went wrong, if anything.

    Args:
        session: The driver's own session.
        job_uri: The job.
        out_uri: Where its records go.
    """
    try:
        work(session, job_uri, out_uri)
    except BothendsError as error:
        failure = JobFailure(reason=str(error), again=isinstance(error, StuckError))
    except Exception as error:  # it is told where nobody sees this process
        traceback.print_exc()
        failure = JobFailure(reason=f"{type(error).__name__}: {error}", again=False)
    else:
        return None
    try:
        HadoopFiles(session).write(f"{out_uri}/failure.json", failure.model_dump_json().encode())
    except Exception as error:  # whatever it is, the first one is what to tell
        return f"{failure.reason} (and this could not be written down: {error})"
    return failure.reason


def work(session: Any, job_uri: str, out_uri: str) -> None:
    """Do what of a job has not been done.

    Each record is written as soon as it is there: whatever ends the step, what it has finished is
    kept, and another step goes on from there.

    Args:
        session: The driver's own session.
        job_uri: The job.
        out_uri: Where its records go.

    Raises:
        StuckError: If a query cannot be stopped. It is recorded as one that passed its time limit.
        BothendsError: If something cannot be read, written or run.
    """
    files = HadoopFiles(session)
    content = files.read(job_uri)
    if content is None:
        raise DataError(f"there is no job at {job_uri}")
    job = Job.model_validate_json(content)
    before = files.read(f"{out_uri}/ground.json")
    ground = Ground.model_validate_json(before) if before is not None else None
    link = DriverLink(
        session,
        job.tables,
        data=job.data,
        scale_factor=job.scale_factor,
        shuffle_partitions=ground.shuffle_partitions if ground else None,
    )
    with SparkEngine(lambda: link) as engine:
        now = _ground(engine, link)
        if ground is None:
            files.write(f"{out_uri}/ground.json", now.model_dump_json().encode())
        elif ground.fingerprint != now.fingerprint:
            raise EngineError(
                "the cluster is not what the job began on, and timings would not compare: "
                f"{_difference(ground.engine, now.engine)}; begin another sweep"
            )
        limits = Limits(timeout_s=job.timeout_s, max_rows=job.max_rows)
        bench = Bench(
            EngineSlots([engine]),
            now.fingerprint,
            limits,
            job.regimen,
            preflight=job.preflight,
            keeps_gold=job.keeps_gold,
        )
        golds = GoldBook(job.suite, job.scale_factor, bench, _Golds(files, out_uri))
        done = files.names(f"{out_uri}/records")
        for query in job.queries:
            if f"{query.id}.json" not in done:
                with _written(files, out_uri, query) as record:
                    record.append(_record(query, golds, bench))


class _Golds:
    """Gold results, an object each.

    Args:
        files: Where they are.
        out: The URI that they are below.
    """

    def __init__(self, files: HadoopFiles, out: str) -> None:
        self._files, self._out = files, f"{out}/golds"

    def golds(self) -> tuple[Gold, ...]:
        """Return those that are there."""
        contents = (self._files.read(f"{self._out}/{n}") for n in self._files.names(self._out))
        return tuple(Gold.model_validate_json(each) for each in contents if each is not None)

    def append(self, record: Gold) -> Gold:
        """Write one."""
        name = name_of("gold", record.question_id)
        self._files.write(f"{self._out}/{name}.json", record.model_dump_json().encode())
        return record


@contextmanager
def _written(files: HadoopFiles, out: str, query: JobQuery) -> Iterator[list[JobRecord]]:
    """Write the record that is appended to what is yielded, or that of a query that is stuck."""
    records: list[JobRecord] = []
    try:
        yield records
    except StuckError as error:
        ran_s, why = error.seconds, f"stopped after its time limit: {error}"
        if error.sql.strip() == (query.sql or "").strip().rstrip(";").strip():
            late = Executed(status="timeout", error=why, seconds=ran_s)
            records.append(JobRecord(id=query.id, executed=late))
        else:
            records.append(JobRecord(id=query.id, gold_failed=f"gold timeout: {why}"))
        raise
    finally:
        for record in records:
            content = record.model_dump_json().encode()
            files.write(f"{out}/records/{record.id}.json", content)


def _record(query: JobQuery, golds: GoldBook, bench: Bench) -> JobRecord:
    question = Question(query.question_id, "", {"default": query.gold_sql})
    gold = golds.outcome(question)
    if gold.status != "ok":
        return JobRecord(id=query.id, gold_failed=f"gold {gold.status}: {gold.error}")
    if query.sql is None:
        return JobRecord(id=query.id)
    dialect = bench.slots.engines[0].dialect
    executed = execute(
        Case(question.id, "", 0, query.gold_sql, dialect),
        gold,
        query.sql,
        bench,
        gold_nondeterministic=golds.nondeterministic(question),
    )
    return JobRecord(id=query.id, executed=executed)


def _ground(engine: SparkEngine, link: DriverLink) -> Ground:
    fingerprint = asdict(engine.fingerprint())
    return Ground(
        engine=fingerprint,
        fingerprint=fingerprint_digest(fingerprint, {}),
        versions={**package_versions(), "spark": str(fingerprint["version"])},
        hardware=f"driver: {describe_hardware()}; {link.executors}",
        shuffle_partitions=link.shuffle_partitions,
    )


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    before, after = ({**each, **each.get("settings", {})} for each in (old, new))
    return "; ".join(
        f"{name} was {json.dumps(before.get(name))} and is {json.dumps(after.get(name))}"
        for name in dict.fromkeys([*before, *after])
        if name != "settings" and before.get(name) != after.get(name)
    )
