"""Models behind an API, a provider's or a server of one's own, through LangChain."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bothends.agent.models.base import Model
from bothends.agent.models.pricing import stated_pricing
from bothends.agent.models.spec import ModelSpec
from bothends.agent.sampling import Sampling
from bothends.infra.errors import MissingExtraError, ProviderError, UsageError
from bothends.infra.prices import NoPricing, Pricing, TokenPricing
from bothends.infra.redact import redact

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from bothends.infra.prices import PriceBook

__all__ = ["load"]

_OPTIONS = (
    "label",
    "base_url",
    "price_as",
    "machine",
    "text_calls",
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
    "reasoning_effort",
    "timeout_s",
)
_SAMPLING = tuple(Sampling.model_fields)
_TIMEOUT_S = 600.0
# Servers that ask for no key want a header all the same.
_NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class _Provider:
    """What is particular to a provider.

    Attributes:
        langchain: LangChain's name for it.
        extra: The extra of bothends that brings its package, or None.
        keys: Environment variables that may hold its key; the first is the one to name.
        addresses: Environment variables by which its client is sent to another server.
        host: The provider's own host.
        renamed: Our option names that its class spells otherwise.
        refused: Options that it cannot heed.
        fixed: Further arguments of its class.
    """

    langchain: str
    extra: str | None = None
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    host: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    # The client's own retries are off: the meter must see every attempt.
    fixed: Mapping[str, Any] = field(default_factory=lambda: {"max_retries": 0})


_OPENAI = _Provider(
    "openai",
    extra="openai",
    keys=("OPENAI_API_KEY",),
    addresses=("OPENAI_API_BASE", "OPENAI_BASE_URL"),
    host="api.openai.com",
)
_ANTHROPIC = _Provider(
    "anthropic",
    extra="anthropic",
    keys=("ANTHROPIC_API_KEY",),
    addresses=("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL"),
    host="api.anthropic.com",
    refused=frozenset({"seed"}),
)
_GOOGLE = _Provider(
    "google_genai",
    extra="google",
    keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    host="generativelanguage.googleapis.com",
    fixed={"max_retries": 1},  # counts attempts; 0 stands for the client's own five
)
_OLLAMA_NAMES = {"max_tokens": "num_predict", "reasoning_effort": "reasoning"}
_OLLAMA = _Provider("ollama", extra="ollama", renamed=_OLLAMA_NAMES, fixed={})
_KNOWN = {
    "openai": _OPENAI,
    "anthropic": _ANTHROPIC,
    "google": _GOOGLE,
    "google_genai": _GOOGLE,
    "ollama": _OLLAMA,
}


def load(spec: ModelSpec, prices: PriceBook, sampling: Sampling | None = None) -> Model:
    """Return a hosted or self-hosted model.

    Args:
        spec: Its name; an option there wins over `sampling`.
        prices: Where prices are looked up.
        sampling: What it samples with, as far as its provider's class exposes it.

    Raises:
        UsageError: If LangChain knows no such provider, or the provider no such option.
        MissingExtraError: If its package is not installed.
        ProviderError: If its key is not in the environment.
    """
    spec.admit(*_OPTIONS)
    provider = _KNOWN.get(spec.provider) or _Provider(spec.provider)
    refused = sorted(spec.options.given() & provider.refused)
    if refused:
        raise UsageError(f"{spec.provider} takes no option {', '.join(refused)}")
    base_url = spec.options.base_url or _first_set(provider.addresses)
    if base_url and urlsplit(base_url).hostname == provider.host:
        own_server = False
    else:
        own_server = bool(base_url) or spec.provider == "ollama"
    arguments = _arguments(spec, provider, base_url, own_server=own_server)
    chat = _chat_model(spec, provider, arguments, own_server=own_server)
    wished = sampling.given() if sampling else {}
    wished = {
        provider.renamed.get(name, name): value
        for name, value in wished.items()
        if name not in spec.options.given() and _field(chat, provider, name)
    }
    if wished:
        chat = _chat_model(spec, provider, arguments | wished, own_server=own_server)
    text_calls = spec.options.text_calls
    return Model(
        spec=spec.text,
        label=spec.options.label or spec.model,
        kind="self_hosted" if own_server else "hosted",
        description=(
            f"{spec.model} on a server of one's own, called through the {spec.provider} API."
            if own_server
            else f"{spec.model}, hosted by {spec.provider}."
        ),
        pricing=_pricing(spec, prices, own_server=own_server),
        text_calls=own_server if text_calls is None else text_calls,
        chat=lambda _: chat,
        sampling={name: _sent(chat, provider, name) for name in _SAMPLING},
    )


def _pricing(spec: ModelSpec, prices: PriceBook, *, own_server: bool) -> Pricing:
    stated = stated_pricing(spec, prices)
    if stated is not None:
        return stated
    if own_server and not prices.states(spec.provider, spec.model):
        # A hosted model's list price says nothing of a server that bears its name.
        return NoPricing("runs on a server of one's own, and no machine or price_as was given")
    if prices.known(spec.provider, spec.model):
        return TokenPricing(spec.provider, spec.model)
    return NoPricing(f"no price is known for {spec.provider}:{spec.model}")


def _chat_model(
    spec: ModelSpec, provider: _Provider, arguments: Mapping[str, Any], *, own_server: bool
) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    if own_server:
        # Some hosted models refuse a temperature; a server of one's own does not.
        arguments = {"temperature": 0.0, **arguments}
    try:
        chat: BaseChatModel = init_chat_model(
            spec.model,
            model_provider=provider.langchain,
            disable_streaming=True,  # usage goes missing when streaming
            **arguments,
        )
    except ImportError as error:
        if provider.extra:
            raise MissingExtraError(f"the package for {spec.provider}", provider.extra) from error
        raise UsageError(str(error)) from error
    except Exception as error:
        if "Unsupported provider" in str(error):
            ours = ", ".join([*_KNOWN, "replay", "scripted"])
            raise UsageError(
                f"there is no provider {spec.provider!r}; the providers are {ours}; and, with "
                f"their packages installed, LangChain's: {str(error).partition('are: ')[2]}"
            ) from error
        raise ProviderError(f"{spec.text} cannot be set up: {redact(str(error))}") from error
    return chat


def _arguments(
    spec: ModelSpec, provider: _Provider, base_url: str | None, *, own_server: bool
) -> dict[str, Any]:
    """Return the arguments of the provider's class."""
    options = spec.options
    arguments = dict(provider.fixed)
    for name in _SAMPLING:
        value = getattr(options, name)
        if value is not None:
            arguments[provider.renamed.get(name, name)] = value
    timeout_s = options.timeout_s or _TIMEOUT_S
    if provider.langchain == "ollama":
        arguments["client_kwargs"] = {"timeout": timeout_s}
    else:
        arguments["timeout"] = timeout_s
    if base_url:
        arguments["base_url"] = base_url
    key = _first_set(provider.keys)
    if provider.keys and not key:
        if not own_server:
            raise ProviderError(
                f"{spec.text} needs a key: set the environment variable {provider.keys[0]}"
            )
        key = _NO_KEY
    if key:
        arguments["api_key"] = key
    return arguments


def _field(chat: BaseChatModel, provider: _Provider, name: str) -> str | None:
    """Return the field in which a class keeps a parameter, or None where it exposes none."""
    theirs = provider.renamed.get(name, name)
    fields = type(chat).model_fields
    if theirs in fields:
        return theirs
    return next((each for each, field in fields.items() if field.alias == theirs), None)


def _sent(chat: BaseChatModel, provider: _Provider, name: str) -> float | int | str | None:
    """Return what is sent for a parameter: classes have defaults, and drop what a model refuses."""
    kept = _field(chat, provider, name)
    value = getattr(chat, kept) if kept else getattr(chat, "model_kwargs", {}).get(name)
    return value if isinstance(value, float | int | str) else None


def _first_set(variables: tuple[str, ...]) -> str | None:
    return next((value for name in variables if (value := os.environ.get(name))), None)
