"""An EMR cluster: what it is, and the steps that it carries out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bothends.infra.aws import Aws
from bothends.infra.emr_log import log_end
from bothends.infra.emr_states import (
    ClusterState,
    Node,
    StepState,
    read_cluster,
    read_node,
    read_step,
)
from bothends.infra.errors import BothendsError, CloudError

__all__ = ["EmrCluster", "active_clusters"]

_ACTIVE: Final = ["STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING"]
_UNFINISHED: Final = ["PENDING", "RUNNING", "CANCEL_PENDING"]
_POLL_S: Final = 10.0
# How long after a step's end EMR takes to bring its log, at most, that is waited for.
_LOG_S: Final = 120.0


def active_clusters(aws: Aws) -> tuple[ClusterState, ...]:
    """Return the clusters of the account and region that cost money now.

    Raises:
        CloudError: If AWS refuses or does not answer.
    """
    told = aws.all("emr", "list_clusters", "Clusters", ClusterStates=_ACTIVE)
    return tuple(map(read_cluster, told))


class EmrCluster:
    """A cluster that is there already.

    Args:
        aws: AWS, in its region.
        id: Its id, such as `j-1ABCDEFGHIJKL`.
    """

    def __init__(self, aws: Aws, id: str) -> None:  # noqa: A002 - EMR's own word
        self.aws, self.id = aws, id

    def describe(self) -> ClusterState:
        """Return what EMR tells of it.

        Raises:
            CloudError: If AWS refuses or does not answer, or there is no such cluster.
        """
        return read_cluster(
            self.aws.ask("emr", "describe_cluster", ClusterId=self.id).get("Cluster")
        )

    def nodes(self) -> tuple[Node, ...]:
        """Return its nodes, those that are gone included.

        Raises:
            CloudError: As `describe`.
        """
        told = self.aws.all("emr", "list_instances", "Instances", ClusterId=self.id)
        return tuple(map(read_node, told))

    def unfinished(self) -> tuple[StepState, ...]:
        """Return the steps that run or wait.

        Raises:
            CloudError: As `describe`.
        """
        told = self.aws.all("emr", "list_steps", "Steps", ClusterId=self.id, StepStates=_UNFINISHED)
        return tuple(map(read_step, told))

    def submit(self, name: str, command: Sequence[str]) -> str:
        """Add a step that runs a command on the primary node; its failure ends nothing else.

        Args:
            name: What it is called.
            command: A program that is there, such as `spark-submit`, and its arguments.

        Returns:
            The step's id.

        Raises:
            CloudError: As `describe`, and where the cluster takes no more work.
        """
        cluster = self.describe()
        if cluster.over:
            raise CloudError(
                f"cluster {self.id} is {cluster.words} and takes no step"
                + (f" ({cluster.why})" if cluster.why else "")
                + ". Start one with: bothends cluster emr up"
            )
        step = {
            "Name": name,
            "ActionOnFailure": "CONTINUE",
            "HadoopJarStep": {"Jar": "command-runner.jar", "Args": list(command)},
        }
        added = self.aws.ask("emr", "add_job_flow_steps", JobFlowId=self.id, Steps=[step])
        return str(added["StepIds"][0])

    def step(self, step_id: str) -> StepState:
        """Return how far a step is.

        A step of a cluster that has ended has ended with it, whatever its own state says.

        Raises:
            CloudError: As `describe`, and where there is no such step.
        """
        told = self.aws.ask("emr", "describe_step", ClusterId=self.id, StepId=step_id)
        if not told.get("Step"):
            raise CloudError(f"cluster {self.id} has no step {step_id}")
        step = read_step(told["Step"])
        if step.over:
            return step
        cluster = self.describe()
        if not cluster.over:
            return step
        why = f"cluster {self.id} is {cluster.words}"
        return StepState(step.id, step.name, "INTERRUPTED", f"{why}: {cluster.why}".rstrip(": "))

    def cancel(self, step_id: str) -> None:
        """Have a step end, whether it has begun or not; nothing happens where it has ended.

        Raises:
            CloudError: As `describe`.
        """
        self.aws.ask(
            "emr",
            "cancel_steps",
            ClusterId=self.id,
            StepIds=[step_id],
            StepCancellationOption="TERMINATE_PROCESS",
        )

    def explain(self, step: StepState, wait_s: float = _LOG_S, poll_s: float = _POLL_S) -> str:
        """Say why a step failed, with the end of what it wrote to its standard error.

        EMR brings logs to S3 some time after a step's end.

        Args:
            step: The step, as it ended.
            wait_s: How long to wait for the log.
            poll_s: How often to look.
        """
        said = f"step {step.id} is {step.words}" + (f": {step.why}" if step.why else "")
        try:
            log = self._log(step.id, wait_s, poll_s)
        except BothendsError as error:
            return f"{said}. Its log cannot be read: {error}"
        if log is None:
            return f"{said}. It has no log yet"
        return f"{said}. The end of its log:\n{log}"

    def terminate(self) -> ClusterState:
        """Have the cluster end, and return how far that is; nothing happens where it has ended.

        Raises:
            CloudError: As `describe`, and where EMR does not end it.
        """
        before = self.describe()
        if before.over:
            return before
        self.aws.ask("emr", "terminate_job_flows", JobFlowIds=[self.id])
        after = self.describe()
        if not after.over:
            raise CloudError(
                f"cluster {self.id} was told to end and is {after.words}: is it protected "
                "from termination?"
            )
        return after

    def _log(self, step_id: str, wait_s: float, poll_s: float) -> str | None:
        log_uri = self.describe().log_uri
        if log_uri is None:
            return None
        folder = f"{log_uri.rstrip('/')}/{self.id}/steps/{step_id}"
        return log_end(self.aws, folder, wait_s=wait_s, poll_s=poll_s)
