"""Where a sweep's jobs run on AWS, and what becomes of that however the sweep ends."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from bothends.eval.experiment import Experiment
    from bothends.infra.emr_serverless import ServerlessSite
    from bothends.infra.emr_site import EmrSite
    from bothends.infra.terraform import ClusterOutputs

__all__ = ["PLACES", "Place", "place_of_jobs", "priced_there"]

PLACES = ("emr", "emr-serverless")
"""What `bothends sweep --on` takes."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the command line says of where jobs run.

    Attributes:
        on: `emr` or `emr-serverless`.
        cluster: The name that `bothends cluster emr up` was given.
        cluster_id: A cluster by its id, in place of that one.
        bucket: The bucket for jobs; that of the cluster for None.
        region: The region of `cluster_id`; that of the environment for None.
        keep_cluster: Whether the cluster stays.
        keep_objects: Whether the jobs' objects stay in the bucket.
    """

    on: str
    cluster: str
    cluster_id: str | None
    bucket: str | None
    region: str | None
    keep_cluster: bool
    keep_objects: bool


@contextlib.contextmanager
def place_of_jobs(place: Place) -> Iterator[EmrSite | ServerlessSite]:
    """Give where jobs run; afterwards cancel what runs there, and end the cluster.

    The cluster is ended on every way out, an interrupt and SIGTERM included, unless it is to be
    kept, or the sweep was refused for a user's mistake, and will be tried again. Where it goes on,
    a loud line says so, with the command that ends it.

    Raises:
        UsageError: If the place is none, or nothing was made by that name.
        CloudError: If AWS refuses, or does not answer.
    """
    # What asks this command to end ends it as Ctrl+C does, with the cluster.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    from bothends.infra.errors import UsageError

    site, keep = _opened(place), place.keep_cluster
    try:
        yield site
        if not place.keep_objects:
            site.clear()
    except UsageError:
        keep = True
        raise
    finally:
        _leave(site, place, keep=keep)


def priced_there(experiment: Experiment, site: EmrSite | ServerlessSite) -> Experiment:
    """Return an experiment that is charged at the cluster's price, unless it names one."""
    words = site.describe()
    if words is None or experiment.machine != type(experiment).model_fields["machine"].default:
        return experiment
    typer.echo(f"Charged as {words}; --machine says otherwise.", err=True)
    return experiment.model_copy(update={"machine": words})


def _opened(place: Place) -> EmrSite | ServerlessSite:
    from bothends.infra.aws import Aws
    from bothends.infra.emr_serverless import ServerlessSite
    from bothends.infra.emr_site import EmrSite
    from bothends.infra.errors import UsageError

    if place.on not in PLACES:
        raise UsageError(f"--on {place.on}: give one of {', '.join(PLACES)}")
    if place.on == "emr" and place.cluster_id is not None:
        return EmrSite(Aws(place.region), place.cluster_id, place.bucket)
    made = _made(place.cluster)
    aws, bucket = Aws(made.region), place.bucket or made.bucket or ""
    if place.on == "emr":
        return EmrSite(aws, made.cluster_id or "", bucket)
    if made.serverless_application_id is None or made.serverless_role_arn is None:
        raise UsageError(
            f"{place.cluster} has no EMR Serverless application; make one with: "
            f"bothends cluster emr up --name {place.cluster} --serverless"
        )
    application = made.serverless_application_id
    return ServerlessSite(aws, application, made.serverless_role_arn, bucket)


def _made(name: str) -> ClusterOutputs:
    """Return what `bothends cluster emr up` made."""
    from bothends.infra.errors import UsageError
    from bothends.infra.terraform import Terraform, terraform_home

    terraform = Terraform(terraform_home(name))
    made = terraform.outputs() if terraform.resources() else None
    if made is None or made.cluster_id is None:
        raise UsageError(
            f"there is no cluster {name} that was made from this machine: start one with "
            f"bothends cluster emr up --name {name}, or give --cluster-id and --region"
        )
    return made


def _leave(site: EmrSite | ServerlessSite, place: Place, *, keep: bool) -> None:
    """Cancel what runs, and end what costs money; say what goes on."""
    from bothends.infra.emr_site import EmrSite
    from bothends.infra.errors import BothendsError

    cluster = site.cluster if isinstance(site, EmrSite) else None
    command = f"bothends cluster emr down --name {place.cluster}"
    if cluster is not None and place.cluster_id is not None:
        command = f"aws emr terminate-clusters --cluster-ids {cluster.id}"
    try:
        for run in site.runs:
            run.cancel()
    except BothendsError as error:
        _loud(f"A job on {site.title} may still run ({error}).", command)
    if not isinstance(site, EmrSite):
        _tell_cost(site)
    if cluster is None or keep:
        what = f"Cluster {place.cluster}" if cluster is None else site.title
        _loud(f"{what} was left as it was, and costs money while it runs.", command)
        return
    try:
        state = cluster.terminate()
    except BaseException as error:
        _loud(f"{site.title} was not ended, and costs money ({error}).", command)
        if not isinstance(error, BothendsError):
            raise
        return
    typer.echo(f"{site.title} is {state.words}.", err=True)
    if place.cluster_id is None:
        typer.echo(f"Its network still costs some cents an hour; to end that: {command}", err=True)


def _tell_cost(site: ServerlessSite) -> None:
    from bothends.infra.errors import BothendsError

    try:
        usd = [cost[0] for run in site.runs if (cost := run.cost()) is not None]
    except BothendsError as error:
        typer.echo(f"What the jobs cost is not known: {error}", err=True)
        return
    if usd:
        typer.echo(f"{len(usd)} of {len(site.runs)} jobs cost ${sum(usd):.4f}.", err=True)


def _loud(what: str, command: str) -> None:
    typer.echo(f"\n*** {what} To end it: {command} ***", err=True)
