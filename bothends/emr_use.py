"""What `bothends cluster emr` asks, tells and keeps: variables, the ways in, state and cost."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from bothends.infra.aws import Aws
    from bothends.infra.terraform import ClusterOutputs, Terraform

__all__ = ["defaults", "foreign_data", "how_to_use", "print_status", "variables"]

# An option's name -> the HCL's.
_VARIABLES: Final = {
    "name": "name",
    "region": "region",
    "node_type": "core_instance_type",
    "nodes": "core_instance_count",
    "primary_type": "primary_instance_type",
    "ebs_gb": "ebs_gb",
    "spot_usd": "core_spot_bid_usd",
    "subnet": "subnet_id",
    "idle_timeout_s": "idle_timeout_s",
    "budget_usd": "budget_usd",
    "budget_email": "budget_emails",
    "owner": "owner",
    "expires": "expires",
}
# What the cluster and its jobs write by themselves, and nobody misses.
_OURS: Final = ("bootstrap/", "logs/", "jobs/", "code/")


def variables(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the HCL's variables for a command's options; what is None is left out.

    Raises:
        UsageError: If `--var` is no NAME=VALUE.
    """
    from bothends.infra.errors import UsageError

    given = {
        variable: options[name]
        for name, variable in _VARIABLES.items()
        if options[name] is not None
    }
    if options["serverless"]:
        given["serverless"] = True
    for text in options["var"] or ():
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--var {text}: write NAME=VALUE, lists and maps as JSON")
        try:
            given[name] = json.loads(value)
        except ValueError:
            given[name] = value
    return given


def defaults(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables that options and variable files go before.

    Args:
        before: Those of the time before: owner and day of expiry stay.
    """
    in_a_week = (datetime.now(UTC) + timedelta(days=7)).date().isoformat()
    made = {
        "owner": before.get("owner") or getpass.getuser(),
        "expires": before.get("expires") or in_a_week,
        # `down` looks before it deletes data; Terraform itself would stop half-way, at the logs.
        "force_destroy": True,
    }
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return made | ({"region": region} if region else {})


def how_to_use(name: str, made: ClusterOutputs) -> str:
    """Return what to type next."""
    from bothends.infra.aws import Aws

    port = made.connect_port
    machine = f" --machine '{made.price}'" if made.price else ""
    node = _primary_node(Aws(made.region), made.cluster_id) if made.cluster_id else None
    serverless = (
        f"\n  bothends sweep --on emr-serverless --cluster {name} --scale-factors 1,10 ...   "
        "# the same without a cluster"
        if made.serverless_application_id
        else ""
    )
    return f"""
Cluster {made.cluster_id} is up. It costs money until: bothends cluster emr down --name {name}

Interactive, through a tunnel that stays open in another terminal:
  aws ssm start-session --region {made.region} --target {node or "PRIMARY-NODE"} \\
      --document-name AWS-StartPortForwardingSession \\
      --parameters portNumber={port},localPortNumber={port}
  bothends run --suite tpch --engine 'sc://127.0.0.1:{port}/;wait=300'{machine} --billing wall ...

Sweeps, as steps of the cluster, which then ends:
  bothends data tpch --scale-factor 10 --to s3://{made.bucket}/data
  bothends sweep --on emr --cluster {name} --scale-factors 1,10 ...{serverless}"""


def print_status(name: str, terraform: Terraform) -> None:
    """Print what is there, by what AWS says of it now.

    Raises:
        CloudError: If Terraform or AWS refuses or does not answer.
    """
    from bothends.infra.aws import Aws
    from bothends.infra.emr import EmrCluster, active_clusters

    made = terraform.outputs()
    if made.cluster_id is None:
        typer.echo(f"There is no cluster {name}. To remove what else may be there:")
        typer.echo(f"  bothends cluster emr down --name {name}")
        return
    aws = Aws(made.region)
    cluster = EmrCluster(aws, made.cluster_id)
    state = cluster.describe()
    because = f" ({state.why})" if state.why else ""
    typer.echo(f"Cluster {made.cluster_id} of {name} is {state.words}{because}.")
    _print_cost(cluster)
    for step in () if state.over else cluster.unfinished():
        typer.echo(f"  step     {step.id} {step.name}: {step.words}")
    typer.echo(f"  bucket   s3://{made.bucket}")
    others = [each for each in active_clusters(aws) if each.id != made.cluster_id]
    for other in others:
        typer.echo(f"Another cluster runs in {aws.region}: {other.id} {other.name}, {other.words}.")
    if state.over:
        typer.echo(f"To remove the rest of it: bothends cluster emr down --name {name}")
    else:
        typer.echo(f"To end it: bothends cluster emr down --name {name}")


def foreign_data(terraform: Terraform) -> str:
    """Return what somebody put into the cluster's bucket, in words; nothing for nothing.

    Raises:
        CloudError: If AWS refuses or does not answer.
    """
    from bothends.infra.aws import Aws
    from bothends.infra.s3 import Bucket

    if "module.emr.aws_s3_bucket.this" not in terraform.resources():
        return ""
    made = terraform.outputs()
    if made.bucket is None:
        return ""
    found = [
        size
        for key, size in Bucket(Aws(made.region), made.bucket).sizes("").items()
        if not key.startswith(_OURS)
    ]
    if not found:
        return ""
    return f"s3://{made.bucket} with {len(found):,} objects of {sum(found) / 1024**2:,.1f} MB"


def _primary_node(aws: Aws, cluster_id: str) -> str | None:
    """Return the primary node's EC2 id; None where that is not known."""
    from bothends.infra.errors import CloudError

    try:
        told = aws.all(
            "emr",
            "list_instances",
            "Instances",
            ClusterId=cluster_id,
            InstanceGroupTypes=["MASTER"],
        )
    except CloudError:
        return None
    return next((each.get("Ec2InstanceId") for each in told), None)


def _print_cost(cluster: Any) -> None:
    from bothends.infra.emr_cost import bill
    from bothends.infra.errors import BothendsError
    from bothends.infra.prices import PriceBook

    try:
        told = bill(cluster, PriceBook.load())
    except BothendsError as error:
        typer.echo(f"  cost     not known: {error}")
        return
    typer.echo(f"  up for   {told.hours:.2f} h")
    typer.echo(f"  nodes    {told.words}")
    typer.echo(f"  cost     ${told.usd:.2f} so far, ${told.price.usd_per_hour:.4f} an hour")
    for note in told.notes:
        typer.echo(f"           {note}")
