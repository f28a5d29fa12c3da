"""What an LLM's tokens and a machine's hours cost, and where each price comes from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MachinePricing", "NoPricing", "Pricing", "TokenPricing"]


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
