"""What an hour of a cluster costs, from its nodes: EC2's price, EMR's fee, and the disks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bothends.infra.errors import UsageError
from bothends.infra.price_words import amount, options

__all__ = [
    "CLUSTER_PREFIXES",
    "CloudRates",
    "Cluster",
    "ClusterCost",
    "NodeGroup",
    "parse_cluster",
]

CLUSTER_PREFIXES = ("ec2:", "emr:")

# EBS is billed by the second of a month of 30 days.
_HOURS_PER_MONTH = 30 * 24

_GROUP = re.compile(r"(?:(\d+)x)?([a-z][a-z0-9.-]*)(?:@(.+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class CloudRates:
    """What the parts of a cluster cost.

    Attributes:
        ec2: On-demand dollars for an hour of a node, by type.
        emr: EMR's fee for an hour of a node, by type.
        emr_share: EMR's fee as a share of the on-demand price, for types that `emr` has not.
        ebs_usd_per_gb_month: Dollars for a gigabyte of disk and a month.
    """

    ec2: Mapping[str, float]
    emr: Mapping[str, float]
    emr_share: float
    ebs_usd_per_gb_month: float


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of one type.

    Attributes:
        count: How many.
        type: Their EC2 type.
        usd_per_hour: What an hour of each costs on EC2, where that is not the on-demand price: a
            spot price, or a reservation's.
    """

    count: int
    type: str
    usd_per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class ClusterCost:
    """What an hour of a cluster costs, part by part.

    Attributes:
        ec2_usd: Its nodes.
        emr_usd: EMR's fee for them.
        ebs_usd: Their disks.
        fee_unlisted: The types whose fee is taken as a share of EC2's price.
    """

    ec2_usd: float
    emr_usd: float
    ebs_usd: float
    fee_unlisted: tuple[str, ...]

    @property
    def usd_per_hour(self) -> float:
        """All of it."""
        return self.ec2_usd + self.emr_usd + self.ebs_usd


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as it is paid for.

    Attributes:
        service: `emr` where EMR runs it, for a fee for each node.
        groups: Its nodes, the primary one included.
        ebs_gb: Gigabytes of disk of each node.
    """

    service: Literal["ec2", "emr"]
    groups: tuple[NodeGroup, ...]
    ebs_gb: float = 0.0

    def cost(self, rates: CloudRates) -> ClusterCost:
        """Return what an hour of it costs.

        EMR charges its fee for each node, whether on demand or spot.

        Raises:
            UsageError: If a type's price is not known.
        """
        ec2_usd = emr_usd = 0.0
        unlisted: dict[str, None] = {}
        for group in self.groups:
            ec2_usd += group.count * self._node_usd(group, rates)
            if self.service == "emr":
                emr_usd += group.count * _fee_usd(group, rates)
                if group.type not in rates.emr:
                    unlisted[group.type] = None
        nodes = sum(group.count for group in self.groups)
        ebs_usd = nodes * self.ebs_gb * rates.ebs_usd_per_gb_month / _HOURS_PER_MONTH
        return ClusterCost(ec2_usd, emr_usd, ebs_usd, tuple(unlisted))

    def _node_usd(self, group: NodeGroup, rates: CloudRates) -> float:
        if group.usd_per_hour is not None:
            return group.usd_per_hour
        if group.type in rates.ec2:
            return rates.ec2[group.type]
        close = difflib.get_close_matches(group.type, rates.ec2, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise UsageError(
            f"no price for node type {group.type!r} in {self.service}:{group.type}{hint} Give an "
            f"hour's price with it, as in {group.type}@0.35, or add it to a price file's machines."
        )


def parse_cluster(text: str) -> Cluster:
    """Parse `emr:r5b.xlarge+32xr5b.xlarge@0.13?ebs_gb=128`, or the same with `ec2:`.

    Groups of nodes stand between plus signs; a number and an `x` before a type says how many,
    and `@` what an hour of each costs on EC2 instead of the on-demand price.

    Raises:
        UsageError: If it has another form.
    """
    named, _, query = text.partition("?")
    service, _, nodes = named.partition(":")
    ebs_gb = options(text, query, ("ebs_gb",)).get("ebs_gb", 0.0)
    return Cluster(
        "emr" if service == "emr" else "ec2",
        tuple(_group(text, part.strip()) for part in nodes.split("+")),
        ebs_gb,
    )


def _group(text: str, part: str) -> NodeGroup:
    match = _GROUP.fullmatch(part)
    if match is None:
        raise UsageError(
            f"{text} names no nodes in {part!r}: write types with their numbers, as in "
            "emr:r5b.xlarge+32xr5b.xlarge"
        )
    count = int(match[1] or 1)
    if not count:
        raise UsageError(f"{part} in {text}: a group has 1 node or more")
    price = None if match[3] is None else amount(text, "@", match[3])
    return NodeGroup(count, match[2], price)


def _fee_usd(group: NodeGroup, rates: CloudRates) -> float:
    if group.type in rates.emr:
        return rates.emr[group.type]
    if group.type in rates.ec2:
        return rates.emr_share * rates.ec2[group.type]
    raise UsageError(
        f"EMR's fee for {group.type!r} is not known, since its on-demand price is not. Give "
        f"either in a price file: emr: {{{group.type}: 0.05}}"
    )
