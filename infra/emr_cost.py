"""What a cluster costs, from what EMR tells of it: its nodes, their market, disks and hours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bothends.infra.emr import EmrCluster
from bothends.infra.emr_states import Node
from bothends.infra.engine_price import Machine
from bothends.infra.errors import CloudError, UsageError
from bothends.infra.prices import PriceBook

__all__ = ["Bill", "NodeKind", "bill", "cluster_words", "node_kinds"]

_S_PER_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class NodeKind:
    """What a node of a group, or of a fleet's type, costs beside its type's list price.

    Attributes:
        ebs_gb: Gigabytes of its disks, the one that it starts from left out.
        bid_usd: The most that an hour of a spot node costs on EC2; None where none was told.
    """

    ebs_gb: int = 0
    bid_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """What a cluster costs.

    Attributes:
        price: An hour of the nodes that run now, or that ran last where none does.
        words: The same as `--machine` takes it.
        usd: What all of its nodes have cost so far.
        hours: How long it has been there.
        notes: What is not quite so, in sentences.
    """

    price: Machine
    words: str
    usd: float
    hours: float
    notes: tuple[str, ...]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class _Volume(_Part):
    size_gb: int = Field(alias="SizeInGB", description="Gigabytes.")
    type: str = Field("gp3", alias="VolumeType", description="Its kind.")


class _Device(_Part):
    volume: _Volume = Field(alias="VolumeSpecification", description="The disk.")


class _Kind(_Part):
    """A group; or a type of a fleet, which is told in the same words."""

    id: str = Field("", alias="Id", description="The group's id.")
    type: str = Field("", alias="InstanceType", description="Its EC2 type.")
    bid_usd: float | None = Field(None, alias="BidPrice", description="The bid of a spot node.")
    devices: list[_Device] = Field([], alias="EbsBlockDevices", description="Disks of a node.")

    @field_validator("bid_usd", mode="before")
    @classmethod
    def _none_is_empty(cls, bid: Any) -> Any:
        return bid or None

    def kind(self) -> NodeKind:
        return NodeKind(sum(each.volume.size_gb for each in self.devices), self.bid_usd)


class _Fleet(_Part):
    id: str = Field(alias="Id", description="Its id.")
    types: list[_Kind] = Field([], alias="InstanceTypeSpecifications", description="Its types.")


def node_kinds(cluster: EmrCluster, *, fleets: bool) -> dict[tuple[str, str], NodeKind]:
    """Return what nodes of each group and type are.

    Args:
        cluster: The cluster.
        fleets: Whether its nodes are fleets.

    Returns:
        Kinds by the id of group or fleet, and the EC2 type.

    Raises:
        CloudError: If AWS refuses, does not answer, or answers otherwise than it should.
    """
    operation, key = (
        ("list_instance_fleets", "InstanceFleets")
        if fleets
        else ("list_instance_groups", "InstanceGroups")
    )
    told = cluster.aws.all("emr", operation, key, ClusterId=cluster.id)
    try:
        if fleets:
            return {
                (fleet.id, kind.type): kind.kind()
                for fleet in map(_Fleet.model_validate, told)
                for kind in fleet.types
            }
        return {(kind.id, kind.type): kind.kind() for kind in map(_Kind.model_validate, told)}
    except ValidationError as error:
        raise CloudError(f"what EMR answers is not as it should be: {error}") from error


def cluster_words(nodes: Iterable[Node], kinds: Mapping[tuple[str, str], NodeKind]) -> str:
    """Return nodes as `--machine` takes them, such as `emr:m5.xlarge+2xm5.xlarge@0.07?ebs_gb=64`.

    Where nodes have disks of several sizes, `ebs_gb` is their mean: the dollars are the same.

    Args:
        nodes: The nodes, at least one.
        kinds: What they are, by group and type.
    """
    counts: Counter[tuple[str, float | None]] = Counter()
    ebs_gb = 0
    for node in nodes:
        kind = kinds.get((node.group, node.type), NodeKind())
        counts[node.type, kind.bid_usd if node.spot else None] += 1
        ebs_gb += kind.ebs_gb
    groups = [
        (f"{count}x" if count > 1 else "") + type_ + ("" if bid is None else f"@{bid:.10g}")
        for (type_, bid), count in sorted(counts.items(), key=lambda item: (item[1], str(item)))
    ]
    return f"emr:{'+'.join(groups)}?ebs_gb={ebs_gb / counts.total():.10g}"


def bill(cluster: EmrCluster, prices: PriceBook) -> Bill:
    """Return what a cluster costs, by its nodes' own hours, those that are gone included.

    Raises:
        CloudError: If AWS refuses or does not answer, or the cluster has no node yet.
        UsageError: If the price of a type is not known.
    """
    state = cluster.describe()
    nodes = cluster.nodes()
    if not nodes:
        raise CloudError(f"cluster {cluster.id} has no nodes yet")
    kinds = node_kinds(cluster, fleets=state.fleets)
    now = cluster.aws.clock.today()
    last = max((node.ended for node in nodes if node.ended is not None), default=now)
    ended = (state.ended or last) if state.gone else now
    running = [node for node in nodes if node.ended is None] or list(nodes)
    words = cluster_words(running, kinds)
    usd = sum(
        _machine(prices, cluster_words([node], kinds)).usd_per_hour
        * max(0.0, ((node.ended or ended) - node.created).total_seconds())
        / _S_PER_HOUR
        for node in nodes
    )
    return Bill(
        price=_machine(prices, words),
        words=words,
        usd=usd,
        hours=max(0.0, (ended - state.created).total_seconds()) / _S_PER_HOUR,
        notes=tuple(_notes(nodes, kinds)),
    )


def _machine(prices: PriceBook, words: str) -> Machine:
    price = prices.engine(words)
    if not isinstance(price, Machine):
        raise UsageError(f"{words} is no cluster")
    return price


def _notes(nodes: Iterable[Node], kinds: Mapping[tuple[str, str], NodeKind]) -> Iterable[str]:
    bids = {kinds.get((node.group, node.type), NodeKind()).bid_usd for node in nodes if node.spot}
    if None in bids:
        yield "EMR does not tell what its spot nodes cost: they count as on demand, the most it is"
    if bids - {None}:
        yield "spot nodes count with their bid, the most that they cost"
