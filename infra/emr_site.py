"""An EMR cluster as a place where jobs run: its bucket, and a step for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bothends.infra.aws import Aws
from bothends.infra.emr import EmrCluster
from bothends.infra.emr_cost import cluster_words, node_kinds
from bothends.infra.errors import UsageError
from bothends.infra.job_bucket import JobBucket
from bothends.infra.job_state import JobState
from bothends.infra.s3 import split_address

__all__ = ["DEADLINE_S", "EmrRun", "EmrSite"]

DEADLINE_S: Final = 12 * 3600.0
"""How long a job may take by default, waiting included."""

# The Python that EMR's Spark takes is older than what we run on.
_PYTHON: Final = {
    "spark.pyspark.python": "python3.11",
    "spark.pyspark.driver.python": "python3.11",
    "spark.yarn.appMasterEnv.PYSPARK_PYTHON": "python3.11",
    "spark.executorEnv.PYSPARK_PYTHON": "python3.11",
}


class EmrRun:
    """A step that was submitted.

    A state that is not known counts as going on, and whatever goes on at the deadline is
    cancelled.

    Args:
        cluster: Its cluster.
        step_id: Its id.
        deadline_s: How long it may take from now on.
    """

    def __init__(self, cluster: EmrCluster, step_id: str, deadline_s: float) -> None:
        self._cluster, self.step_id = cluster, step_id
        self._deadline_s = deadline_s
        self._end = cluster.aws.clock.now() + deadline_s
        self._ended: JobState | None = None

    def state(self) -> JobState:
        """Return how far it is.

        Raises:
            CloudError: If AWS refuses, or does not answer.
        """
        if self._ended is not None:
            return self._ended
        step = self._cluster.step(self.step_id)
        if step.well:
            self._ended = JobState("done")
        elif step.over:
            self._ended = JobState("failed", self._cluster.explain(step))
        elif self._cluster.aws.clock.now() >= self._end:
            self._cluster.cancel(self.step_id)
            told = f"step {self.step_id} was {step.words} after {self._deadline_s:g} s"
            self._ended = JobState("failed", f"{told}, and was cancelled")
        elif step.state == "PENDING":
            return JobState("waiting", f"step {self.step_id} waits for other steps")
        else:
            return JobState("running")
        return self._ended

    def cancel(self) -> None:
        """Have it end; nothing happens where it has ended.

        Raises:
            CloudError: If AWS refuses, or does not answer.
        """
        if self._ended is None:
            self._cluster.cancel(self.step_id)


class EmrSite(JobBucket):
    """A `JobSite`: an EMR cluster, and a bucket that it reads and writes.

    Args:
        aws: AWS, in the cluster's region.
        cluster_id: The cluster.
        bucket: The bucket's name; that of the cluster's logs for None.
        data: Where data sets lie; see `JobBucket`.
        deadline_s: How long a job may take, waiting included.

    Attributes:
        cluster: The cluster.
        runs: The jobs that were started.

    Raises:
        UsageError: If no bucket was named, and the cluster keeps no logs.
        CloudError: If AWS refuses, or does not answer.
    """

    def __init__(
        self,
        aws: Aws,
        cluster_id: str,
        bucket: str | None = None,
        data: str | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.cluster = EmrCluster(aws, cluster_id)
        self.title = f"EMR cluster {cluster_id}"
        self.runs: list[EmrRun] = []
        self._deadline_s = deadline_s
        if bucket is None:
            log_uri = self.cluster.describe().log_uri
            if log_uri is None:
                raise UsageError(f"{self.title} keeps no logs to tell a bucket by: give --bucket")
            bucket = split_address(log_uri)[0]
        super().__init__(aws, bucket, data)

    def start(self, script: str, arguments: Sequence[str], conf: Mapping[str, str]) -> EmrRun:
        """Submit a PySpark script as a step, with its driver on the primary node.

        Raises:
            CloudError: If AWS refuses, or the cluster takes no more work.
        """
        settings = [
            word
            for name, value in {**_PYTHON, **conf}.items()
            for word in ("--conf", f"{name}={value}")
        ]
        # By the driver on the primary node its log is the step's, which says why it failed.
        command = ["spark-submit", "--deploy-mode", "client", *settings, script, *arguments]
        step_id = self.cluster.submit("bothends", command)
        run = EmrRun(self.cluster, step_id, self._deadline_s)
        self.runs.append(run)
        return run

    def describe(self) -> str | None:
        """Return its nodes as `--machine` takes them: those that run, or that ran; None for none.

        Raises:
            CloudError: If AWS refuses, or does not answer.
        """
        nodes = self.cluster.nodes()
        running = [node for node in nodes if node.ended is None] or nodes
        if not running:
            return None
        fleets = self.cluster.describe().fleets
        return cluster_words(running, node_kinds(self.cluster, fleets=fleets))
