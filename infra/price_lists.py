"""The lists that prices are read from: the bundled machines, and a price file of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bothends.infra.errors import UsageError

__all__ = ["Machine", "ModelRates", "PriceFile", "listed_machines", "read_price_file"]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with its price.

    Attributes:
        name: Its type's name, such as `m7i.xlarge`.
        usd_per_hour: What an hour of it costs.
        source: Where the price comes from, in words.
    """

    name: str
    usd_per_hour: float
    source: str

    def describe(self) -> str:
        """Return its name and price, as in `m7i.xlarge at $0.2016/h`."""
        return f"{self.name} at ${self.usd_per_hour:.10g}/h"


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


class _MachineRate(_Strict):
    usd_per_hour: float = Field(ge=0, description="An hour of it.")
    source: str | None = Field(None, description="Where that comes from.")


class PriceFile(_Strict):
    """A price file of one's own."""

    models: dict[str, ModelRates] = Field({}, description="Rates by `provider:model`.")
    machines: dict[str, _MachineRate] = Field({}, description="Rates by machine name.")


class _MachineTable(_Strict):
    source: str = Field(description="Whose list it is.")
    as_of: date = Field(description="When it was read.")
    usd_per_hour: dict[str, float] = Field(description="An hour of each, by name.")


def listed_machines() -> dict[str, Machine]:
    """Return the machines of the bundled list, by name."""
    import yaml

    text = resources.files("bothends.infra").joinpath("machines.yaml").read_text("utf-8")
    table = _MachineTable.model_validate(yaml.safe_load(text))
    source = f"{table.source}, {table.as_of.isoformat()}"
    return {name: Machine(name, usd, source) for name, usd in table.usd_per_hour.items()}


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
