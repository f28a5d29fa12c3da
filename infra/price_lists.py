"""The lists that prices are read from: the bundled one, and a price file of one's own."""

from __future__ import annotations

from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.infra.errors import UsageError

__all__ = [
    "BundledPrices",
    "ModelRates",
    "NamedEngine",
    "PriceFile",
    "ServerlessPrices",
    "bundled_prices",
    "read_price_file",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelRates(_Strict):
    """What a model's tokens cost, in a price file."""

    input_usd_per_mtok: float = Field(ge=0, description="A million prompt tokens.")
    output_usd_per_mtok: float = Field(ge=0, description="A million reply tokens.")
    cache_read_usd_per_mtok: float | None = Field(
        None, ge=0, description="A million tokens read from a cache; null: as any prompt token."
    )
    cache_write_usd_per_mtok: float | None = Field(
        None, ge=0, description="A million tokens written to a cache; null: as any prompt token."
    )


class MachineRate(_Strict):
    """What a machine costs, in a price file."""

    usd_per_hour: float = Field(ge=0, description="An hour of it.")
    source: str | None = Field(None, description="Where that comes from.")


class NamedEngine(_Strict):
    """A price of an engine under a name of its own."""

    price: str = Field(description="What `--machine` takes: a cluster's nodes, or a scan's price.")
    source: str | None = Field(None, description="Where that comes from.")


Usd = Annotated[float, Field(ge=0)]


class PriceFile(_Strict):
    """A price file of one's own."""

    models: dict[str, ModelRates] = Field({}, description="Rates by `provider:model`.")
    machines: dict[str, MachineRate] = Field(
        {}, description="Rates by machine name; a cluster's nodes are priced by them, too."
    )
    emr: dict[str, Usd] = Field({}, description="EMR's fee for an hour of a node, by its type.")
    ebs_usd_per_gb_month: float | None = Field(
        None, ge=0, description="A gigabyte of a node's disk for a month; null: as bundled."
    )
    engines: dict[str, NamedEngine] = Field({}, description="Prices of engines, by name.")


class _List(_Strict):
    source: str = Field(description="Whose list it is.")
    as_of: date = Field(description="When it was read.")

    def cite(self) -> str:
        """Return its source with the date."""
        return f"{self.source}, {self.as_of.isoformat()}"


class _HourlyList(_List):
    usd_per_hour: dict[str, Usd] = Field(description="An hour of each, by type.")


class _FeeList(_HourlyList):
    share_of_ec2: float = Field(ge=0, description="The fee of other types, over EC2's price.")


class _DiskList(_List):
    usd_per_gb_month: float = Field(ge=0, description="A gigabyte for a month.")


class ServerlessPrices(_List):
    """What jobs of EMR Serverless cost."""

    usd_per_vcpu_hour: float = Field(ge=0, description="An hour of a virtual CPU.")
    usd_per_gb_hour: float = Field(ge=0, description="An hour of a gigabyte of memory.")
    usd_per_storage_gb_hour: float = Field(ge=0, description="An hour of a gigabyte of disk.")


class BundledPrices(_Strict):
    """The prices that the package brings along, each list with its source and date."""

    ec2: _HourlyList = Field(description="Machines.")
    emr: _FeeList = Field(description="EMR's fee for them.")
    ebs: _DiskList = Field(description="Their disks.")
    emr_serverless: ServerlessPrices = Field(description="EMR Serverless.")
    engines: dict[str, NamedEngine] = Field(description="Prices of engines, by name.")


def bundled_prices() -> BundledPrices:
    """Return the prices that the package brings along."""
    import yaml

    text = resources.files("bothends.infra").joinpath("machines.yaml").read_text("utf-8")
    return BundledPrices.model_validate(yaml.safe_load(text))


def read_price_file(path: Path) -> PriceFile:
    """Read a price file.

    Raises:
        UsageError: If it cannot be read or is not as it should be.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"price file {path} cannot be read: {error}") from error
    try:
        prices = PriceFile.model_validate({} if content is None else content)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'file'}: {fault['msg']}"
            for fault in error.errors()
        )
        raise UsageError(f"price file {path} is not as it should be: {faults}") from error
    for name in prices.models:
        provider, _, model = name.partition(":")
        if not provider or not model:
            raise UsageError(
                f"price file {path}: models.{name!r} must be named 'provider:model', "
                "as in 'openai:gpt-4o'"
            )
    return prices
