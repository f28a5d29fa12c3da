"""What EMR tells of clusters, steps and nodes, read into types of ours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.infra.errors import CloudError

__all__ = ["ClusterState", "Node", "StepState", "read_cluster", "read_node", "read_step"]

# Whatever else there is, or will be, goes on: a state that is not known ends nothing.
_CLUSTER_ENDS: Final = frozenset({"TERMINATING", "TERMINATED", "TERMINATED_WITH_ERRORS"})
_STEP_ENDS: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED", "INTERRUPTED"})


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster.

    Attributes:
        id: Its id, such as `j-1ABCDEFGHIJKL`.
        name: Its name.
        state: Its state, in EMR's word.
        why: Why it is in it, where EMR says so.
        log_uri: Where its logs go; None where it keeps none.
        fleets: Whether its nodes are fleets rather than groups.
        created: When it was asked for.
        ended: When it had ended.
    """

    id: str
    name: str
    state: str
    why: str
    log_uri: str | None
    fleets: bool
    created: datetime
    ended: datetime | None

    @property
    def over(self) -> bool:
        """Whether it takes no more work: it has ended, or is about to."""
        return self.state in _CLUSTER_ENDS

    @property
    def gone(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.over and self.state != "TERMINATING"

    @property
    def words(self) -> str:
        """Its state as it may stand in a sentence."""
        return _words(self.state)


@dataclass(frozen=True, slots=True)
class StepState:
    """A step.

    Attributes:
        id: Its id, such as `s-1ABCDEFGHIJKL`.
        name: Its name.
        state: Its state, in EMR's word.
        why: Why it is in it, where EMR says so.
    """

    id: str
    name: str
    state: str
    why: str

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.state in _STEP_ENDS

    @property
    def well(self) -> bool:
        """Whether it has ended well."""
        return self.state == "COMPLETED"

    @property
    def words(self) -> str:
        """Its state as it may stand in a sentence."""
        return _words(self.state)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a cluster, one that is gone included.

    Attributes:
        id: Its EC2 id.
        group: The id of its group or fleet.
        type: Its EC2 type.
        spot: Whether it is a spot node.
        created: When it was asked for.
        ended: When it had ended; None while it runs.
    """

    id: str
    group: str
    type: str
    spot: bool
    created: datetime
    ended: datetime | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


_Told = TypeVar("_Told", bound=_Part)


class _Timeline(_Part):
    created: datetime = Field(alias="CreationDateTime", description="When it was asked for.")
    ended: datetime | None = Field(None, alias="EndDateTime", description="When it had ended.")


class _Reason(_Part):
    code: str | None = Field(None, alias="Code", description="Why, in a word.")
    message: str | None = Field(None, alias="Message", description="Why, in a sentence.")


class _Failure(_Part):
    reason: str | None = Field(None, alias="Reason", description="What EMR takes it for.")
    message: str | None = Field(None, alias="Message", description="What the step said.")


class _Status(_Part):
    state: str = Field(alias="State", description="The state.")
    reason: _Reason = Field(_Reason(), alias="StateChangeReason", description="Why.")
    failure: _Failure = Field(_Failure(), alias="FailureDetails", description="Why it failed.")
    timeline: _Timeline | None = Field(None, alias="Timeline", description="Since when.")

    def why(self) -> str:
        """Return what is told of it, once each."""
        told = (self.reason.message or self.reason.code, self.failure.reason, self.failure.message)
        return "; ".join(dict.fromkeys(each.strip().rstrip(".") for each in told if each))


_Shown = Annotated[_Status, Field(alias="Status", description="Its state.")]


class _Cluster(_Part):
    id: str = Field(alias="Id", description="Its id.")
    name: str = Field("", alias="Name", description="Its name.")
    status: _Shown
    log_uri: str | None = Field(None, alias="LogUri", description="Where its logs go.")
    nodes: str | None = Field(
        None, alias="InstanceCollectionType", description="INSTANCE_GROUP or INSTANCE_FLEET."
    )


class _Step(_Part):
    id: str = Field(alias="Id", description="Its id.")
    name: str = Field("", alias="Name", description="Its name.")
    status: _Shown


class _Node(_Part):
    id: str = Field("", alias="Ec2InstanceId", description="Its EC2 id.")
    group: str | None = Field(None, alias="InstanceGroupId", description="Its group's id.")
    fleet: str | None = Field(None, alias="InstanceFleetId", description="Its fleet's id.")
    type: str = Field(alias="InstanceType", description="Its EC2 type.")
    market: str | None = Field(None, alias="Market", description="ON_DEMAND or SPOT.")
    status: _Shown


def read_cluster(told: Any) -> ClusterState:
    """Read a cluster as `DescribeCluster` tells it.

    Raises:
        CloudError: If it is not as it should be.
    """
    cluster = _read(_Cluster, told)
    since = _since(cluster.status, cluster.id)
    return ClusterState(
        id=cluster.id,
        name=cluster.name,
        state=cluster.status.state,
        why=cluster.status.why(),
        log_uri=cluster.log_uri or None,
        fleets=cluster.nodes == "INSTANCE_FLEET",
        created=since.created,
        ended=since.ended,
    )


def read_step(told: Any) -> StepState:
    """Read a step as `DescribeStep` or `ListSteps` tells it.

    Raises:
        CloudError: If it is not as it should be.
    """
    step = _read(_Step, told)
    return StepState(step.id, step.name, step.status.state, step.status.why())


def read_node(told: Any) -> Node:
    """Read a node as `ListInstances` tells it.

    Raises:
        CloudError: If it is not as it should be.
    """
    node = _read(_Node, told)
    since = _since(node.status, node.id)
    return Node(
        id=node.id,
        group=node.group or node.fleet or "",
        type=node.type,
        spot=node.market == "SPOT",
        created=since.created,
        ended=since.ended,
    )


def _words(state: str) -> str:
    return state.lower().replace("_", " ")


def _since(status: _Status, what: str) -> _Timeline:
    if status.timeline is None:
        raise CloudError(f"EMR does not say since when {what} is there")
    return status.timeline


def _read(kind: type[_Told], told: Any) -> _Told:
    try:
        return kind.model_validate(told)
    except ValidationError as error:
        raise CloudError(f"what EMR answers is not as it should be: {error}") from error
