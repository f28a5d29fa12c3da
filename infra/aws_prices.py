"""Today's prices of machines, EMR and disks from the AWS Pricing API, as a price file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from bothends.infra.errors import MissingExtraError, PriceError, UsageError
from bothends.infra.price_lists import MachineRate, PriceFile

__all__ = ["aws_prices", "write_price_file"]

# The API itself is in few regions; it knows the prices of all.
_API_REGION = "us-east-1"

_HEADER = "# Written by `bothends prices refresh`, which replaces this file."


class _Dimension(BaseModel):
    usd: float = Field(alias="USD", description="Dollars for a unit.")


class _Price(BaseModel):
    per_unit: _Dimension = Field(alias="pricePerUnit", description="What a unit costs.")


class _Term(BaseModel):
    prices: dict[str, _Price] = Field(alias="priceDimensions", description="Its prices, by id.")


class _Terms(BaseModel):
    on_demand: dict[str, _Term] = Field(alias="OnDemand", description="On-demand terms, by id.")


class _Offer(BaseModel):
    """A product of the price list, of which only the on-demand price matters."""

    terms: _Terms = Field(description="Its terms.")


def aws_prices(types: Iterable[str], region: str, *, client: Any = None) -> PriceFile:
    """Ask AWS for the on-demand prices of machines, EMR's fee for them, and gp3 disks.

    Args:
        types: EC2 types. One that EMR does not run on has no fee.
        region: Whose prices.
        client: A client of the Pricing API; without one, boto3 makes it.

    Raises:
        MissingExtraError: If boto3 is not installed.
        PriceError: If AWS does not answer, or not with one price.
    """
    client = _client() if client is None else client
    today = datetime.now(UTC).date().isoformat()
    source = f"AWS Pricing API, on demand, Linux, {region}, {today}"
    disk_usd = _price(
        client, "AmazonEC2", region, "gp3", productFamily="Storage", volumeApiName="gp3"
    )
    machines: dict[str, MachineRate] = {}
    fees: dict[str, float] = {}
    for kind in types:
        usd = _price(
            client,
            "AmazonEC2",
            region,
            kind,
            instanceType=kind,
            operatingSystem="Linux",
            tenancy="Shared",
            preInstalledSw="NA",
            capacitystatus="Used",
        )
        if usd is None:
            raise PriceError(f"AWS has no price for {kind} in {region}: leave it out with --type")
        machines[kind] = MachineRate(usd_per_hour=usd, source=source)
        fee = _price(
            client, "ElasticMapReduce", region, kind, instanceType=kind, softwareType="EMR"
        )
        if fee is not None:
            fees[kind] = fee
    return PriceFile(machines=machines, emr=fees, ebs_usd_per_gb_month=disk_usd)


def write_price_file(prices: PriceFile, path: Path) -> None:
    """Write a price file; one that was not written so is never replaced.

    Raises:
        UsageError: If it cannot be written.
    """
    import yaml

    body = yaml.safe_dump(prices.model_dump(exclude_defaults=True), sort_keys=False)
    try:
        if path.exists() and not path.read_text("utf-8", "replace").startswith(_HEADER):
            raise UsageError(f"{path} is a file of your own: give another name with --out")
        path.write_text(f"{_HEADER}\n{body}", "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _client() -> Any:
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise MissingExtraError("boto3", "aws") from error
    try:
        return boto3.client("pricing", region_name=_API_REGION)
    except BotoCoreError as error:
        raise _untold(error) from error


def _untold(error: Exception) -> PriceError:
    return PriceError(
        f"AWS does not tell its prices: {error}. It takes credentials that are allowed "
        "pricing:GetProducts, in the environment (AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY)"
    )


def _price(client: Any, service: str, region: str, what: str, **fields: str) -> float | None:
    """Return the one price of a product, None where it has none."""
    from botocore.exceptions import BotoCoreError, ClientError

    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in {"regionCode": region, **fields}.items()
    ]
    pages = client.get_paginator("get_products").paginate(ServiceCode=service, Filters=filters)
    try:
        offers = [_Offer.model_validate_json(text) for page in pages for text in page["PriceList"]]
    except (BotoCoreError, ClientError) as error:
        raise _untold(error) from error
    except ValidationError as error:
        raise PriceError(f"what AWS answers for {what} is not as it should be: {error}") from error
    # What is reserved or bundled elsewhere is listed at 0, and is no price.
    found = sorted(
        {
            price.per_unit.usd
            for offer in offers
            for term in offer.terms.on_demand.values()
            for price in term.prices.values()
            if price.per_unit.usd
        }
    )
    if len(found) > 1:
        raise PriceError(
            f"AWS has several prices for {what} in {region}: {', '.join(map(str, found))}"
        )
    return found[0] if found else None
