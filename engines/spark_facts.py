"""What a query cost, as Spark's own UI tells it over REST, outside of every timed second.

Spark's documentation, "Monitoring and Instrumentation: REST API", names the paths and fields.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import uuid4

from bothends.engines.facts import EngineFacts
from bothends.engines.spark_plan import plan_digest

__all__ = ["VECTORED", "SparkExecution", "SparkUI", "followed"]

VECTORED: Final = "spark.hadoop.parquet.hadoop.vectored.io.enabled"
"""Where this is on, as it is by default, Spark counts only a part of the bytes that it reads."""

_TIMEOUT_S: Final = 20.0
# What happens reaches the UI a little later than the client.
_PATIENCE_S: Final = 2.0
_POLL_S: Final = 0.05
_DEFAULT_PORT: Final = "4040"
_NOTHING: Final = EngineFacts(
    read_bytes=0,
    read_rows=0,
    shuffle_read_bytes=0,
    shuffle_write_bytes=0,
    spill_memory_bytes=0,
    spill_disk_bytes=0,
    jobs=0,
    stages=0,
    tasks=0,
    peak_memory_bytes=0,
    run_s=0.0,
    cpu_s=0.0,
)

_Ask = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class SparkUI:
    """The UI of a Spark driver.

    Attributes:
        host: Where it listens.
        port: Its port.
        application: The application that it must be of.
        counts_bytes: Whether the bytes that Spark says it read are all of them.
    """

    host: str
    port: int
    application: str
    counts_bytes: bool = True

    @classmethod
    def find(cls, session: Any, host: str) -> Self | None:
        """Return the UI of somebody else's server, or None where it cannot be asked.

        Args:
            session: A Spark Connect session on the server.
            host: The server's host, as we reach it.
        """
        conf = session.conf
        if conf.get("spark.ui.enabled", "true") != "true":
            return None
        application = conf.get("spark.app.id", None)
        port = conf.get("spark.ui.port", _DEFAULT_PORT)
        if application is None or not port.isdecimal():
            return None
        ui = cls(host.strip("[]"), int(port), application, conf.get(VECTORED, "true") == "false")
        return ui if ui.answers else None

    @property
    def answers(self) -> bool:
        """Whether it can be asked from here."""
        with (
            contextlib.suppress(OSError, http.client.HTTPException, ValueError),
            self.asked() as ask,
        ):
            ask("executors")
            return True
        return False

    @contextlib.contextmanager
    def asked(self) -> Iterator[_Ask]:
        """Open a connection, directly and by no proxy, and yield what asks for a path.

        Raises:
            OSError: By what is yielded too: if it cannot be reached.
            http.client.HTTPException: If it does not speak HTTP.
            ValueError: If it is not the UI of this application.
        """
        link = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)

        def ask(path: str) -> Any:
            link.request("GET", f"/api/v1/applications/{self.application}/{path}")
            answer = link.getresponse()
            body = answer.read()
            if answer.status != http.HTTPStatus.OK:
                raise ValueError(f"{path}: {answer.status} {answer.reason}")
            return json.loads(body)

        with contextlib.closing(link):
            yield ask


@dataclass(frozen=True, slots=True)
class SparkExecution:
    """One execution of a query.

    Attributes:
        ui: The UI of the server that ran it.
        tag: What all its jobs are tagged with, or the name of their group, and nothing else.
        began_ms: When it began, in milliseconds of the epoch.
        ran: Whether it came so far that it could have jobs.
    """

    ui: SparkUI
    tag: str
    began_ms: int
    ran: bool = True

    def refused(self) -> SparkExecution:
        """Return it as one that Spark refused before it ran."""
        return replace(self, ran=False)

    def facts(self) -> EngineFacts | None:
        """Return what it took, or None where the server is gone or has forgotten it."""
        if not self.ran:
            return _NOTHING
        try:
            with self.ui.asked() as ask:
                return self._facts(ask)
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return None

    def _facts(self, ask: _Ask) -> EngineFacts | None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            listed = ask("jobs")
            jobs = [job for job in listed if self._has(job)]
            query = _query_of(jobs, ask) if jobs else None
            ended = all(job["status"] != "RUNNING" for job in jobs)
            if query is not None and query["status"] != "RUNNING" and ended:
                break
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        if not jobs:
            # A query that Spark answers by itself has none. One that was forgotten had some.
            return _NOTHING if any(_submitted(job) < self.began_ms for job in listed) else None
        stages = [
            stage for number in _stage_ids(jobs) for stage in ask(f"stages/{number}?details=false")
        ]
        facts = _added_up(stages, len(jobs))
        if query is not None:
            plan = ask(f"sql/{query['id']}?details=false&planDescription=true")["planDescription"]
            facts = facts.model_copy(update={"plan_digest": plan_digest(plan)})
        return facts if self.ui.counts_bytes else facts.model_copy(update={"read_bytes": None})

    def _has(self, job: Any) -> bool:
        tagged = any(tag.endswith(f"_Tag_{self.tag}") for tag in job["jobTags"])
        return tagged or job.get("jobGroup") == self.tag


@contextlib.contextmanager
def followed(session: Any, ui: SparkUI | None) -> Iterator[SparkExecution | None]:
    """Have this thread's next query on a session found again; it is what is yielded.

    Args:
        session: The Spark Connect session.
        ui: The UI of its server; None where it has none that can be asked.
    """
    if ui is None:
        yield None
        return
    tag = f"bothends-{uuid4()}"
    session.addTag(tag)
    try:
        yield SparkExecution(ui, tag, time.time_ns() // 1_000_000)
    finally:
        session.removeTag(tag)


def _query_of(jobs: Sequence[Any], ask: _Ask) -> Any:
    """Return the query that jobs belong to, or None where it is not known yet."""
    numbers = {job["jobId"] for job in jobs}
    queries = ask("sql?details=false&planDescription=false&offset=0&length=100000")
    return next(
        (
            query
            for query in queries
            if not numbers.isdisjoint(
                (*query["runningJobIds"], *query["successJobIds"], *query["failedJobIds"])
            )
        ),
        None,
    )


def _stage_ids(jobs: Sequence[Any]) -> list[int]:
    return sorted({number for job in jobs for number in job["stageIds"]})


def _added_up(stages: Sequence[Any], jobs: int) -> EngineFacts:
    ran = [stage for stage in stages if stage["status"] not in {"SKIPPED", "PENDING"}]

    def total(field: str) -> int:
        return sum(int(stage[field]) for stage in ran)

    return EngineFacts(
        read_bytes=total("inputBytes"),
        read_rows=total("inputRecords"),
        shuffle_read_bytes=total("shuffleReadBytes"),
        shuffle_write_bytes=total("shuffleWriteBytes"),
        spill_memory_bytes=total("memoryBytesSpilled"),
        spill_disk_bytes=total("diskBytesSpilled"),
        jobs=jobs,
        stages=len(ran),
        tasks=total("numCompleteTasks"),
        peak_memory_bytes=max((int(stage["peakExecutionMemory"]) for stage in ran), default=0),
        run_s=total("executorRunTime") / 1e3,
        cpu_s=total("executorCpuTime") / 1e9,
    )


def _submitted(job: Any) -> float:
    """Return when a job was submitted, in milliseconds of the epoch."""
    told = job["submissionTime"].removesuffix("GMT")
    return datetime.fromisoformat(told).replace(tzinfo=UTC).timestamp() * 1e3
