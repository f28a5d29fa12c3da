"""What an LLM's tokens and an engine's work cost, and where each price comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bothends.infra.engine_book import EngineBook
from bothends.infra.engine_price import EnginePrice, Machine, ScanPrice
from bothends.infra.price_lists import ModelRates, PriceFile, bundled_prices, read_price_file

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

__all__ = [
    "EnginePrice",
    "Machine",
    "MachinePricing",
    "NoPricing",
    "PriceBook",
    "Pricing",
    "ScanPrice",
    "TokenPricing",
]


@dataclass(frozen=True, slots=True)
class TokenPricing:
    """Priced by the token, as a provider's model.

    Attributes:
        provider: The provider's id, as in `openai`.
        model: The model's id at that provider.
    """

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class MachinePricing:
    """Priced by the seconds of the machine that serves the model.

    Attributes:
        machine: The machine's name in the price table.
        usd_per_hour: Its price.
    """

    machine: str
    usd_per_hour: float


@dataclass(frozen=True, slots=True)
class NoPricing:
    """Not priced: the cost is null.

    Attributes:
        reason: Why, in a few words for a footnote.
    """

    reason: str


Pricing = TokenPricing | MachinePricing | NoPricing


class PriceBook:
    """Prices of models' tokens and of engines' work.

    Token prices are those that the package `genai-prices` carries (nothing is downloaded), as of
    the moment the book was loaded, since some models' prices depend on the date or the hour. A
    price file of one's own goes before both lists:

        models:
          "openai:my-model": {input_usd_per_mtok: 0.5, output_usd_per_mtok: 1.5}
        machines:
          my-server: {usd_per_hour: 0.35, source: last year's invoice}
        emr: {r5b.xlarge: 0.07}
        ebs_usd_per_gb_month: 0.09
        engines:
          ours: {price: "emr:m5.xlarge+8xm5.2xlarge?ebs_gb=64"}
    """

    def __init__(
        self,
        rates: Mapping[str, ModelRates],
        engines: EngineBook,
        file_name: str,
        as_of: datetime,
    ) -> None:
        self._rates = rates
        self._engines = engines
        self._file_name = file_name
        self._as_of = as_of

    @classmethod
    def load(cls, overrides: Path | None = None) -> Self:
        """Read the price lists.

        Args:
            overrides: A price file of one's own, in YAML.

        Raises:
            UsageError: If that file cannot be read or is not a price file.
        """
        own = PriceFile() if overrides is None else read_price_file(overrides)
        file_name = "" if overrides is None else overrides.name
        engines = EngineBook(bundled_prices(), own, file_name)
        return cls(own.models, engines, file_name, datetime.now(UTC))

    def known(self, provider: str, model: str) -> bool:
        """Whether the book has a price for a model's tokens."""
        return self.source(provider, model) is not None

    def states(self, provider: str, model: str) -> bool:
        """Return whether the price file gives this model's price by its own name."""
        return f"{provider}:{model}" in self._rates

    def source(self, provider: str, model: str) -> str | None:
        """Where the price of a model's tokens comes from, in words; None where it has none."""
        if f"{provider}:{model}" in self._rates:
            return f"price file {self._file_name}"
        if _listed_price(provider, model, self._as_of) is not None:
            return f"genai-prices {version('genai-prices')}"
        return None

    def token_usd(
        self,
        provider: str,
        model: str,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
    ) -> float | None:
        """Price the tokens of ONE call; some models cost more above a number of prompt tokens.

        Args:
            provider: The provider's id; LangChain's names (`google_genai`, ...) are understood.
            model: The model's id at that provider.
            input_tokens: Prompt tokens, cached ones included.
            output_tokens: Reply tokens, reasoning included.
            cache_read_tokens: Those prompt tokens that were read from a cache. They are charged
                at the cache's price only, or at the prompt's where the model has none.
            cache_write_tokens: Those that were written to a cache; likewise.

        Returns:
            Dollars; None where a total or the price is unknown, or where the parts exceed it.
        """
        read, write = cache_read_tokens or 0, cache_write_tokens or 0
        if input_tokens is None or output_tokens is None or read + write > input_tokens:
            return None
        rates = self._rates.get(f"{provider}:{model}")
        if rates is not None:
            plain = rates.input_usd_per_mtok
            read_rate, write_rate = rates.cache_read_usd_per_mtok, rates.cache_write_usd_per_mtok
            return (
                (input_tokens - read - write) * plain
                + read * (plain if read_rate is None else read_rate)
                + write * (plain if write_rate is None else write_rate)
                + output_tokens * rates.output_usd_per_mtok
            ) / 1e6
        price = _listed_price(provider, model, self._as_of)
        if price is None:
            return None
        from genai_prices import Usage

        usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=read,
            cache_write_tokens=write,
        )
        return float(price.calc_price(usage)["total_price"])

    def machine(self, name: str) -> Machine:
        """Return a machine, by its name or its price; see `EngineBook.machine`."""
        return self._engines.machine(name)

    def engine(self, name: str) -> EnginePrice:
        """Return what an engine's work costs; see `EngineBook.engine`."""
        return self._engines.engine(name)

    def snapshot(
        self, pricings: Iterable[Pricing], machines: Iterable[EnginePrice]
    ) -> dict[str, Any]:
        """Return the prices in force for the manifest, in USD.

        Args:
            pricings: What models are priced by. A token price that is not known is null; a
                machine that serves a model is listed among the machines.
            machines: What the engines' work is priced by.
        """
        pricings = tuple(pricings)
        serving = [
            Machine(pricing.machine, pricing.usd_per_hour, "serves a model")
            for pricing in pricings
            if isinstance(pricing, MachinePricing)
        ]
        return {
            "as_of": self._as_of.isoformat(timespec="seconds"),
            "models": {
                f"{pricing.provider}:{pricing.model}": self._snapshot_of(pricing)
                for pricing in pricings
                if isinstance(pricing, TokenPricing)
            },
            "machines": {
                machine.name: {
                    key: value for key, value in asdict(machine).items() if key != "name"
                }
                for machine in (*machines, *serving)
            },
        }

    def _snapshot_of(self, pricing: TokenPricing) -> dict[str, Any] | None:
        source = self.source(pricing.provider, pricing.model)
        rates = self._rates.get(f"{pricing.provider}:{pricing.model}")
        if rates is not None:
            return rates.model_dump() | {"source": source}
        price = _listed_price(pricing.provider, pricing.model, self._as_of)
        if price is None:
            return None
        return {
            "input_usd_per_mtok": _rate_or_tiers(price.input_mtok),
            "output_usd_per_mtok": _rate_or_tiers(price.output_mtok),
            "cache_read_usd_per_mtok": _rate_or_tiers(price.cache_read_mtok),
            "cache_write_usd_per_mtok": _rate_or_tiers(price.cache_write_mtok),
            "source": source,
        }


def _listed_price(provider: str, model: str, as_of: datetime) -> ModelPrice | None:
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, info = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    price = info.get_prices(as_of)
    # A listed model may have no token price; it would come out as free.
    if price.input_mtok is None or price.output_mtok is None:
        return None
    return price


def _rate_or_tiers(rate: Any) -> float | list[dict[str, float]] | None:
    """A rate, or the steps of a tiered one: each holds for the whole call from its start on."""
    if rate is None or not hasattr(rate, "tiers"):
        return None if rate is None else float(rate)
    steps = [(0, rate.base), *((tier.start, tier.price) for tier in rate.tiers)]
    return [{"from_input_tokens": start, "usd_per_mtok": float(usd)} for start, usd in steps]
