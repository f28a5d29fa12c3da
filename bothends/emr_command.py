"""The command `bothends cluster emr`: an EMR cluster, planned, up, looked at and down again."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bothends.options import with_options_of

if TYPE_CHECKING:
    from bothends.infra.terraform import Plan, Terraform

__all__ = ["emr_app"]

emr_app = typer.Typer(
    help="An EMR cluster in your AWS account, by Terraform: it costs money until it is down.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Option(help="The cluster's name; its resources' begin with it.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before money is spent.")]


@emr_app.command()
def plan(
    *,
    name: Name = "bothends",
    preset: Annotated[
        str | None,
        typer.Option(help="`paper`: the cluster of the paper, 33 nodes; options go before it."),
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="The AWS region. Default: AWS_REGION, or us-east-1.")
    ] = None,
    node_type: Annotated[
        str | None, typer.Option(help="EC2 type of the core nodes. Default: m5.xlarge.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Core nodes, beside the primary one. Default: 2.")
    ] = None,
    primary_type: Annotated[
        str | None, typer.Option(help="EC2 type of the primary node. Default: m5.xlarge.")
    ] = None,
    ebs_gb: Annotated[
        int | None, typer.Option(help="Gigabytes of disk of each node. Default: 64.")
    ] = None,
    spot_usd: Annotated[
        float | None,
        typer.Option(help="Take spot nodes, for this many dollars an hour each at most."),
    ] = None,
    subnet: Annotated[
        str | None, typer.Option(help="A private subnet of yours. Default: one is made.")
    ] = None,
    idle_timeout_s: Annotated[
        int | None,
        typer.Option(help="EMR ends the cluster after so long without work. Default: 3600."),
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Dollars a month after which the account's budget alarms.")
    ] = None,
    budget_email: Annotated[
        list[str] | None,
        typer.Option(help="Whom the budget tells; repeatable. Without any there is no budget."),
    ] = None,
    serverless: Annotated[
        bool, typer.Option("--serverless", help="Make an EMR Serverless application as well.")
    ] = False,
    owner: Annotated[
        str | None, typer.Option(help="Who answers for it, a tag of all. Default: your user name.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(help="The day after which all may be deleted, a tag. Default: in a week."),
    ] = None,
    var_file: Annotated[
        list[Path] | None, typer.Option(help="A file of Terraform's variables; repeatable.")
    ] = None,
    var: Annotated[
        list[str] | None,
        typer.Option(help="Another variable of terraform/variables.tf, NAME=VALUE; repeatable."),
    ] = None,
) -> None:
    """Print what `up` would make, and what an hour of it costs. Makes nothing."""
    terraform = _prepared(dict(locals()))
    _print_price(_planned(terraform, quiet=False))


@emr_app.command()
@with_options_of(plan)
def up(*, yes: Yes = False, **options: Any) -> None:
    """Make the cluster, or change it to what is asked for; it takes some minutes."""
    from bothends.emr_use import how_to_use

    name = options["name"]
    terraform = _prepared(options)
    planned = _planned(terraform, quiet=True)
    _print_price(planned)
    if not yes:
        _ask("Make it?")
    try:
        made = terraform.apply(planned)
    except BaseException:
        _loud(name, "What was made so far costs money.")
        raise
    typer.echo(how_to_use(name, made))


@emr_app.command()
def status(*, name: Name = "bothends") -> None:
    """Tell the cluster's state, its work, what it has cost so far, and what else runs."""
    from bothends.emr_use import print_status
    from bothends.infra.terraform import Terraform, terraform_home

    terraform = Terraform(terraform_home(name), typer.echo)
    if not terraform.resources():
        typer.echo(f"Nothing of {name} is there that was made from this machine.")
        return
    print_status(name, terraform)


@emr_app.command()
def down(
    *,
    name: Name = "bothends",
    delete_data: Annotated[
        bool,
        typer.Option(
            "--delete-data",
            help="Delete the bucket with all that is in it. Otherwise it stays where it holds "
            "more than logs and jobs' objects.",
        ),
    ] = False,
) -> None:
    """End the cluster and remove what was made with it; also after half an `up`, and again."""
    from bothends.emr_use import foreign_data
    from bothends.infra.terraform import Terraform, terraform_home

    _end_like_interrupt()
    terraform = Terraform(terraform_home(name), typer.echo)
    if not terraform.resources():
        typer.echo(f"Nothing of {name} is there that was made from this machine.")
        return
    try:
        terraform.init()
        kept = "" if delete_data else foreign_data(terraform)
        if kept:
            # All that costs by the hour goes: the cluster needs the endpoints, and goes with them.
            terraform.destroy(
                "module.emr.aws_emr_cluster.this", "module.emr.aws_vpc_endpoint.interface"
            )
        else:
            terraform.destroy()
    except BaseException:
        _loud(name, "The cluster may still run.")
        raise
    if kept:
        typer.echo(
            f"The cluster is gone. {kept} stays; to delete that too:\n"
            f"  bothends cluster emr down --name {name} --delete-data"
        )
    else:
        typer.echo(f"Nothing of {name} is left.")


def _prepared(options: dict[str, Any]) -> Terraform:
    from bothends.emr_use import defaults, variables
    from bothends.infra.errors import UsageError
    from bothends.infra.terraform import Terraform, terraform_home

    terraform = Terraform(terraform_home(options["name"]), typer.echo)
    if options["preset"] not in (None, "paper"):
        raise UsageError(f"there is no preset {options['preset']!r}; the preset is: paper")
    terraform.prepare(
        variables(options),
        defaults=defaults(terraform.defaults()),
        var_files=options["var_file"] or (),
        preset=options["preset"],
    )
    return terraform


def _planned(terraform: Terraform, *, quiet: bool) -> Plan:
    _end_like_interrupt()
    terraform.init()
    return terraform.plan(quiet=quiet)


def _print_price(plan: Plan) -> None:
    """Say what an hour costs, by the same model as `--machine`."""
    from bothends.infra.errors import UsageError
    from bothends.infra.prices import Machine, PriceBook

    try:
        price = PriceBook.load().engine(plan.price or "")
    except UsageError as error:
        typer.echo(f"\nWhat an hour costs is not known: {error}", err=True)
        return
    assert isinstance(price, Machine)  # noqa: S101 - nodes are
    typer.echo(f"\nAn hour costs ${price.usd_per_hour:.4f}: {price.name}\n  {price.source}")


def _ask(question: str) -> None:
    """Ask the person at the terminal; without one, nothing is spent."""
    from bothends.infra.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked before money is spent: give --yes")
    if not typer.confirm(question):
        typer.echo("Nothing was made.")
        raise typer.Exit(1)


def _loud(name: str, what: str) -> None:
    typer.echo(f"\n*** {what} To end it: bothends cluster emr down --name {name} ***", err=True)


def _end_like_interrupt() -> None:
    """Have what asks this command to end end it as Ctrl+C does, Terraform first."""
    handler: Callable[..., Any] = lambda *_: sys.exit(128 + signal.SIGTERM)  # noqa: E731
    signal.signal(signal.SIGTERM, handler)
