"""`bothends forecast`: what a sweep says of more data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bothends.scales import scale_factors_of

__all__ = ["forecast"]


def forecast(
    directory: Annotated[Path, typer.Argument(help="A sweep's directory.")],
    scale_factors: Annotated[
        str | None,
        typer.Option(
            help="Scale factors to forecast, as in 100,1000. Default: the next three powers of ten."
        ),
    ] = None,
) -> None:
    """Print what a valid answer will cost on more data, with intervals, and how far to trust it."""
    from rich.console import Console

    from bothends.eval.report.load import load_reports
    from bothends.eval.report.scale import forecast_table
    from bothends.eval.report.terminal import print_table
    from bothends.infra.errors import UsageError

    beyond = scale_factors_of(scale_factors) if scale_factors is not None else None
    source = load_reports([directory])
    largest = max(source.scale_factors, default=0.0)
    if beyond is not None and min(beyond) <= largest:
        raise UsageError(
            f"{directory} is measured up to scale factor {largest:g}: a forecast is of larger ones"
        )
    table = forecast_table(source, beyond)
    if table is None:
        raise UsageError(
            f"nothing can be forecast from {directory}: it takes a sweep's directory, with trials "
            "at two scale factors or more and one price of the engine"
        )
    print_table(table, Console())
