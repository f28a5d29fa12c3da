"""The providers: one line each, imported when a model of theirs is loaded."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from bothends.agent.models.base import Model
from bothends.agent.models.spec import parse_spec

if TYPE_CHECKING:
    from bothends.agent.sampling import Sampling
    from bothends.infra.prices import PriceBook

__all__ = ["load_model"]

# Each module's `load(spec, prices)` makes the model. Every other provider is left to
# the hosted ones' module, which passes it on to LangChain, and which alone samples.
_PROVIDERS = {
    "replay": "bothends.agent.models.replay",
    "scripted": "bothends.agent.models.scripted",
}
_HOSTED = "bothends.agent.models.hosted"


def load_model(
    spec: str,
    *,
    prices: PriceBook,
    base_url: str | None = None,
    sampling: Sampling | None = None,
) -> Model:
    """Return the model of a name, ready to be called.

    Args:
        spec: `provider:model?option=value&...`.
        prices: Where prices are looked up.
        base_url: The address of the server for models whose name gives none; scripted and
            replayed models have no use for it.
        sampling: What hosted models sample with where their name says nothing.

    Raises:
        UsageError: If the name is malformed, or names no known provider, script or option.
        MissingExtraError: If the provider's package is not installed.
        ProviderError: If the provider's key is not in the environment.
        ReplayError: If a recording cannot be read.
    """
    home = _PROVIDERS.get(spec.strip().partition(":")[0], _HOSTED)
    parsed = parse_spec(spec, base_url=base_url if home == _HOSTED else None)
    more = () if home != _HOSTED or sampling is None else (sampling,)
    model: Model = importlib.import_module(home).load(parsed, prices, *more)
    return model
