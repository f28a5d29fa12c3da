"""Secrets are taken out of whatever is shown or written."""

from __future__ import annotations

import pytest

from bothends.infra.redact import redact


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcDEF123456_-xyz",
        "sk-ant-api03-abcdefgh",
        "AIzaSyA-1234567890abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "hf_abcdefghijkl",
    ],
)
def test_keys_of_the_usual_shapes(secret: str) -> None:
    assert redact(f"refused {secret}.") == "refused [redacted]."


def test_bearer_tokens_and_passwords_in_addresses() -> None:
    assert redact("Authorization: Bearer abc.def-123456") == "Authorization: Bearer [redacted]"
    assert redact("postgresql://ann:secret@db/x") == "postgresql://[redacted]@db/x"


def test_what_the_environment_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plain-looking-value")
    assert redact("got plain-looking-value back") == "got [redacted] back"


def test_what_is_no_secret_stays() -> None:
    text = "SELECT risk-adjusted FROM task_key WHERE url = 'http://localhost:8081/v1'"
    assert redact(text) == text
