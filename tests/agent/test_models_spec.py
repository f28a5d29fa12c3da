from __future__ import annotations

import sys

import pytest

from bothends.agent.models.registry import load_model
from bothends.agent.models.spec import ModelOptions, parse_spec
from bothends.infra.errors import MissingExtraError, ProviderError, UsageError
from bothends.infra.prices import MachinePricing, NoPricing, PriceBook, TokenPricing

KEYS = (
    "OPENAI_API_KEY",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def prices() -> PriceBook:
    return PriceBook.load()


def test_parses_provider_model_and_options() -> None:
    spec = parse_spec("ollama:qwen3:8b?temperature=0.2&text_calls=off&label=Qwen%203%20%26%20co")
    assert (spec.provider, spec.model) == ("ollama", "qwen3:8b")
    assert spec.options == ModelOptions(temperature=0.2, text_calls=False, label="Qwen 3 & co")


def test_keeps_an_address_whole() -> None:
    spec = parse_spec("openai:m?base_url=http://localhost:8000/v1&price_as=openai:gpt-4o")
    assert spec.options.base_url == "http://localhost:8000/v1"
    assert spec.options.price_as == "openai:gpt-4o"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpt-4o", "provider:model"),
        (":gpt-4o", "provider:model"),
        ("openai:", "provider:model"),
        ("openai:m?colour=red", "no option 'colour'; the options are: label, base_url"),
        ("openai:m?temperature=warm", "temperature=warm"),
        ("openai:m?temperature", "temperature=value"),
        ("openai:m?seed=1&seed=2", "once"),
        ("openai:m?top_p=1.5", "top_p=1.5"),
        ("openai:m?max_tokens=0", "max_tokens=0"),
        ("openai:m?text_calls=perhaps", "text_calls=perhaps"),
        ("openai:m?price_as=gpt-4o", "price_as=gpt-4o"),
        ("openai:m?base_url=localhost:8000", "an address looks like"),
        ("scripted:flaky?p=1.5", "p=1.5"),
        ("scripted:flaky?seed=one", "seed=one"),
    ],
)
def test_refuses_what_it_cannot_read(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("option", ["api_key", "API_KEY", "token", "password"])
def test_refuses_secrets_without_repeating_them(option: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec(f"openai:m?{option}=sk-verysecret")
    assert "environment" in str(caught.value)
    assert "verysecret" not in str(caught.value)


def test_refuses_a_secret_in_an_address() -> None:
    with pytest.raises(UsageError, match="does not belong in an address"):
        parse_spec("openai:m?base_url=http://me:hunter2@localhost/v1")


def test_names_the_providers(prices: PriceBook) -> None:
    with pytest.raises(UsageError) as caught:
        load_model("opnai:gpt-4o", prices=prices)
    for name in ("openai", "anthropic", "google", "ollama", "replay", "scripted", "mistralai"):
        assert name in str(caught.value)


def test_names_the_scripts(prices: PriceBook) -> None:
    with pytest.raises(UsageError, match="perfect, extra_column"):
        load_model("scripted:prefect", prices=prices)


@pytest.mark.parametrize(
    "spec",
    [
        "scripted:perfect?temperature=0",
        "scripted:perfect?p=0.5",
        "openai:gpt-4o?p=0.5",
        "anthropic:claude-opus-4-5?seed=1",
    ],
)
def test_refuses_options_that_would_go_unheeded(spec: str, prices: PriceBook) -> None:
    with pytest.raises(UsageError, match="takes no option"):
        load_model(spec, prices=prices)


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("openai:gpt-4o", "OPENAI_API_KEY"),
        ("anthropic:claude-opus-4-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-3-flash-preview", "GOOGLE_API_KEY"),
        ("google_genai:gemini-3-flash-preview", "GOOGLE_API_KEY"),
    ],
)
def test_names_the_missing_key(spec: str, variable: str, prices: PriceBook) -> None:
    with pytest.raises(ProviderError, match=variable):
        load_model(spec, prices=prices)


def test_names_the_missing_extra(prices: PriceBook, monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules makes an import fail, whether the package is there or not.
    monkeypatch.setitem(sys.modules, "langchain_ollama", None)
    with pytest.raises(MissingExtraError, match=r"bothends\[ollama\]"):
        load_model("ollama:qwen3:8b", prices=prices)


def test_a_hosted_model(prices: PriceBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    model = load_model("openai:gpt-4o", prices=prices)
    assert (model.kind, model.label, model.text_calls) == ("hosted", "gpt-4o", False)
    assert model.pricing == TokenPricing("openai", "gpt-4o")
    assert model.spec == "openai:gpt-4o"


def test_a_hosted_model_without_a_price(prices: PriceBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    pricing = load_model("openai:no-such-model-xyz", prices=prices).pricing
    assert isinstance(pricing, NoPricing)
    assert "no-such-model-xyz" in pricing.reason


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_an_address_in_the_environment_makes_it_self_hosted(
    variable: str, prices: PriceBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9/v1")
    model = load_model("openai:gpt-4o", prices=prices)
    assert model.kind == "self_hosted"
    assert isinstance(model.pricing, NoPricing)


def test_the_providers_own_address_keeps_it_hosted(
    prices: PriceBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1")
    assert load_model("openai:gpt-4o", prices=prices).kind == "hosted"


def test_prices_by_another_model_or_by_a_machine(prices: PriceBook) -> None:
    server = "http://127.0.0.1:9/v1"
    by_token = load_model("openai:m?price_as=openai:gpt-4o", prices=prices, base_url=server)
    assert by_token.pricing == TokenPricing("openai", "gpt-4o")
    by_hour = load_model("openai:m?machine=0.35", prices=prices, base_url=server)
    assert isinstance(by_hour.pricing, MachinePricing)
    assert by_hour.pricing.usd_per_hour == 0.35


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("price_as=openai:gpt-4o&machine=0.35", "not both"),
        ("price_as=openai:no-such-model-xyz", "no price is known"),
        ("machine=no-such-machine", "no-such-machine"),
    ],
)
def test_refuses_prices_it_cannot_find(options: str, said: str, prices: PriceBook) -> None:
    with pytest.raises(UsageError, match=said):
        load_model(f"openai:m?{options}", prices=prices, base_url="http://127.0.0.1:9/v1")


def test_the_name_goes_before_the_common_address(prices: PriceBook) -> None:
    with pytest.raises(UsageError, match="an address looks like"):
        load_model("openai:m", prices=prices, base_url="localhost")
    model = load_model(
        "openai:m?base_url=http://127.0.0.1:9/v1", prices=prices, base_url="localhost"
    )
    assert model.kind == "self_hosted"
