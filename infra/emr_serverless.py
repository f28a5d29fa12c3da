"""An EMR Serverless application as a place where jobs run, paid for by what each used."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.infra.aws import Aws
from bothends.infra.emr_log import log_end
from bothends.infra.emr_site import DEADLINE_S
from bothends.infra.errors import BothendsError, CloudError
from bothends.infra.job_bucket import JobBucket
from bothends.infra.job_state import JobState
from bothends.infra.price_lists import ServerlessPrices, bundled_prices

__all__ = ["ServerlessRun", "ServerlessSite", "ServerlessUse"]

_WAITING: Final = frozenset({"SUBMITTED", "PENDING", "SCHEDULED", "QUEUED"})
_LOG_S: Final = 120.0
_POLL_S: Final = 10.0
_PYTHON: Final = {
    "spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON": "/usr/bin/python3.11",
    "spark.emr-serverless.driverEnv.PYSPARK_PYTHON": "/usr/bin/python3.11",
    "spark.executorEnv.PYSPARK_PYTHON": "/usr/bin/python3.11",
}


class _Told(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class ServerlessUse(_Told):
    """What a job run used.

    What AWS has billed counts a minute of each worker at least, and of storage only what passes
    20 GB of a worker (EMR Serverless API reference, `ResourceUtilization`).
    """

    vcpu_hours: float = Field(0.0, alias="vCPUHour", description="Hours of virtual CPUs.")
    memory_gb_hours: float = Field(0.0, alias="memoryGBHour", description="Hours of a gigabyte.")
    storage_gb_hours: float = Field(
        0.0, alias="storageGBHour", description="Hours of a gigabyte of disk."
    )

    def usd(self, prices: ServerlessPrices) -> float:
        """Return what it cost: vCPU-hours, GB-hours and storage hours, each by its price."""
        return (
            self.vcpu_hours * prices.usd_per_vcpu_hour
            + self.memory_gb_hours * prices.usd_per_gb_hour
            + self.storage_gb_hours * prices.usd_per_storage_gb_hour
        )


class _JobRun(_Told):
    state: str = Field(description="The state, in AWS's word.")
    details: str = Field("", alias="stateDetails", description="Why.")
    took_s: int = Field(0, alias="totalExecutionDurationSeconds", description="Seconds of work.")
    billed: ServerlessUse | None = Field(
        None, alias="billedResourceUtilization", description="What is billed."
    )
    total: ServerlessUse | None = Field(
        None, alias="totalResourceUtilization", description="What was used."
    )


class ServerlessRun:
    """A job run that was started.

    Args:
        aws: AWS, in the application's region.
        application_id: The application.
        run_id: The run.
        log_uri: Where its logs go.
        deadline_s: How long it may take from now on.
    """

    def __init__(
        self, aws: Aws, application_id: str, run_id: str, log_uri: str, deadline_s: float
    ) -> None:
        self._aws, self._log_uri, self._deadline_s = aws, log_uri, deadline_s
        self._named = {"applicationId": application_id, "jobRunId": run_id}
        self._end = aws.clock.now() + deadline_s
        self._ended: JobState | None = None

    def state(self) -> JobState:
        """Return how far it is; a state that is not known goes on, until the deadline.

        Raises:
            CloudError: If AWS refuses, or does not answer.
        """
        if self._ended is not None:
            return self._ended
        run = self._told()
        words = run.state.lower()
        if run.state == "SUCCESS":
            self._ended = JobState("done")
        elif run.state in {"FAILED", "CANCELLED"}:
            self._ended = JobState("failed", self._explained(run))
        elif self._aws.clock.now() >= self._end:
            self.cancel()
            told = f"{self._title} was {words} after {self._deadline_s:g} s"
            self._ended = JobState("failed", f"{told}, and was cancelled")
        elif run.state in _WAITING:
            return JobState("waiting", f"{self._title} is {words}")
        else:
            return JobState("running")
        return self._ended

    def cancel(self) -> None:
        """Have it end; nothing happens where it has ended.

        Raises:
            CloudError: If AWS refuses, or does not answer.
        """
        if self._ended is None:
            self._aws.ask("emr-serverless", "cancel_job_run", **self._named)

    def cost(self) -> tuple[float, int] | None:
        """Return its dollars and its seconds; None where AWS does not tell yet what it used."""
        run = self._told()
        use = run.billed or run.total
        if use is None or not use.vcpu_hours:
            return None
        return use.usd(bundled_prices().emr_serverless), run.took_s

    @property
    def _title(self) -> str:
        return f"job run {self._named['jobRunId']}"

    def _told(self) -> _JobRun:
        told = self._aws.ask("emr-serverless", "get_job_run", **self._named)
        try:
            return _JobRun.model_validate(told.get("jobRun"))
        except ValidationError as error:
            raise CloudError(
                f"what EMR Serverless answers is not as it should be: {error}"
            ) from error

    def _explained(self, run: _JobRun) -> str:
        said = f"{self._title} is {run.state.lower()}" + (f": {run.details}" if run.details else "")
        folder = (
            f"{self._log_uri.rstrip('/')}/applications/{self._named['applicationId']}"
            f"/jobs/{self._named['jobRunId']}/SPARK_DRIVER"
        )
        try:
            log = log_end(self._aws, folder, wait_s=_LOG_S, poll_s=_POLL_S)
        except BothendsError as error:
            return f"{said}. Its log cannot be read: {error}"
        return f"{said}. The end of its log:\n{log}" if log else f"{said}. It has no log yet"


class ServerlessSite(JobBucket):
    """A `JobSite`: an EMR Serverless application, and a bucket that its jobs read and write.

    Args:
        aws: AWS, in the application's region.
        application_id: The application.
        role_arn: The role of its jobs.
        bucket: The bucket's name.
        data: Where data sets lie; see `JobBucket`.
        deadline_s: How long a job may take, waiting included.

    Attributes:
        runs: The jobs that were started.
    """

    def __init__(
        self,
        aws: Aws,
        application_id: str,
        role_arn: str,
        bucket: str,
        data: str | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        super().__init__(aws, bucket, data)
        self.title = f"EMR Serverless application {application_id}"
        self.runs: list[ServerlessRun] = []
        self._application_id, self._role_arn = application_id, role_arn
        self._log_uri, self._deadline_s = f"s3://{bucket}/logs/", deadline_s

    def start(
        self, script: str, arguments: Sequence[str], conf: Mapping[str, str]
    ) -> ServerlessRun:
        """Start a job run of a PySpark script.

        Raises:
            CloudError: If AWS refuses, or does not answer.
        """
        settings = [
            word
            for name, value in {**_PYTHON, **conf}.items()
            for word in ("--conf", f"{name}={value}")
        ]
        started = self._aws.ask(
            "emr-serverless",
            "start_job_run",
            applicationId=self._application_id,
            executionRoleArn=self._role_arn,
            clientToken=str(uuid.uuid4()),  # the same in each attempt: one run is started
            name="bothends",
            executionTimeoutMinutes=max(5, round(self._deadline_s / 60)),
            jobDriver={
                "sparkSubmit": {
                    "entryPoint": script,
                    "entryPointArguments": list(arguments),
                    "sparkSubmitParameters": shlex.join(settings),
                }
            },
            configurationOverrides={
                "monitoringConfiguration": {"s3MonitoringConfiguration": {"logUri": self._log_uri}}
            },
        )
        run = ServerlessRun(
            self._aws,
            self._application_id,
            str(started["jobRunId"]),
            self._log_uri,
            self._deadline_s,
        )
        self.runs.append(run)
        return run

    def describe(self) -> str | None:
        """Return what an hour of the runs so far cost, as `--machine` takes it.

        None where AWS does not tell yet what they used.

        Raises:
            CloudError: If AWS refuses, or does not answer.
        """
        costs = [cost for run in self.runs if (cost := run.cost()) is not None]
        seconds = sum(took_s for _, took_s in costs)
        if not seconds:
            return None
        return f"{sum(usd for usd, _ in costs) / seconds * 3600:.10g}"
