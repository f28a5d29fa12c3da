"""Prices of tokens and machines, and price files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bothends.infra.errors import UsageError
from bothends.infra.prices import MachinePricing, NoPricing, PriceBook, TokenPricing


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return PriceBook.load()


def written(path: Path, text: str) -> Path:
    file = path / "prices.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("provider", "model", "usd"),
    [
        # A million prompt tokens and a hundred thousand of reply, at the providers' list prices.
        ("openai", "gpt-4o", 2.5 + 1.0),
        ("azure_openai", "gpt-4o", 2.5 + 1.0),
        ("openai", "gpt-5.2", 1.75 + 1.4),
        ("anthropic", "claude-opus-4-5", 5 + 2.5),
        ("google_genai", "gemini-3-flash-preview", 0.5 + 0.3),
        ("google", "gemini-3-flash-preview", 0.5 + 0.3),
    ],
)
def test_token_prices_and_provider_names(
    book: PriceBook, provider: str, model: str, usd: float
) -> None:
    assert book.known(provider, model)
    priced = book.token_usd(provider, model, input_tokens=1_000_000, output_tokens=100_000)
    assert priced == pytest.approx(usd)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "no-such-model"),
        ("no-such-provider", "gpt-4o"),
        ("ollama", "qwen3"),
        # Listed, but not by the token of both kinds: never free.
        ("openai", "text-embedding-3-small"),
    ],
)
def test_an_unknown_price_is_none(book: PriceBook, provider: str, model: str) -> None:
    assert not book.known(provider, model)
    assert book.source(provider, model) is None
    assert book.token_usd(provider, model, input_tokens=10, output_tokens=10) is None


def test_cached_tokens_are_charged_once(book: PriceBook) -> None:
    def usd(**cached: int) -> float | None:
        return book.token_usd(
            "anthropic", "claude-opus-4-5", input_tokens=1_000_000, output_tokens=0, **cached
        )

    # 5 dollars a million, 0.5 read from the cache, 6.25 written to it.
    assert usd(cache_read_tokens=400_000) == pytest.approx(0.6 * 5 + 0.4 * 0.5)
    assert usd(cache_read_tokens=400_000, cache_write_tokens=100_000) == pytest.approx(
        0.5 * 5 + 0.4 * 0.5 + 0.1 * 6.25
    )
    assert usd(cache_read_tokens=2_000_000) is None


def test_unknown_tokens_have_no_price(book: PriceBook) -> None:
    assert book.token_usd("openai", "gpt-4o", input_tokens=None, output_tokens=1) is None
    assert book.token_usd("openai", "gpt-4o", input_tokens=1, output_tokens=None) is None
    assert book.token_usd("openai", "gpt-4o", input_tokens=0, output_tokens=0) == 0.0


def test_long_prompts_may_cost_more(book: PriceBook) -> None:
    def usd(tokens: int) -> float | None:
        return book.token_usd("google", "gemini-2.5-pro", input_tokens=tokens, output_tokens=0)

    assert usd(200_000) == pytest.approx(0.25)
    assert usd(400_000) == pytest.approx(1.0)


def test_machines(book: PriceBook) -> None:
    machine = book.machine("m7i.xlarge")
    assert machine.usd_per_hour == 0.2016
    assert "us-east-1" in machine.source
    assert machine.describe() == "m7i.xlarge at $0.2016/h"
    own = book.machine("0.35")
    assert (own.usd_per_hour, own.describe()) == (0.35, "a machine at $0.35/h")
    with pytest.raises(UsageError, match=r"did you mean 'm7i\.xlarge'\?"):
        book.machine("m7i.xlarg")
    with pytest.raises(UsageError, match=r"'mainframe'\. Known: .*m5\.xlarge"):
        book.machine("mainframe")
    for wrong in ("-1", "nan", "inf"):
        with pytest.raises(UsageError, match="cannot cost"):
            book.machine(wrong)


def test_a_price_file_goes_first(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        models:
          "openai:gpt-4o": {input_usd_per_mtok: 1, output_usd_per_mtok: 2}
          "local:m": {input_usd_per_mtok: 1, output_usd_per_mtok: 2, cache_read_usd_per_mtok: 0.1,
                      cache_write_usd_per_mtok: 3}
        machines:
          lab: {usd_per_hour: 0.5, source: invoice}
          m5.xlarge: {usd_per_hour: 0.1}
        """,
    )
    book = PriceBook.load(file)
    tokens: dict[str, Any] = {
        "input_tokens": 1_000_000,
        "output_tokens": 500_000,
        "cache_read_tokens": 200_000,
        "cache_write_tokens": 100_000,
    }
    assert book.token_usd("openai", "gpt-4o", **tokens) == pytest.approx(2.0)
    assert book.token_usd("local", "m", **tokens) == pytest.approx(0.7 + 0.02 + 0.3 + 1.0)
    assert book.source("local", "m") == "price file prices.yaml"
    assert (book.machine("lab").usd_per_hour, book.machine("lab").source) == (0.5, "invoice")
    assert book.machine("m5.xlarge").usd_per_hour == 0.1
    assert book.machine("m5.2xlarge").usd_per_hour == 0.384


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: [", "cannot be read"),
        ("prices: {}", "prices: Extra inputs"),
        ("- 1", "file: Input should be"),
        ('models: {"openai:m": {input_usd_per_mtok: 1}}', "openai:m.output_usd_per_mtok: Field"),
        ("models: {m: {input_usd_per_mtok: 1, output_usd_per_mtok: 1}}", "'provider:model'"),
        ("machines: {lab: {usd_per_hour: -1}}", "machines.lab.usd_per_hour: Input"),
        ("machines: {lab: {usd_per_hour: .inf}}", "finite"),
    ],
)
def test_a_wrong_price_file_is_explained(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("[", r"\[")) as caught:
        PriceBook.load(written(tmp_path, text))
    assert "prices.yaml" in str(caught.value)


def test_a_missing_price_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        PriceBook.load(tmp_path / "none.yaml")
    assert PriceBook.load(written(tmp_path, "")).known("openai", "gpt-4o")


def test_snapshot(book: PriceBook) -> None:
    snapshot = book.snapshot(
        [
            TokenPricing("openai", "gpt-4o"),
            TokenPricing("google", "gemini-2.5-pro"),
            TokenPricing("openai", "no-such-model"),
            MachinePricing("g5.xlarge", 1.006),
            NoPricing("a script"),
        ],
        [book.machine("m5.xlarge")],
    )
    models = snapshot["models"]
    assert models["openai:gpt-4o"]["input_usd_per_mtok"] == 2.5
    assert models["openai:gpt-4o"]["cache_write_usd_per_mtok"] is None
    assert models["openai:gpt-4o"]["source"].startswith("genai-prices ")
    assert models["google:gemini-2.5-pro"]["input_usd_per_mtok"] == [
        {"from_input_tokens": 0, "usd_per_mtok": 1.25},
        {"from_input_tokens": 200_000, "usd_per_mtok": 2.5},
    ]
    assert models["openai:no-such-model"] is None
    assert {name: each["usd_per_hour"] for name, each in snapshot["machines"].items()} == {
        "m5.xlarge": 0.192,
        "g5.xlarge": 1.006,
    }
    assert snapshot["as_of"].endswith("+00:00")
