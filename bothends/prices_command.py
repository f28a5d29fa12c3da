"""The command `bothends prices refresh`: a price file of today's AWS list prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["prices_app"]

prices_app = typer.Typer(
    help="What machines and clusters cost.", no_args_is_help=True, rich_markup_mode=None
)


@prices_app.callback()
def _group() -> None:
    """Keep `refresh` a command of its own, though there is no other."""


@prices_app.command()
def refresh(
    out: Annotated[Path, typer.Option(help="The price file to write.")] = Path("prices.yaml"),
    region: Annotated[str, typer.Option(help="The AWS region.")] = "us-east-1",
    kind: Annotated[
        list[str] | None,
        typer.Option("--type", help="EC2 type, repeatable; without it, those that are bundled."),
    ] = None,
) -> None:
    """Ask AWS for its list prices (extra `aws`, credentials), and write them for --prices."""
    from bothends.infra.aws_prices import aws_prices, write_price_file
    from bothends.infra.price_lists import bundled_prices
    from bothends.options import listed

    types = listed("--type", kind) or tuple(bundled_prices().ec2.usd_per_hour)
    prices = aws_prices(types, region)
    write_price_file(prices, out)
    typer.echo(
        f"{out}: {len(prices.machines)} machines, EMR's fee for {len(prices.emr)} of them.\n\n"
        f"Next:\n  bothends run --prices {out} --machine paper-emr ..."
    )
