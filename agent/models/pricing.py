"""What a model's calls are priced by, where its name says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bothends.infra.errors import UsageError
from bothends.infra.prices import MachinePricing, Pricing, TokenPricing

if TYPE_CHECKING:
    from bothends.agent.models.spec import ModelSpec
    from bothends.infra.prices import PriceBook

__all__ = ["stated_pricing"]


def stated_pricing(spec: ModelSpec, prices: PriceBook) -> Pricing | None:
    """Return the pricing that the options `price_as` or `machine` ask for, or None.

    Raises:
        UsageError: If both are given, or the price of either is not known.
    """
    price_as, machine = spec.options.price_as, spec.options.machine
    if price_as and machine:
        raise UsageError(f"{spec.text}: give price_as or machine, not both")
    if machine:
        known = prices.machine(machine)
        return MachinePricing(known.name, known.usd_per_hour)
    if not price_as:
        return None
    provider, _, model = price_as.partition(":")
    if not prices.known(provider, model):
        raise UsageError(
            f"{spec.text}: no price is known for {price_as}; name another model or give its price "
            "in a price file"
        )
    return TokenPricing(provider, model)
